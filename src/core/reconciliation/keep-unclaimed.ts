import type { EntityManager } from '@mikro-orm/postgresql';
import { isPublicId } from '../../contract/public-id.ts';
import { storedEndOf } from '../database/attempt-id-end.sql.ts';
import { RecoveryRow } from '../database/recovery-entities.ts';
import { isInFlight } from '../domain/order.ts';
import type { FoundDifference } from './compare-entry.ts';
import type { StatementKey } from './statement-key.ts';

/**
 * Keeps money that a statement has under a reference of ours, and that no record has. Its order was lost with the database. When a
 * shop repeats the order, the order gets this payment, and the customer is not charged again. The payee account is kept, because the
 * wallet knows the payment only there. So during a recovery, money of an undecided payment of another payee account is kept too: the
 * account with which it was sent in the lost time may not be on record.
 */
export async function keepUnclaimed(
  em: EntityManager,
  { wallet, environment, payee }: StatementKey,
  { kind, entry, known }: FoundDifference,
  foundAt: Date,
): Promise<void> {
  if (entry === undefined) return;
  const isLost = kind === 'MISSING_HERE' && known === undefined;
  const isElsewhere = kind === 'OTHER_ACCOUNT' && known?.recordType === 'attempt' && isInFlight(known);
  if (!isLost && !(isElsewhere && (await isRecovering(em)))) return;
  const { type, status, requestId, providerTransactionId } = entry;
  const isOurs = isPublicId('pat', requestId) || storedEndOf(requestId) !== undefined;
  if (type !== 'PAYMENT' || status !== 'COMPLETED' || !isOurs) return;
  // Not by the ORM, which compares all rows of the statement before each of its queries.
  await em.execute(
    `
insert into core.unclaimed_payments (environment, wallet, payee, provider_transaction_id, request_id, reference_end, amount, currency,
  occurred_at, found_at)
values (?::core.environment, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict do nothing`,
    [
      ...[environment, wallet, payee, providerTransactionId, requestId, requestId.slice(-12)],
      ...[entry.amount, entry.currency, entry.occurredAt?.toISOString() ?? null, foundAt.toISOString()],
    ],
  );
}

const isRecovering = async (em: EntityManager): Promise<boolean> =>
  (await em.count(RecoveryRow, { finishedAt: null })) > 0;
