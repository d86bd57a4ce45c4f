import { Code, ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import type { OrderService } from '../../gen/gatehouse/v1/order_service_pb.js';
import type { PlacedEvent } from './reader-position.ts';

/** Events of core's list, in commit order. */
export interface ListedEvents {
  readonly events: readonly PlacedEvent[];
  readonly hasMore: boolean;
}

export const listPageSize = 500;
const listTimeoutMs = 5_000;

/**
 * The events behind a cursor, or 'no such place' when core has never given out that cursor: its database was restored
 * into another server, where events have other places. @throws ConnectError when core does not answer.
 */
export async function listEvents(
  orders: Client<typeof OrderService>,
  afterCursor: string,
  signal: AbortSignal,
): Promise<ListedEvents | 'no such place'> {
  try {
    const { entries, hasMore } = await orders.listOrderEvents(
      { afterCursor, pageSize: listPageSize },
      { signal, timeoutMs: listTimeoutMs },
    );
    const events = entries.flatMap(({ cursor, event }) => (event === undefined ? [] : [{ cursor, event }]));
    return { events, hasMore };
  } catch (error) {
    // All else in the request is right, and no cursor is no wrong one.
    if (afterCursor !== '' && ConnectError.from(error).code === Code.InvalidArgument) return 'no such place';
    throw error;
  }
}
