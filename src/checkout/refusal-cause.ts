import { PaymentAttemptStatus } from '../gen/gatehouse/v1/order_pb.js';
import type { PaymentAttempt } from '../gen/gatehouse/v1/order_pb.js';
import type { RefusalCause } from './language/messages.ts';

/** Reasons that a customer can resolve. The others concern only us and the wallet. */
const tellable: ReadonlySet<string> = new Set<RefusalCause>([
  'insufficient_funds',
  'wrong_pin',
  'declined_by_payer',
  'payer_not_found',
  'limit_exceeded',
  'account_state',
  'payer_busy',
  'wrong_amount',
]);

const isTellable = (reason: string): reason is RefusalCause => tellable.has(reason);

/** Why an attempt ended without paying its order. */
export function refusalCauseOf({ status, declineReason }: PaymentAttempt): RefusalCause {
  if (status === PaymentAttemptStatus.TIMED_OUT) return 'timed_out';
  return isTellable(declineReason) ? declineReason : 'other';
}
