import type { FairCalls } from '../../../platform/fair-calls.ts';
import type { Database } from '../../database/database.ts';
import { PaymentAttemptRow, StrayPaymentRow } from '../../database/order-entities.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { readTakesPayments } from '../../database/takes-payments.sql.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { NextAction } from '../../domain/next-action.ts';
import { Money } from '../../domain/money.ts';
import type { Order, OrderInFull, PaymentOption, StrayMoney } from '../../domain/order.ts';
import { isInFlight, moneyNotReturned } from '../../domain/order.ts';
import type { PhoneNumber } from '../../domain/phone-number.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { maxAttempts, transition } from '../../domain/transition.ts';
import type { FindMerchant, MerchantTerms } from '../../merchants/find-merchant.ts';
import { requireMerchant } from '../../merchants/find-merchant.ts';
import { allowedOptions } from '../../domain/merchant-terms.ts';
import { optionsThatTake } from '../../domain/wallet.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { notFound, notOffered, checkoutRefusal } from './checkout-refusals.ts';
import type { CancelRefusal } from './checkout-refusals.ts';
import { isUsableBy, nameOf, ownerOf } from './checkout-order.ts';
import type { CheckoutTokens, TokenSubject } from './checkout-token.ts';
import type { FindPaybills, Paybill } from './find-paybills.ts';
import { createReadCheckoutOrder } from './read-checkout-order.ts';
import { createStartCheckoutPayment } from './start-checkout-payment.ts';
import type { CallScope } from '../changes/add-orders.ts';
import type { AttemptIds } from '../changes/attempt-ids.ts';
import type { ClaimPayments } from '../changes/claim-payments.ts';
import { decisionOf } from '../changes/change-orders.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { claimBeforeEnd, readLostPayment } from '../changes/lost-payment.ts';
import type { Decision } from '../changes/order-change.ts';
import { byOrderId } from '../changes/read-order.ts';
import { readOpenPayments } from '../changes/open-payments.sql.ts';
import type { PhoneLimit } from '../phones/phone-limit.ts';

/** The contents of a customer's page. */
export interface Checkout {
  readonly order: OrderInFull;
  readonly merchant: MerchantTerms;
  readonly attemptsLeft: number;
  /** What the payer must open or read in order to confirm; undefined when the wallet prompts the payer's phone. */
  readonly nextAction: NextAction | undefined;
  /** Whether the requesting browser may pay: it is bound, or no browser is bound yet. */
  readonly usableHere: boolean;
  /** Whether the requesting browser is the bound one. */
  readonly boundHere: boolean;
  /** The wallet's number of the transaction that paid; '' until COMPLETED. */
  readonly providerTransactionId: string;
  /** The options the customer may choose from. */
  readonly paymentOptions: readonly PaymentOption[];
  /** Whether a cancellation ended the last possible attempt, before it was sent. */
  readonly lastAttemptCancelled: boolean;
  /** Money that a wallet took and that does not pay the order. It came from an attempt, or from the menu of the phone after the order had ended. */
  readonly moneyNotReturned: Pick<StrayMoney, 'amount' | 'currency' | 'status'> | undefined;
  /** Where the payer can pay from the menu of the phone instead. */
  readonly paybills: readonly Paybill[];
}

export interface CheckoutPayment {
  /** The network of the customer's request: an IPv4 address or an IPv6 network; '' when unknown. */
  readonly customerNetwork: string;
  readonly paymentOption: PaymentOption;
  readonly phone: PhoneNumber;
}

export interface Checkouts {
  /**
   * Changes nothing. @throws CHECKOUT_NOT_FOUND, RECOVERING while a restore may have lost the order, OVERLOADED when too many readings
   * of this checkout wait
   */
  readonly get: (token: string, browserSecret: string, signal: AbortSignal) => Promise<Checkout>;
  /**
   * @throws CHECKOUT_NOT_FOUND, CHECKOUT_IN_USE, INVALID_FIELDS for an option that is not offered, PAYMENT_IN_PROGRESS,
   * MONEY_NOT_RETURNED, ORDER_NOT_PAYABLE, PHONE_BUSY, PHONE_LIMIT, MERCHANT_SUSPENDED, RECOVERING, OVERLOADED when too many calls of
   * this checkout wait
   */
  readonly pay: (
    token: string,
    browserSecret: string,
    payment: CheckoutPayment,
    scope: CallScope,
  ) => Promise<Checkout>;
  /**
   * @throws CHECKOUT_NOT_FOUND, CHECKOUT_IN_USE, PAYMENT_IN_PROGRESS, ORDER_NOT_PAYABLE, RECOVERING while a restore may have lost the order
   * or its payment, OVERLOADED when too many cancellations of this checkout wait
   */
  readonly cancel: (token: string, browserSecret: string, requestId: string) => Promise<Checkout>;
}

export interface CheckoutParts {
  readonly database: Database;
  readonly changes: Pick<OrderChanges, 'share'>;
  readonly attemptIds: AttemptIds;
  readonly claims: Pick<ClaimPayments, 'claimFor' | 'find'>;
  readonly tokens: CheckoutTokens;
  /** Reads the database without a cache, so that a suspension takes effect at the next payment. */
  readonly findMerchant: FindMerchant;
  /** May be cached. For the page of an order that nobody can pay any more. */
  readonly rememberMerchant: FindMerchant;
  readonly phoneLimit: PhoneLimit;
  /** Limits the readings, and the payments and cancellations that wait for their order, by merchant and then by checkout. */
  readonly fairly: FairCalls;
  readonly gate: Pick<PaymentGate, 'isOpenFor' | 'requireOpen' | 'missing'>;
  /** A keyed hash. Networks are personal data, and only their equality matters. */
  readonly hashNetwork: (network: string) => string;
  /** The configured wallets. */
  readonly wallets: readonly Wallet[];
  readonly findPaybills: FindPaybills;
}

export function createCheckouts(parts: CheckoutParts): Checkouts {
  const { database, changes, tokens, fairly } = parts;

  const subjectOf = (token: string): TokenSubject => {
    const subject = tokens.open(token);
    if (subject === undefined) throw notFound();
    return subject;
  };
  const read = createReadCheckoutOrder(database);
  const start = createStartCheckoutPayment(parts);
  const cancel = changes.share({
    orders: byOrderId,
    nameOf: ({ subject }: CancellingCall) => nameOf(subject),
    requestIdOf: ({ requestId }) => requestId,
    alone: ({ subject }, make) => fairly(ownerOf(subject), { aborted: false }, make),
    load: readTakesPayments,
    loadsFirst: true,
    read: async (em, { row, call, loaded }) => ({
      isUsable: isUsableBy(row, call.browserSecret),
      lostPaymentOf: await readLostPayment(em, parts, row, loaded),
      isPayerPaying: await readOpenPayments(em, parts.wallets, [row]),
    }),
    decide(order, { isUsable, lostPaymentOf, isPayerPaying }, now): Result<Decision, CancelRefusal> {
      if (!isUsable) return err('in_use');
      if (order.status === 'FAILED') return ok({ changed: undefined });
      const cancelled = decisionOf(transition(order, { type: 'cancel' }, now));
      if (cancelled.ok && lostPaymentOf(order, now) !== 'none') return err('may_be_paid');
      return cancelled.ok && isPayerPaying(order) ? err('payer_pays') : cancelled;
    },
    write: (_em, { changed }, { taken: { row }, order }): ChangedCheckout => ({
      order: changed?.order ?? order,
      boundHere: row.checkoutBrowserHash != null,
    }),
  });

  return {
    async get(token, browserSecret, signal) {
      const subject = subjectOf(token);
      // Anyone who has the link may read it without a limit on requests, and each reading needs several statements.
      return fairly(ownerOf(subject), signal, async () => {
        const found = await read(rowKey(subject), signal);
        if (found === null) throw await parts.gate.missing(subject, notFound());
        const { row, order, attempt } = found;
        const usableHere = isUsableBy(row, browserSecret);
        const boundHere = usableHere && row.checkoutBrowserHash != null;
        return checkoutOf(parts, order, {
          usableHere,
          boundHere,
          // Only the payer's own browser may carry it out.
          nextAction:
            boundHere && attempt !== undefined && isInFlight(attempt)
              ? (attempt.nextAction ?? undefined)
              : undefined,
          providerTransactionId: order.status === 'COMPLETED' ? (attempt?.providerTransactionId ?? '') : '',
        });
      });
    },

    async pay(token, browserSecret, payment, { requestId, signal }) {
      const subject = subjectOf(token);
      parts.gate.requireOpen(subject.environment, subject.merchantId);
      const { customerNetwork, paymentOption, phone } = payment;
      const network = customerNetwork === '' ? '' : parts.hashNetwork(customerNetwork);
      const merchant = await fairly(ownerOf(subject), signal, async () => {
        const terms = await requireAllowed(parts, subject, paymentOption);
        // An order may have been paid before the database was restored. Then it gets that payment, and no other starts.
        await parts.claims.claimFor(nameOf(subject), requestId);
        return terms;
      });
      const asked = { ...subject, phone: phone.e164, network };
      const started = await start({
        ...{ subject, browserSecret, paymentOption, phone },
        asked,
        requestId,
        signal,
      });
      const changed = started.ok ? ok({ order: started.value, boundHere: true }) : started;
      return answerChange(parts, subject, changed, merchant);
    },

    async cancel(token, browserSecret, requestId) {
      const subject = subjectOf(token);
      await claimBeforeEnd(parts, nameOf(subject), requestId);
      return answerChange(parts, subject, await cancel({ subject, browserSecret, requestId }));
    },
  };
}

/** The browser and the call that cancel a checkout. */
interface CancellingCall {
  readonly subject: TokenSubject;
  readonly browserSecret: string;
  readonly requestId: string;
}

/** An order after a change, and whether it is bound to the browser that asked for the change. */
interface ChangedCheckout {
  readonly order: OrderInFull;
  readonly boundHere: boolean;
}

async function answerChange(
  parts: CheckoutParts,
  subject: TokenSubject,
  changed: Result<ChangedCheckout, Parameters<typeof checkoutRefusal>[0]>,
  merchant?: MerchantTerms,
): Promise<Checkout> {
  if (!changed.ok) {
    const error = checkoutRefusal(changed.error, parts.phoneLimit.refusal);
    throw changed.error === 'not_found' ? await parts.gate.missing(subject, error) : error;
  }
  const { order, boundHere } = changed.value;
  // Neither change results in COMPLETED, so no transaction has paid the order. A payment that has just started was not sent yet.
  const seen = { usableHere: true, boundHere, nextAction: undefined, providerTransactionId: '' };
  return checkoutOf(parts, order, seen, merchant);
}

async function checkoutOf(
  parts: CheckoutParts,
  order: OrderInFull,
  seen: Pick<Checkout, 'usableHere' | 'boundHere' | 'nextAction' | 'providerTransactionId'>,
  known?: MerchantTerms,
): Promise<Checkout> {
  const { wallets, findMerchant, rememberMerchant, findPaybills } = parts;
  const find = order.status === 'PENDING' ? findMerchant : rememberMerchant;
  const merchant = known ?? (await find(order.merchantId));
  if (merchant === undefined) throw notFound();
  const allowed = allowedOptions(merchant, order.environment, wallets);
  const paymentOptions = optionsThatTake(wallets, allowed, order.amount);
  const attemptsLeft = Math.max(0, maxAttempts - order.attemptCount);
  // The page offers no paybill for an order that another browser pays or that has an attempt under way. A second way to pay could charge
  // twice.
  const paybills = seen.usableHere ? await findPaybills(order, paymentOptions) : [];
  const held = moneyNotReturned(order) ?? (await findMoneyFromMenu(parts, order));
  const lastAttemptCancelled = attemptsLeft === 0 && (await isLatestUnsent(parts, order));
  return {
    ...{ ...seen, order, merchant, attemptsLeft, lastAttemptCancelled, paymentOptions, paybills },
    moneyNotReturned: held,
  };
}

/** Whether a FAILED order ended before its latest attempt was sent, by a cancellation. Stray money of another attempt ends such an attempt too. */
async function isLatestUnsent({ database }: CheckoutParts, order: OrderInFull): Promise<boolean> {
  if (order.status !== 'FAILED' || order.latestAttempt?.status !== 'TIMED_OUT') return false;
  if (order.strayMoney.length > 0) return false;
  const key = { merchantId: storedId('mer', order.merchantId), id: storedId('pat', order.latestAttempt.id) };
  return (await database.fork().findOneOrFail(PaymentAttemptRow, key)).leases === 0;
}

/** Longer than a payment stays open. */
const anyAgeMinutes = 366 * 24 * 60;

/** Money that a payer sent from the menu of the phone for an order that ended unpaid: stray, or not confirmed by the wallet yet. */
async function findMoneyFromMenu(
  { database, wallets }: CheckoutParts,
  order: Order,
): Promise<Checkout['moneyNotReturned']> {
  if (order.status !== 'FAILED' && order.status !== 'EXPIRED') return undefined;
  const em = database.fork();
  const { merchantId, environment, id: orderId } = rowKey({ ...order, orderId: order.id });
  const [stray] = await em.find(
    StrayPaymentRow,
    { merchantId, environment, orderId, paymentAttemptId: null, status: { $ne: 'REVERSED' } },
    { orderBy: { id: 'asc' }, limit: 1 },
  );
  if (stray !== undefined) return stray;
  const isPayerPaying = await readOpenPayments(em, wallets, [{ ...order, id: orderId }], anyAgeMinutes);
  const { minorUnits, currency } = order.amount;
  if (!isPayerPaying(order)) return undefined;
  return {
    amount: Money.formatMinorUnits(minorUnits, currency),
    currency: currency.code,
    status: 'REVERSAL_DUE',
  };
}

/** The merchant's terms. @throws MERCHANT_SUSPENDED, INVALID_FIELDS for an option that the merchant does not offer */
async function requireAllowed(
  { findMerchant, wallets }: CheckoutParts,
  { merchantId, environment }: TokenSubject,
  option: PaymentOption,
): Promise<MerchantTerms> {
  const merchant = await requireMerchant(findMerchant, merchantId, environment);
  if (!allowedOptions(merchant, environment, wallets).includes(option)) throw notOffered();
  return merchant;
}

const rowKey = ({ environment, merchantId, orderId }: TokenSubject) => ({
  environment,
  merchantId: storedId('mer', merchantId),
  id: storedId('ord', orderId),
});
