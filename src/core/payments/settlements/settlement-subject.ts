import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import { OrderRow, PaymentAttemptRow, RefundRow, StrayPaymentRow } from '../../database/order-entities.ts';
import type { SettlementOutcome, SettlementRow } from '../../database/order-entities.ts';
import type { Changed, Order, OrderInFull, SettlementId } from '../../domain/order.ts';
import { settleRefund } from '../../domain/refund.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { settleReversal } from '../../domain/reversal.ts';
import { recordSettledStrayPayment, settleAttempt } from '../../domain/settlement.ts';
import { walletIdOf } from '../../domain/wallet.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { belongsTo, findOtherSpelling, findReceipt, useReceipt } from '../changes/wallet-receipts.ts';
import { orderOfAttempt, orderOfId, orderOfRefund, orderOfStrayPayment } from '../changes/read-order.ts';
import type { LockOrder } from '../changes/read-order.ts';
import { refundOf, writeRefund } from '../changes/refund-row.ts';
import { reversalColumns, reversalOf } from '../changes/reversal-row.ts';
import { readOpenPayments, withPayer } from '../changes/open-payments.sql.ts';

/** The payment, stray payment or refund of a settlement, with its public id. */
export type SettledSubject =
  | { readonly kind: 'attempt'; readonly id: PublicId<'pat'> }
  | { readonly kind: 'stray'; readonly id: PublicId<'stp'> }
  | { readonly kind: 'refund'; readonly id: PublicId<'rfd'> };

/** The use of a transaction by an attempt: new, its own payment, or a reason to refuse it. */
type TransactionUse = 'new' | 'own' | WrongReference;

/** Why the provider's reference is not the id of a transaction that can have paid the attempt. */
export interface WrongReference {
  readonly wrongReference: string;
}

/** A subject that only this transaction can change, with its row. */
export type LockedSubject =
  | {
      readonly kind: 'attempt';
      readonly row: PaymentAttemptRow;
      readonly transaction: TransactionUse;
      readonly isPayerPaying: (order: Order) => boolean;
    }
  | { readonly kind: 'stray'; readonly row: StrayPaymentRow }
  | { readonly kind: 'refund'; readonly row: RefundRow };

/** The row that is locked while a subject is settled: its order, or a stray payment that has no order. */
export type SubjectLock =
  | { readonly order: LockOrder }
  | { readonly strayPayment: Pick<StrayPaymentRow, 'merchantId' | 'id'> };

/** Finds the lock of a subject. A stray payment never gets an order later. */
export async function lockOf(
  em: EntityManager,
  merchant: PublicId<'mer'>,
  subject: SettledSubject,
): Promise<SubjectLock> {
  const merchantId = storedId('mer', merchant);
  switch (subject.kind) {
    case 'attempt':
      return { order: orderOfAttempt({ merchantId, id: storedId('pat', subject.id) }) };
    case 'stray': {
      const strayPayment = { merchantId, id: storedId('stp', subject.id) };
      const row = await em.findOne(StrayPaymentRow, strayPayment);
      return row !== null && row.orderId == null
        ? { strayPayment }
        : { order: orderOfStrayPayment(strayPayment) };
    }
    case 'refund':
      return { order: orderOfRefund({ merchantId, id: storedId('rfd', subject.id) }) };
  }
}

/** The lock of a stored settlement's subject. */
export function lockOfSettlement({
  merchantId,
  environment,
  orderId,
  strayPaymentId,
}: SettlementRow): SubjectLock {
  if (orderId != null)
    return {
      order: orderOfId({
        merchantId: publicId('mer', merchantId),
        environment,
        id: publicId('ord', orderId),
      }),
    };
  if (strayPaymentId == null) throw new TypeError('a settlement has neither an order nor a stray payment');
  return { strayPayment: { merchantId, id: strayPaymentId } };
}

type SubjectKey = Pick<SettlementRow, 'merchantId' | 'paymentAttemptId' | 'strayPaymentId' | 'refundId'> &
  Partial<Pick<SettlementRow, 'outcome' | 'providerReference'>>;

/** Reads and locks the row of a subject, under its order's lock. */
export async function readSubject(
  em: EntityManager,
  wallets: readonly Wallet[],
  key: SubjectKey,
): Promise<LockedSubject> {
  const { merchantId, paymentAttemptId, strayPaymentId, refundId } = key;
  const locked = { lockMode: LockMode.PESSIMISTIC_WRITE } as const;
  if (paymentAttemptId != null) {
    const row = await em.findOneOrFail(PaymentAttemptRow, { merchantId, id: paymentAttemptId });
    const transaction =
      key.outcome === 'PAID' ? await readUse(em, wallets, row, key.providerReference ?? '') : 'new';
    const { environment, orderId: id } = row;
    const order = await em.findOneOrFail(OrderRow, { merchantId, environment, id });
    const isPayerPaying = await readOpenPayments(em, wallets, [order]);
    return { kind: 'attempt', row, transaction, isPayerPaying };
  }
  if (strayPaymentId != null)
    return {
      kind: 'stray',
      row: await em.findOneOrFail(StrayPaymentRow, { merchantId, id: strayPaymentId }, locked),
    };
  if (refundId == null) throw new TypeError('a settlement has no subject');
  return { kind: 'refund', row: await em.findOneOrFail(RefundRow, { merchantId, id: refundId }, locked) };
}

async function readUse(
  em: EntityManager,
  wallets: readonly Wallet[],
  attempt: PaymentAttemptRow,
  providerTransactionId: string,
): Promise<TransactionUse> {
  const transaction = { ...attempt, providerTransactionId };
  const receipt = await findReceipt(em, transaction);
  if (receipt !== null)
    return belongsTo(receipt, attempt)
      ? 'own'
      : {
          wrongReference:
            'names a transaction that is recorded for another payment already; check the reference',
        };
  const wallet = walletIdOf(attempt.paymentOption);
  const form = wallets.find(({ id }) => id === wallet)?.transactionIds;
  if (form?.pattern.test(providerTransactionId) === false)
    return { wrongReference: `is no id of a transaction of ${wallet}, such as ${form.example}` };
  const spelling = await findOtherSpelling(em, transaction);
  return spelling === undefined
    ? 'new'
    : { wrongReference: `is spelled ${spelling} by the wallet; check the reference` };
}

/** The effect of a settlement: the order's change, and the subject's row. */
export interface Settled {
  readonly changed: Changed | undefined;
  readonly write: (em: EntityManager) => void;
}

export interface SettledAs {
  readonly id: SettlementId;
  readonly outcome: SettlementOutcome;
  readonly providerReference: string;
}

/**
 * Decides the effect of a settlement. `order` is undefined for a stray payment without an order, which has no event either.
 * Rejections: WrongReference; `decided` when the subject does not wait for a person; `leased` while a worker asks the wallet about the
 * refund or stray payment.
 */
export function settleSubject(
  order: OrderInFull | undefined,
  subject: LockedSubject,
  { id, outcome, providerReference }: SettledAs,
  now: Date,
): Result<Settled, WrongReference | 'decided' | 'leased'> {
  const settlementId = () => storedId('stl', id);
  switch (subject.kind) {
    case 'attempt': {
      if (order === undefined || (outcome !== 'PAID' && outcome !== 'NOT_PAID')) return err('decided');
      const { row, transaction, isPayerPaying } = subject;
      const attemptId = publicId('pat', row.id);
      const changed = settleAttempt(withPayer(order, isPayerPaying), attemptId, outcome, id, now);
      if (!changed.ok) return changed;
      if (typeof transaction === 'object') return err(transaction);
      const { leasedUntil } = row;
      return ok({
        changed: changed.value,
        write(em) {
          // A worker that queries the wallet now reports to an attempt that was not paid. Money that it finds becomes stray.
          const lease =
            outcome === 'NOT_PAID' ? { leasedUntil } : { providerTransactionId: providerReference };
          em.assign(row, { settlementId: settlementId(), ...lease });
          if (outcome === 'PAID' && transaction === 'new')
            useReceipt(em, { ...row, providerTransactionId: providerReference }, row);
        },
      });
    }
    case 'stray': {
      if (outcome !== 'RETURNED') return err('decided');
      const { row } = subject;
      const settled = settleReversal(reversalOf(row), now);
      if (!settled.ok) return settled;
      return ok({
        changed: order && recordSettledStrayPayment(order, publicId('stp', row.id), id, now),
        write: (em) => {
          em.assign(row, { ...reversalColumns(settled.value), settlementId: settlementId() });
        },
      });
    }
    case 'refund': {
      if (order === undefined || (outcome !== 'RETURNED' && outcome !== 'NOT_RETURNED'))
        return err('decided');
      const { row } = subject;
      const settled = settleRefund(order, refundOf(row), { id, outcome, providerReference }, now);
      if (!settled.ok) return settled;
      const { refund, changed } = settled.value;
      return ok({ changed, write: (em) => writeRefund(em, row, refund) });
    }
  }
}
