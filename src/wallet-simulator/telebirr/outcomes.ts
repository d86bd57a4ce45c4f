import { outcomeTable } from '../payer-outcomes.ts';
import type { PayerOutcome } from '../payer-outcomes.ts';

/** telebirr gives no reason for a failed payment. */
const failed = 'PAY_FAILED';

/** The payer types the number after the acknowledgement. So a row that changes only the acknowledgement is a success here. */
const table: readonly PayerOutcome[] = outcomeTable({
  insufficientFunds: failed,
  wrongPin: failed,
  declined: failed,
  expired: 'ORDER_CLOSED',
  payerNotFound: failed,
  limitExceeded: failed,
  accountBarred: failed,
  undefinedStatus: 'UNDER_REVIEW',
  unavailable: { status: 503, body: {} },
  internalError: { status: 500, body: {} },
}).map((outcome) =>
  outcome.acknowledgement.kind === 'accepted' ? outcome : { ...outcome, summary: 'success' },
);

/** The outcome that a number on the page selects: `2519100000NN`. Undefined when it selects none. */
export function outcomeOfNumber(payer: string): PayerOutcome | undefined {
  const index = /^2519100000([0-9]{2})$/.exec(payer)?.[1];
  return index === undefined ? undefined : table[Number(index)];
}
