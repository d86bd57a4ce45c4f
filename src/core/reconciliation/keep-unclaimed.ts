import type { EntityManager } from '@mikro-orm/postgresql';
import { RecoveryRow } from '../database/recovery-entities.ts';
import { isInFlight } from '../domain/order.ts';
import { hasOurReference } from './compare-entry.ts';
import type { Entry, FoundDifference } from './compare-entry.ts';
import type { StatementKey } from './statement-key.ts';

/**
 * Whether a statement has money under a reference of ours, and no record has it. Its order was lost with the database. During a recovery, the
 * money of an undecided payment counts too if the statement is of another payee account. The payment may have been sent in the lost time,
 * with an account that is not on record.
 */
export async function isUnclaimed(
  em: EntityManager,
  { kind, entry, known }: FoundDifference,
): Promise<boolean> {
  if (entry === undefined) return false;
  const isLost = kind === 'MISSING_HERE' && known === undefined;
  const isElsewhere = kind === 'OTHER_ACCOUNT' && known?.recordType === 'attempt' && isInFlight(known);
  if (!isLost && !(isElsewhere && (await isRecovering(em)))) return false;
  return entry.type === 'PAYMENT' && entry.status === 'COMPLETED' && hasOurReference(entry);
}

const rowsAtOnce = 500;

/**
 * Keeps unclaimed money. When a shop repeats the order, the order gets this payment, and the customer is not charged again. The payee
 * account is kept, because the wallet knows the payment only there. Money that was recorded since is no longer unclaimed.
 */
export async function keepUnclaimed(
  em: EntityManager,
  { wallet, environment, payee }: StatementKey,
  entries: readonly Entry[],
  foundAt: Date,
): Promise<void> {
  for (let first = 0; first < entries.length; first += rowsAtOnce)
    await em.execute(
      `
insert into core.unclaimed_payments (environment, wallet, payee, provider_transaction_id, request_id, reference_end, amount, currency,
  occurred_at, found_at)
select ?::core.environment, ?, ?, transaction_id, request_id, right(request_id, 12), amount, currency, occurred_at, ?
from jsonb_to_recordset(?::jsonb) n(transaction_id text, request_id text, amount text, currency text, occurred_at timestamptz)
on conflict do nothing`,
      [
        environment,
        wallet,
        payee,
        foundAt.toISOString(),
        JSON.stringify(
          entries.slice(first, first + rowsAtOnce).map((entry) => ({
            transaction_id: entry.providerTransactionId,
            request_id: entry.requestId,
            amount: entry.amount,
            currency: entry.currency,
            occurred_at: entry.occurredAt,
          })),
        ),
      ],
    );
  // A wallet may list a payment before Gatehouse records it. Then it is paid or returned, and no order may take it a second time.
  await em.execute(
    `
update core.unclaimed_payments u set claimed_at = ?
where u.environment = ?::core.environment and u.wallet = ? and u.claimed_at is null and exists (
  select from core.wallet_receipts r
  where r.environment = u.environment and r.wallet = u.wallet and r.provider_transaction_id = u.provider_transaction_id
)`,
    [foundAt.toISOString(), environment, wallet],
  );
}

const isRecovering = async (em: EntityManager): Promise<boolean> =>
  (await em.count(RecoveryRow, { finishedAt: null })) > 0;
