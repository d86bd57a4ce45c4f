import type { PaymentAttemptRow } from '../../database/order-entities.ts';
import { attemptOf } from '../../database/order-rows.ts';
import type { AttemptWork } from '../../domain/attempt-work.ts';

/** The work on an attempt, from its row. */
export const workOf = (row: PaymentAttemptRow): AttemptWork => ({
  attempt: attemptOf(row),
  dueAt: row.dueAt ?? null,
  leaseId: row.leaseId ?? null,
  leasedUntil: row.leasedUntil ?? null,
  leases: row.leases,
  maybeSent: row.maybeSent,
  promptUntil: row.promptUntil ?? null,
  providerTransactionId: row.providerTransactionId ?? null,
});
