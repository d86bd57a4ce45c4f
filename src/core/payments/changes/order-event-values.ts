import { storedId } from '../../../contract/public-id.ts';
import type { NewId, StoredId } from '../../../contract/public-id.ts';
import { OrderEventSchema } from '../../../gen/gatehouse/v1/order_pb.js';
import { recordedTraceparent } from '../../../platform/tracing/span.ts';
import { encodeMessage } from '../../../platform/rpc/message-bytes.ts';
import type { OrderEvent } from '../../domain/order.ts';
import { eventMessage } from '../../rpc/order-messages.ts';

/** The columns of an event that are not copied from its order. */
export interface OrderEventValues {
  readonly sequence: number;
  readonly id: StoredId<'evt'>;
  readonly type: OrderEvent['type'];
  readonly occurredAt: Date;
  readonly payload: Buffer;
}

/** `traceparent` is that of the running code by default, if its trace is recorded. */
export type OrderEventValuesOf = (
  event: OrderEvent,
  requestId: string,
  traceparent?: string,
) => OrderEventValues;

/** Assigns each event its id, adds the trace that caused it, and serialises it for readers. */
export const createOrderEventValues =
  (newId: NewId): OrderEventValuesOf =>
  (event, requestId, traceparent = recordedTraceparent()) => {
    const id = newId('evt', event.occurredAt);
    return {
      sequence: event.sequence,
      id: storedId('evt', id),
      type: event.type,
      occurredAt: event.occurredAt,
      payload: encodeMessage(OrderEventSchema, eventMessage(event, id, requestId, traceparent)),
    };
  };
