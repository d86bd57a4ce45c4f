import type { EntityManager } from '@mikro-orm/postgresql';
import type { PaymentAttemptRow, StrayPaymentKind } from '../../database/order-entities.ts';
import { StrayPaymentRow } from '../../database/order-entities.ts';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId, StoredId } from '../../../contract/public-id.ts';
import { isReturnable } from '../../domain/wallet-outcome.ts';
import type { FoundMoney } from '../../domain/wallet-outcome.ts';
import { beginReversal, parkReversal } from '../../domain/reversal.ts';
import { reversalColumns } from './reversal-row.ts';

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
  const { merchantId, environment, orderId, id: paymentAttemptId, paymentOption } = attempt;
  const origin = { merchantId, environment, orderId, paymentAttemptId, payerPaymentId: null, paymentOption };
  return addStrayPayment(em, newId, origin, kind, money, now);
}

/** The payment that brought stray money. */
export interface StrayOrigin extends Pick<StrayPaymentRow, 'merchantId' | 'environment' | 'paymentOption'> {
  readonly orderId: StoredId<'ord'> | null;
  readonly paymentAttemptId: StoredId<'pat'> | null;
  readonly payerPaymentId: StoredId<'ppm'> | null;
}

/** Adds money that pays no order. Its reversal is due at once, or parked if the money cannot be returned. Returns its public id. */
export function addStrayPayment(
  em: EntityManager,
  newId: NewId,
  origin: StrayOrigin,
  kind: StrayPaymentKind,
  money: FoundMoney,
  now: Date,
): PublicId<'stp'> {
  const id = newId('stp', now);
  const stored = storedId('stp', id);
  const reversal = beginReversal(stored, now);
  em.create(StrayPaymentRow, {
    ...origin,
    id: stored,
    ...money,
    kind,
    ...reversalColumns(isReturnable(money) ? reversal : parkReversal(reversal, now)),
    createdAt: now,
  });
  return id;
}
