import type { EntityManager } from '@mikro-orm/postgresql';
import { isPublicId } from '../../contract/public-id.ts';
import { RecoveryRow, UnclaimedPaymentRow } from '../database/recovery-entities.ts';
import { isInFlight } from '../domain/order.ts';
import type { FoundDifference } from './compare-entry.ts';
import type { StatementKey } from './statement-key.ts';

/** The end of an attempt's id, which some wallets repeat instead of the whole. */
const referenceEnd = /^[0-9a-hjkmnp-tv-z]{12}$/;

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
  const isOurs = isPublicId('pat', requestId) || referenceEnd.test(requestId);
  if (type !== 'PAYMENT' || status !== 'COMPLETED' || !isOurs) return;
  const key = { environment, wallet, providerTransactionId };
  if ((await em.findOne(UnclaimedPaymentRow, key)) !== null) return;
  em.create(UnclaimedPaymentRow, {
    ...key,
    payee,
    requestId,
    referenceEnd: requestId.slice(-12),
    amount: entry.amount,
    currency: entry.currency,
    occurredAt: entry.occurredAt,
    foundAt,
  });
}

const isRecovering = async (em: EntityManager): Promise<boolean> =>
  (await em.count(RecoveryRow, { finishedAt: null })) > 0;
