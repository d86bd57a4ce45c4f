import type { OrderEvent } from '../gen/gatehouse/v1/order_pb.js';

/**
 * Whether the event ended a payment attempt before its wallet got a request, because money of an earlier attempt was not returned yet. No
 * payer was asked, although the attempt is TIMED_OUT. Events of earlier versions have no decision.
 */
export const endedUnsent = ({ decision }: OrderEvent): boolean => decision?.command === 'send_attempt';
