import type { EntityManager } from '@mikro-orm/postgresql';
import type { DueWork } from '../../../contract/due-work.ts';
import { noMerchantId, publicId, storedId } from '../../../contract/public-id.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { reachedTime } from '../../../platform/database/retention-start.ts';
import type { Database } from '../../database/database.ts';
import { eraseAgain } from '../../database/erase-again.sql.ts';
import { PaymentAttemptRow } from '../../database/order-entities.ts';
import { PayerPaymentRow } from '../../database/payer-payment-entities.ts';
import type { StrayPaymentKind } from '../../database/order-entities.ts';
import type { WalletReceiptRow } from '../../database/payer-payment-entities.ts';
import { readClock } from '../../database/read-clock.ts';
import { isErased } from '../../domain/erased.ts';
import type { Changed, Order } from '../../domain/order.ts';
import { isAbandoned, effectOfPayerPayment } from '../../domain/payer-payment.ts';
import type { PayerPaymentEffect } from '../../domain/payer-payment.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { unreachable } from '../../domain/unreachable.ts';
import type { FoundMoney } from '../../domain/wallet-outcome.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { keepExchanges } from '../attempts/keep-exchanges.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import type { ClaimPayments } from '../changes/claim-payments.ts';
import { orderOfId } from '../changes/read-order.ts';
import { addStrayPayment } from '../changes/found-stray-payment.ts';
import { makeAgainIfTaken } from '../changes/make-again.ts';
import { findReceipt, useReceipt } from '../changes/wallet-receipts.ts';
import { findNamedOrder } from './find-named-order.sql.ts';
import {
  belongToAttempt,
  endPayerPayment,
  exchangeOwner,
  lockPayerPayment,
  waitForNext,
} from './payer-payment-row.ts';
import type { PayerPayment } from './payer-payment-row.ts';

/** The wallet's answer to our query about a payment that its payer started. */
export type ConfirmationOutcome =
  | { readonly type: 'pending'; readonly providerReference: string }
  /** The transaction is the reported one, about which the wallet was asked. */
  | { readonly type: 'completed'; readonly amount: string; readonly currency: string }
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
 * Records the wallet's answer and the effect of confirmed money under a lease, in one transaction. A repeat changes nothing.
 * @throws the errors of ClaimPayments.claim, when the order was paid before a restore
 */
export type ConfirmPayerPayment = (
  report: ConfirmationReport,
) => Promise<Result<PayerPayment, 'not_found' | 'lease_lost'>>;

export interface ConfirmPayerPaymentParts {
  readonly database: Database;
  readonly changes: Pick<OrderChanges, 'change'>;
  readonly claims: Pick<ClaimPayments, 'claimFor'>;
  readonly wallets: readonly Wallet[];
  readonly newId: NewId;
  /** The time of this machine's clock. */
  readonly machineNow: () => Date;
  /** Called when a reversal became due. */
  readonly onDue: (due: DueWork) => void;
}

type Completed = Extract<ConfirmationOutcome, { readonly type: 'completed' }>;
type Recorded = Result<PayerPayment, 'not_found' | 'lease_lost'>;
type OrderKey = Pick<Order, 'merchantId' | 'environment' | 'id'>;

export function createConfirmPayerPayment(parts: ConfirmPayerPaymentParts): ConfirmPayerPayment {
  return async (report) => {
    const { outcome } = report;
    const order = outcome.type === 'completed' ? await findPaidOrder(parts, report) : undefined;
    // An order that was paid before the database was restored gets that payment. This money waits, and is then returned.
    if (order !== undefined) await parts.claims.claimFor(order, report.requestId);
    const recorded =
      outcome.type === 'completed' && order !== undefined
        ? await recordForOrder(parts, report, outcome, order)
        : await recordWithoutOrder(parts, report);
    if (recorded.ok && recorded.value.status === 'STRAY') {
      const { environment, wallet } = recorded.value;
      parts.onDue({ work: 'reversals', environment, wallet });
    }
    return recorded;
  };
}

/**
 * The order that the payment is for. Its reference names an attempt of the order, or is the order_number. Undefined without such an
 * order, and for a report that changes nothing.
 */
async function findPaidOrder(
  { database, wallets }: ConfirmPayerPaymentParts,
  { payerPaymentId, leaseId }: ConfirmationReport,
): Promise<OrderKey | undefined> {
  const em = database.fork();
  const row = await em.findOne(PayerPaymentRow, { id: storedId('ppm', payerPaymentId) });
  if (row === null || row.leaseId !== leaseId || row.leasedUntil == null) return undefined;
  const { environment, merchantId, orderId, reference } = row;
  if (merchantId != null && orderId != null)
    return { merchantId: publicId('mer', merchantId), environment, id: publicId('ord', orderId) };
  return findNamedOrder(em, environment, reference, merchantOfAccount(wallets, row));
}

/** Records a report that changes no order. */
function recordWithoutOrder(parts: ConfirmPayerPaymentParts, report: ConfirmationReport): Promise<Recorded> {
  const { payerPaymentId, leaseId, outcome } = report;
  const record = async (em: EntityManager): Promise<Recorded> => {
    const row = await lockPayerPayment(em, payerPaymentId);
    if (row === null) return err('not_found');
    if (row.leaseId !== leaseId) return err('lease_lost');
    const { leasedUntil } = row;
    if (leasedUntil == null) return ok({ ...row });
    const at = await readClock(em);
    row.leasedUntil = null;
    if (outcome.type === 'completed') await recordMoneyWithoutOrder(parts, em, row, outcome, at);
    else recordUnconfirmed(parts, row, outcome, leasedUntil, at);
    await keepReported(parts, em, row, report, at);
    return ok({ ...row });
  };
  return makeAgainIfTaken(() => parts.database.fork().transactional(record));
}

async function recordMoneyWithoutOrder(
  parts: ConfirmPayerPaymentParts,
  em: EntityManager,
  row: PayerPaymentRow,
  confirmed: Completed,
  at: Date,
): Promise<void> {
  const money = takeMoney(row, confirmed);
  const receipt = await findReceipt(em, row);
  if (receipt === null) recordStray(parts, em, row, { money, kind: 'NO_ORDER', order: undefined }, at);
  else await belongToAttempt(em, row, receipt, at);
}

function recordUnconfirmed(
  { machineNow }: Pick<ConfirmPayerPaymentParts, 'machineNow'>,
  row: PayerPaymentRow,
  outcome: Exclude<ConfirmationOutcome, Completed>,
  leasedUntil: Date,
  at: Date,
): void {
  if (outcome.type === 'declined') {
    endPayerPayment(row, 'NO_PAYMENT', at);
    return;
  }
  if (outcome.type === 'pending' && outcome.providerReference !== '')
    row.providerReference = outcome.providerReference;
  row.detail = outcome.type === 'unknown' ? outcome.detail : '';
  // Only a later message about the payment would open it again, so both clocks must have ended its time.
  const reachedAt = reachedTime({ now: () => at, machineNow });
  if (row.confirmedAt == null && isAbandoned(row.createdAt, reachedAt)) endPayerPayment(row, 'ABANDONED', at);
  else waitForNext(row, leasedUntil, at);
}

/** The changes that a report causes. */
interface ReportChange {
  readonly changed: Changed | undefined;
  /** Undefined when the lease has reported before, so that nothing changes. */
  readonly effect:
    | PayerPaymentEffect
    | { readonly type: 'known'; readonly receipt: WalletReceiptRow }
    | undefined;
}

/** Records confirmed money, and pays the order with it if the order can accept it. */
function recordForOrder(
  parts: ConfirmPayerPaymentParts,
  report: ConfirmationReport,
  confirmed: Completed,
  order: OrderKey,
): Promise<Recorded> {
  const { payerPaymentId, leaseId, requestId } = report;
  return parts.changes.change(orderOfId(order), {
    requestId,
    async read(em) {
      const row = await lockPayerPayment(em, payerPaymentId);
      if (row === null) throw new TypeError(`the payment ${payerPaymentId} is gone`);
      const at = await readClock(em);
      return { row, receipt: await findReceipt(em, row), attemptId: parts.newId('pat', at), at };
    },
    decide(inFull, { row, receipt, attemptId, at }): Result<ReportChange, 'lease_lost'> {
      if (row.leaseId !== leaseId) return err('lease_lost');
      if (row.leasedUntil == null) return ok({ changed: undefined, effect: undefined });
      if (receipt !== null) return ok({ changed: undefined, effect: { type: 'known', receipt } });
      const { paymentOption, paymentAttemptId: named } = row;
      const namedAttemptId = named == null ? undefined : publicId('pat', named);
      const payment = { attemptId, paymentOption, namedAttemptId };
      const effect = effectOfPayerPayment(inFull, payment, moneyOf(row, confirmed), at);
      return ok({
        changed: effect.type === 'order_paid' ? effect.changed : undefined,
        effect,
      });
    },
    async write(em, { effect }, { context, order: before }): Promise<PayerPayment> {
      const { row, at } = context;
      const { leasedUntil } = row;
      if (effect === undefined || leasedUntil == null) return { ...row };
      row.leasedUntil = null;
      const money = takeMoney(row, confirmed);
      switch (effect.type) {
        case 'known':
          await belongToAttempt(em, row, effect.receipt, at);
          break;
        case 'stray':
          recordStray(parts, em, row, { money, kind: effect.kind, order: before }, at);
          if (isErased(before)) await eraseAgain(em, before);
          break;
        case 'wait':
          row.detail = 'confirmed; a payment attempt of its order is not decided yet';
          Object.assign(row, { ...storedOrder(before), confirmedAt: row.confirmedAt ?? at });
          waitForNext(row, leasedUntil, at);
          break;
        case 'order_paid':
          await recordPaid(em, row, before, context);
          break;
        default:
          unreachable(effect);
      }
      await keepReported(parts, em, row, report, at);
      if (row.status === 'ORDER_PAID') await moveExchanges(em, row);
      return { ...row };
    },
  });
}

/** Ends the payment with the attempt that it gave the order. */
async function recordPaid(
  em: EntityManager,
  row: PayerPaymentRow,
  order: OrderKey,
  { attemptId, at }: { readonly attemptId: PublicId<'pat'>; readonly at: Date },
): Promise<void> {
  const { merchantId, orderId } = storedOrder(order);
  const key = { merchantId, id: storedId('pat', attemptId) };
  Object.assign(row, { merchantId, orderId, paymentAttemptId: key.id });
  endPayerPayment(row, 'ORDER_PAID', at);
  useReceipt(em, row, key);
  const attempt = await em.findOneOrFail(PaymentAttemptRow, key);
  attempt.providerTransactionId = row.providerTransactionId;
}

/** Money that pays no order. `order` is the one that it was for. */
interface StrayMoney {
  readonly money: FoundMoney;
  readonly kind: StrayPaymentKind;
  readonly order: OrderKey | undefined;
}

/** Ends the payment with a stray payment, whose reversal becomes due. */
function recordStray(
  { wallets }: ConfirmPayerPaymentParts,
  em: EntityManager,
  row: PayerPaymentRow,
  { money, kind, order }: StrayMoney,
  at: Date,
): void {
  const { environment, paymentOption } = row;
  const links =
    order === undefined
      ? { merchantId: storedId('mer', merchantOfAccount(wallets, row) ?? noMerchantId), orderId: null }
      : storedOrder(order);
  const origin = { ...links, environment, paymentOption, paymentAttemptId: null, payerPaymentId: row.id };
  const id = addStrayPayment(em, origin, kind, money, at);
  useReceipt(em, row, undefined);
  Object.assign(row, { ...links, paymentAttemptId: null, strayPaymentId: storedId('stp', id) });
  endPayerPayment(row, 'STRAY', at);
}

/** The only merchant of the account that was paid; null when merchants share it. */
const merchantOfAccount = (wallets: readonly Wallet[], { wallet, environment }: PayerPaymentRow) =>
  wallets.find(({ id }) => id === wallet)?.payerStarted?.[environment]?.merchantId ?? null;

const moneyOf = (
  { providerTransactionId }: PayerPaymentRow,
  { amount, currency }: Completed,
): FoundMoney => ({ providerTransactionId, amount, currency });

/** The amount that the wallet confirmed replaces the one that its message stated. */
function takeMoney(row: PayerPaymentRow, confirmed: Completed): FoundMoney {
  const money = moneyOf(row, confirmed);
  Object.assign(row, money);
  return money;
}

const storedOrder = ({ merchantId, id }: OrderKey) => ({
  merchantId: storedId('mer', merchantId),
  orderId: storedId('ord', id),
});

/** Stores the exchanges of a report. They are decisive if the report ended the payment. */
const keepReported = (
  { newId }: ConfirmPayerPaymentParts,
  em: EntityManager,
  row: PayerPaymentRow,
  { exchanges }: ConfirmationReport,
  at: Date,
): Promise<void> =>
  keepExchanges(em, exchangeOwner(row), { exchanges, areDecisive: row.status !== 'OPEN', newId, at });

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
