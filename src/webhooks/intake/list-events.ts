import { Code, ConnectError } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import type { OrderService } from '../../gen/gatehouse/v1/order_service_pb.js';
import type { EventAtCursor } from './reader-position.ts';

/** Events of core's list, in commit order. */
export interface ListedEvents {
  readonly events: readonly EventAtCursor[];
  readonly hasMore: boolean;
}

export const listPageSize = 500;
const listTimeoutMs = 5_000;

/**
 * The events after a cursor. Returns 'no such cursor' when core never issued the cursor. That happens after its database
 * was restored into another server, which assigns other cursors.
 * @throws ConnectError when core does not answer.
 */
export async function listEvents(
  orders: Client<typeof OrderService>,
  afterCursor: string,
  signal: AbortSignal,
): Promise<ListedEvents | 'no such cursor'> {
  try {
    const { entries, hasMore } = await orders.listOrderEvents(
      { afterCursor, pageSize: listPageSize },
      { signal, timeoutMs: listTimeoutMs },
    );
    const events = entries.flatMap(({ cursor, event }) => (event === undefined ? [] : [{ cursor, event }]));
    return { events, hasMore };
  } catch (error) {
    // The other fields of the request are valid, so the error must concern the cursor.
    if (afterCursor !== '' && ConnectError.from(error).code === Code.InvalidArgument) return 'no such cursor';
    throw error;
  }
}
