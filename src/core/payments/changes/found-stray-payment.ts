import type { EntityManager } from '@mikro-orm/postgresql';
import type { PaymentAttemptRow, StrayPaymentKind } from '../../database/entities.ts';
import { StrayPaymentRow } from '../../database/entities.ts';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
import type { FoundMoney } from '../../domain/wallet-outcome.ts';
import { beginReversal } from '../../domain/reversal.ts';
import { reversalColumns } from './reversal-row.ts';

/** The stray payment that a transaction of an attempt is on record as; its id as it is shown. */
export async function findStrayPayment(
  em: EntityManager,
  { merchantId, id: paymentAttemptId }: Pick<PaymentAttemptRow, 'merchantId' | 'id'>,
  { providerTransactionId }: Pick<FoundMoney, 'providerTransactionId'>,
): Promise<PublicId<'stp'> | undefined> {
  const known = await em.findOne(StrayPaymentRow, { merchantId, paymentAttemptId, providerTransactionId });
  return known === null ? undefined : publicId('stp', known.id);
}

/**
 * Puts money that an order could not take on record, due to be sent back at once, with the transaction that found it.
 * The same money found again gives the same stray payment. Gives its id as it is shown.
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
    ...reversalColumns(beginReversal(stored, now)),
    createdAt: now,
  });
  return id;
}
