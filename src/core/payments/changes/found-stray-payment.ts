import type { EntityManager } from '@mikro-orm/postgresql';
import type { PaymentAttemptRow, StrayPaymentKind } from '../../database/order-entities.ts';
import { StrayPaymentRow } from '../../database/order-entities.ts';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId, StoredId } from '../../../contract/public-id.ts';
import { isReturnable } from '../../domain/wallet-outcome.ts';
import type { FoundMoney } from '../../domain/wallet-outcome.ts';
import { beginReversal, parkReversal } from '../../domain/reversal.ts';
import type { Reversal } from '../../domain/reversal.ts';
import { reversalColumns } from './reversal-row.ts';

/** The reversal of found money: due at once, or parked. */
export function reversalOfMoney(name: StoredId<'stp'>, money: FoundMoney, now: Date): Reversal {
  const reversal = beginReversal(name, now);
  return isReturnable(money) ? reversal : parkReversal(reversal, now);
}

/** The public id of the stray payment that recorded a transaction of an attempt. */
export async function findStrayPayment(
  em: EntityManager,
  { merchantId, id: paymentAttemptId }: Pick<PaymentAttemptRow, 'merchantId' | 'id'>,
  { providerTransactionId }: Pick<FoundMoney, 'providerTransactionId'>,
): Promise<PublicId<'stp'> | undefined> {
  const known = await em.findOne(StrayPaymentRow, { merchantId, paymentAttemptId, providerTransactionId });
  return known === null ? undefined : publicId('stp', known.id);
}

/**
 * Records money that an order could not accept, with the transaction that found it. Its reversal is due at once, unless the
 * money cannot be returned (`isReturnable`). The same money found again returns the same stray payment. Returns its public id.
 */
export async function recordStrayPayment(
  em: EntityManager,
  newId: NewId,
  attempt: PaymentAttemptRow,
  kind: StrayPaymentKind,
  money: FoundMoney,
  now: Date,
): Promise<PublicId<'stp'>> {
  const known = await findStrayPayment(em, attempt, money);
  if (known !== undefined) return known;
  const { merchantId, id: paymentAttemptId } = attempt;
  const id = newId('stp', now);
  const stored = storedId('stp', id);
  em.create(StrayPaymentRow, {
    merchantId,
    id: stored,
    environment: attempt.environment,
    orderId: attempt.orderId,
    paymentAttemptId,
    paymentOption: attempt.paymentOption,
    ...money,
    kind,
    ...reversalColumns(reversalOfMoney(stored, money, now)),
    createdAt: now,
  });
  return id;
}
