import type { PaymentAttempt } from '../gen/gatehouse/v1/order_pb.js';

/**
 * The phone number of a payment attempt. Undefined if the payer started the payment at the wallet, which does not tell the
 * number, or if the number was erased.
 */
export const attemptPhone = ({ phone }: Pick<PaymentAttempt, 'phone'>): string | undefined =>
  /[0-9]/.test(phone) ? phone : undefined;
