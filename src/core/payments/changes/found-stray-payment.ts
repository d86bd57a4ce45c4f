import { createHash } from 'node:crypto';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { PaymentAttemptRow, StrayPaymentKind } from '../../database/order-entities.ts';
import { StrayPaymentRow } from '../../database/order-entities.ts';
import { walletOf } from '../../../contract/payment-option.ts';
import { publicId } from '../../../contract/public-id.ts';
import type { PublicId, StoredId } from '../../../contract/public-id.ts';
import { isReturnable } from '../../domain/wallet-outcome.ts';
import type { FoundMoney } from '../../domain/wallet-outcome.ts';
import { beginReversal, markNotReturnable } from '../../domain/reversal.ts';
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
  attempt: PaymentAttemptRow,
  kind: StrayPaymentKind,
  money: FoundMoney,
  now: Date,
): Promise<PublicId<'stp'>> {
  const known = await findStrayPayment(em, attempt, money);
  if (known !== undefined) return known;
  const { merchantId, environment, orderId, id: paymentAttemptId, paymentOption } = attempt;
  const origin = { merchantId, environment, orderId, paymentAttemptId, payerPaymentId: null, paymentOption };
  return addStrayPayment(em, origin, kind, money, now);
}

/** The payment that brought stray money. */
export interface StrayOrigin extends Pick<StrayPaymentRow, 'merchantId' | 'environment' | 'paymentOption'> {
  readonly orderId: StoredId<'ord'> | null;
  readonly paymentAttemptId: StoredId<'pat'> | null;
  readonly payerPaymentId: StoredId<'ppm'> | null;
}

/** Adds money that pays no order. Its reversal is due at once. Money that no wallet can return gets a refused reversal. Returns its public id. */
export function addStrayPayment(
  em: EntityManager,
  origin: StrayOrigin,
  kind: StrayPaymentKind,
  money: FoundMoney,
  now: Date,
): PublicId<'stp'> {
  const id = idOf(origin, money);
  const reversal = beginReversal(id, now);
  em.create(StrayPaymentRow, {
    ...origin,
    id,
    ...money,
    kind,
    ...reversalColumns(isReturnable(money) ? reversal : markNotReturnable(reversal, now)),
    createdAt: now,
  });
  return publicId('stp', id);
}

const timeLength = 'xxxxxxxx-xxxx-'.length;

/**
 * The id of a stray payment, by which the wallet knows its reversal. It depends on the payment only: its beginning is the time in the
 * payment's own id, and its end is derived from the wallet's transaction. So a core that finds the money of the same attempt again after a
 * restore uses the same id. The wallet then does not return the money twice. A payer-started payment that is reported again has another id,
 * and so has its stray payment.
 */
function idOf(
  { environment, paymentOption, paymentAttemptId, payerPaymentId }: StrayOrigin,
  { providerTransactionId }: FoundMoney,
): StoredId<'stp'> {
  const transaction = [environment, walletOf(paymentOption), providerTransactionId];
  const end = createHash('sha256').update(JSON.stringify(transaction)).digest();
  // The version and the variant of a UUID (RFC 9562).
  end[0] = ((end[0] ?? 0) & 0x0f) | 0x70;
  end[2] = ((end[2] ?? 0) & 0x3f) | 0x80;
  const groups = [end.toString('hex', 0, 2), end.toString('hex', 2, 4), end.toString('hex', 4, 10)];
  const begin = (paymentAttemptId ?? payerPaymentId ?? '').slice(0, timeLength);
  return `${begin}${groups.join('-')}` as StoredId<'stp'>;
}
