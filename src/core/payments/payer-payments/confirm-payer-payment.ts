import type { EntityManager } from '@mikro-orm/postgresql';
import { noMerchantId, publicId, storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { Database } from '../../database/database.ts';
import { PaymentAttemptRow, StrayPaymentRow } from '../../database/order-entities.ts';
import { PayerPaymentRow } from '../../database/payer-payment-entities.ts';
import type { StrayPaymentKind } from '../../database/order-entities.ts';
import type { WalletReceiptRow } from '../../database/payer-payment-entities.ts';
import { readClock } from '../../database/read-clock.ts';
import type { Changed, Order } from '../../domain/order.ts';
import { isAbandoned, settlePayerPayment } from '../../domain/payer-payment.ts';
import type { PayerSettlement } from '../../domain/payer-payment.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { unreachable } from '../../domain/unreachable.ts';
import type { FoundMoney } from '../../domain/wallet-outcome.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { keepExchanges } from '../attempts/keep-exchanges.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { orderOfId } from '../changes/read-order.ts';
import { reversalOfMoney } from '../changes/found-stray-payment.ts';
import { reversalColumns } from '../changes/reversal-row.ts';
import { findReceipt, useReceipt } from '../changes/wallet-receipts.ts';
import { findNamedOrder } from './find-named-order.sql.ts';
import { belongToAttempt, end, exchangeOwner, lockPayerPayment, waitForNext } from './payer-payment-row.ts';
import type { PayerPayment } from './payer-payment-row.ts';

/** The wallet's answer to our query about a payment that its payer started. */
export type ConfirmationOutcome =
  | { readonly type: 'pending'; readonly providerReference: string }
  | ({ readonly type: 'completed' } & FoundMoney)
  | { readonly type: 'declined' }
  | { readonly type: 'unknown'; readonly detail: string };

export interface ConfirmationReport {
  readonly payerPaymentId: PublicId<'ppm'>;
  readonly leaseId: string;
  readonly outcome: ConfirmationOutcome;
  readonly exchanges: readonly WalletExchange[];
  readonly requestId: string;
}

/**
 * Records the wallet's answer under a lease, and what becomes of confirmed money, in one transaction. A repeat changes nothing.
 */
export type ConfirmPayerPayment = (
  report: ConfirmationReport,
) => Promise<Result<PayerPayment, 'not_found' | 'lease_lost'>>;

export interface ConfirmPayerPaymentParts {
  readonly database: Database;
  readonly changes: Pick<OrderChanges, 'change'>;
  readonly wallets: readonly Wallet[];
  readonly newId: NewId;
  /** Called when a reversal became due. */
  readonly onDue: () => void;
}

/** The result for confirmed money, and the change of its order. */
interface Settled {
  readonly changed: Changed | undefined;
  readonly settlement:
    | PayerSettlement
    | { readonly type: 'known'; readonly receipt: WalletReceiptRow }
    /** The lease has already reported. */
    | { readonly type: 'repeat' };
}

export function createConfirmPayerPayment(parts: ConfirmPayerPaymentParts): ConfirmPayerPayment {
  const { database, changes, wallets, newId, onDue } = parts;

  /** Stores the exchanges of a report. They are decisive if the report ended the payment. */
  const keep = (em: EntityManager, row: PayerPaymentRow, report: ConfirmationReport, at: Date) => {
    const { exchanges } = report;
    return keepExchanges(em, exchangeOwner(row), {
      exchanges,
      areDecisive: row.status !== 'OPEN',
      newId,
      at,
    });
  };

  const recordOpen = (row: PayerPaymentRow, outcome: ConfirmationOutcome, at: Date): void => {
    if (outcome.type === 'declined') {
      end(row, 'NO_PAYMENT', at);
      return;
    }
    if (outcome.type === 'pending' && outcome.providerReference !== '')
      row.providerReference = outcome.providerReference;
    row.detail = outcome.type === 'unknown' ? outcome.detail : '';
    if (isAbandoned(row.createdAt, at)) end(row, 'ABANDONED', at);
    else waitForNext(row, at);
  };

  const recordStray = (
    em: EntityManager,
    row: PayerPaymentRow,
    money: FoundMoney,
    found: {
      readonly kind: StrayPaymentKind;
      readonly order: Pick<Order, 'id' | 'merchantId' | 'amount'> | undefined;
    },
    at: Date,
  ): void => {
    const terms = termsOf(wallets, row);
    const merchantId = storedId('mer', found.order?.merchantId ?? terms?.merchantId ?? noMerchantId);
    const id = storedId('stp', newId('stp', at));
    useReceipt(em, row, undefined);
    em.create(StrayPaymentRow, {
      merchantId,
      id,
      environment: row.environment,
      orderId: found.order === undefined ? null : storedId('ord', found.order.id),
      paymentAttemptId: null,
      payerPaymentId: row.id,
      paymentOption: row.paymentOption,
      ...money,
      kind: found.kind,
      ...reversalColumns(reversalOfMoney(id, money, at)),
      createdAt: at,
    });
    const orderId = found.order === undefined ? null : storedId('ord', found.order.id);
    Object.assign(row, { merchantId, orderId, strayPaymentId: id, paymentAttemptId: null });
    end(row, 'STRAY', at);
  };

  const recordWithoutOrder = (report: ConfirmationReport) =>
    database.fork().transactional(async (em) => {
      const row = await lockPayerPayment(em, report.payerPaymentId);
      if (row === null) return err('not_found' as const);
      if (row.leaseId !== report.leaseId) return err('lease_lost' as const);
      if (row.leasedUntil == null) return ok({ ...row });
      const at = await readClock(em);
      const { outcome } = report;
      row.leasedUntil = null;
      if (outcome.type === 'completed') {
        takeMoney(row, outcome);
        const receipt = await findReceipt(em, row);
        if (receipt === null) recordStray(em, row, moneyOf(row), { kind: 'NO_ORDER', order: undefined }, at);
        else belongToAttempt(row, receipt, at);
      } else recordOpen(row, outcome, at);
      await keep(em, row, report, at);
      return ok({ ...row });
    });

  const recordForOrder = (
    report: ConfirmationReport,
    money: FoundMoney,
    order: Pick<Order, 'merchantId' | 'environment' | 'id'>,
  ) =>
    changes.change(orderOfId(order), {
      requestId: report.requestId,
      async read(em) {
        const row = await lockPayerPayment(em, report.payerPaymentId);
        if (row === null) throw new TypeError(`the payment ${report.payerPaymentId} is gone`);
        const at = await readClock(em);
        return { row, receipt: await findReceipt(em, row), attemptId: newId('pat', at), at };
      },
      decide(inFull, { row, receipt, attemptId, at }): Result<Settled, 'lease_lost'> {
        if (row.leaseId !== report.leaseId) return err('lease_lost');
        if (row.leasedUntil == null) return ok({ changed: undefined, settlement: { type: 'repeat' } });
        if (receipt !== null) return ok({ changed: undefined, settlement: { type: 'known', receipt } });
        const settlement = settlePayerPayment(inFull, { ...row, attemptId }, money, at);
        return ok({
          changed: settlement.type === 'order_paid' ? settlement.changed : undefined,
          settlement,
        });
      },
      async write(
        em,
        { settlement },
        { context: { row, attemptId, at }, order: before },
      ): Promise<PayerPayment> {
        if (settlement.type === 'repeat') return { ...row };
        row.leasedUntil = null;
        takeMoney(row, money);
        switch (settlement.type) {
          case 'known':
            belongToAttempt(row, settlement.receipt, at);
            break;
          case 'stray':
            recordStray(em, row, money, { kind: settlement.kind, order: before }, at);
            break;
          case 'wait':
            row.detail = 'confirmed; a payment attempt of its order is not decided yet';
            Object.assign(row, linksTo(before));
            waitForNext(row, at);
            break;
          case 'order_paid': {
            const key = { merchantId: storedId('mer', before.merchantId), id: storedId('pat', attemptId) };
            Object.assign(row, linksTo(before), { paymentAttemptId: key.id });
            end(row, 'ORDER_PAID', at);
            useReceipt(em, row, key);
            const attempt = await em.findOneOrFail(PaymentAttemptRow, key);
            attempt.providerTransactionId = row.providerTransactionId;
            break;
          }
          default:
            unreachable(settlement);
        }
        await keep(em, row, report, at);
        if (row.status === 'ORDER_PAID') await moveExchanges(em, row);
        return { ...row };
      },
    });

  return async (report) => {
    const em = database.fork();
    const row = await em.findOne(PayerPaymentRow, { id: storedId('ppm', report.payerPaymentId) });
    if (row === null) return err('not_found');
    const { outcome } = report;
    const order =
      outcome.type !== 'completed' || row.leaseId !== report.leaseId || row.leasedUntil == null
        ? undefined
        : await orderOf(em, wallets, row);
    const recorded: Result<PayerPayment, 'not_found' | 'lease_lost'> =
      order === undefined || outcome.type !== 'completed'
        ? await recordWithoutOrder(report)
        : await recordForOrder(report, { ...outcome, ...transactionOf(row) }, order);
    if (recorded.ok && recorded.value.status === 'STRAY') onDue();
    return recorded;
  };
}

/** The terms of the account that was paid. */
const termsOf = (wallets: readonly Wallet[], { wallet, environment }: PayerPaymentRow) =>
  wallets.find(({ id }) => id === wallet)?.payerStarted?.[environment];

/** The order that the payment is for: that of the attempt that its reference names, or the one with this order_number. */
function orderOf(em: EntityManager, wallets: readonly Wallet[], row: PayerPaymentRow) {
  const { environment, merchantId, orderId, reference } = row;
  if (merchantId != null && orderId != null)
    return { merchantId: publicId('mer', merchantId), environment, id: publicId('ord', orderId) };
  return findNamedOrder(em, environment, reference, termsOf(wallets, row)?.merchantId ?? null);
}

const transactionOf = ({ providerTransactionId }: PayerPaymentRow) => ({ providerTransactionId });
const moneyOf = ({ providerTransactionId, amount, currency }: PayerPaymentRow): FoundMoney => ({
  providerTransactionId,
  amount,
  currency,
});

/** The amount that the wallet confirmed replaces the one that its message claimed. */
const takeMoney = (row: PayerPaymentRow, { amount, currency }: FoundMoney): void => {
  Object.assign(row, { amount, currency });
};

const linksTo = ({ merchantId, id }: Pick<Order, 'merchantId' | 'id'>) => ({
  merchantId: storedId('mer', merchantId),
  orderId: storedId('ord', id),
});

/** From now on the exchanges are shown with the attempt. */
async function moveExchanges(em: EntityManager, row: PayerPaymentRow): Promise<void> {
  await em.flush();
  const { merchantId: none, id } = exchangeOwner(row);
  await em.execute(
    `update core.wallet_exchanges set merchant_id = ?, payment_attempt_id = ?
where merchant_id = ? and payment_attempt_id = ?`,
    [row.merchantId, row.paymentAttemptId, none, id],
  );
}
