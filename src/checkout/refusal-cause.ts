import { PaymentAttemptStatus } from '../gen/gatehouse/v1/order_pb.js';
import type { PaymentAttempt } from '../gen/gatehouse/v1/order_pb.js';
import type { RefusalCause } from './language/messages.ts';

/** Reasons that a customer can resolve. The others concern only us and the wallet. */
const resolvable: ReadonlySet<string> = new Set<RefusalCause>([
  'insufficient_funds',
  'wrong_pin',
  'declined_by_payer',
  'payer_not_found',
  'limit_exceeded',
  'account_state',
  'payer_busy',
  'wrong_amount',
]);

const isResolvable = (reason: string): reason is RefusalCause => resolvable.has(reason);

/** Why an attempt ended without paying its order. */
export function refusalCauseOf({ status, declineReason }: PaymentAttempt): RefusalCause {
  if (status === PaymentAttemptStatus.TIMED_OUT) return 'timed_out';
  return isResolvable(declineReason) ? declineReason : 'other';
}
