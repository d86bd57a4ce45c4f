import { fromBinary } from '@bufbuild/protobuf';
import { OrderEventSchema } from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { encodeMessage } from '../../platform/rpc/message-bytes.ts';
import { erasedText } from '../domain/erased.ts';

const erasedIfGiven = (text: string): string => (text === '' ? '' : erasedText);

/** The event without personal data. Fields that this version does not know stay. */
export function eraseEvent(event: OrderEvent): Buffer {
  const { order, paymentAttempt, refund } = event;
  if (order !== undefined) {
    // Also an order without a phone, so that every erased order is recognised.
    order.customerPhone = erasedText;
    order.reason = erasedIfGiven(order.reason);
  }
  if (paymentAttempt !== undefined) paymentAttempt.phone = erasedIfGiven(paymentAttempt.phone);
  if (refund !== undefined) {
    refund.reason = erasedIfGiven(refund.reason);
    refund.detail = erasedIfGiven(refund.detail);
  }
  return encodeMessage(OrderEventSchema, event);
}

export const readEvent = (payload: Uint8Array): OrderEvent => fromBinary(OrderEventSchema, payload);
