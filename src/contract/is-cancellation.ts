import { OrderEventType } from '../gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../gen/gatehouse/v1/order_pb.js';

/**
 * Whether the event is a cancellation of its order. A cancellation that ended an attempt before it was sent names that attempt, although the payer got no
 * prompt. Events of earlier versions have no decision.
 */
export const isCancellation = ({ type, paymentAttempt, decision }: OrderEvent): boolean =>
  type === OrderEventType.FAILED && (paymentAttempt === undefined || decision?.command === 'cancel');
