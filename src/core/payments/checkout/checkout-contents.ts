import { storedId } from '../../../contract/public-id.ts';
import type { Database } from '../../database/database.ts';
import { PaymentAttemptRow, StrayPaymentRow } from '../../database/order-entities.ts';
import { allowedOptions } from '../../domain/merchant-terms.ts';
import { Money } from '../../domain/money.ts';
import type { NextAction } from '../../domain/next-action.ts';
import type { Order, OrderInFull, PaymentOption, StrayMoney } from '../../domain/order.ts';
import { moneyNotReturned } from '../../domain/order.ts';
import { maxAttempts } from '../../domain/transition.ts';
import { optionsThatTake, promptsPhone } from '../../domain/wallet.ts';
import type { Wallet } from '../../domain/wallet.ts';
import type { FindMerchant, MerchantTerms } from '../../merchants/find-merchant.ts';
import { readOpenPayments } from '../changes/open-payments.sql.ts';
import { rowKeyOf } from './checkout-order.ts';
import { notFound } from './checkout-refusals.ts';
import type { FindPaybills, Paybill } from './find-paybills.ts';

/** The contents of a customer's page. */
export interface Checkout {
  readonly order: OrderInFull;
  readonly attemptsLeft: number;
  /** The page, app or text that the payer needs to confirm; undefined when the wallet prompts the payer's phone. */
  readonly nextAction: NextAction | undefined;
  /** Whether the latest payment prompts no phone, because the payer pays on a page of the wallet. */
  readonly opensPage: boolean;
  /** Whether the requesting browser may pay: it is bound, or no browser is bound yet. */
  readonly usableHere: boolean;
  /** Whether the requesting browser is the bound one. */
  readonly boundHere: boolean;
  /** The wallet's number of the transaction that paid; '' until COMPLETED. */
  readonly providerTransactionId: string;
  /** Whether a cancellation ended the last possible attempt, before it was sent. */
  readonly lastAttemptCancelled: boolean;
  /** Money that a wallet took and that does not pay the order. It came from an attempt, or from the menu of the phone after the order had ended. */
  readonly moneyNotReturned: Pick<StrayMoney, 'amount' | 'currency' | 'status'> | undefined;
  /** Undefined when only the status was asked for. */
  readonly offer: CheckoutOffer | undefined;
}

/** Who is paid, and how. */
export interface CheckoutOffer {
  readonly merchant: MerchantTerms;
  /** The options the customer may choose from. */
  readonly paymentOptions: readonly PaymentOption[];
  /** The paybills at which the payer can pay from the menu of the phone instead. */
  readonly paybills: readonly Paybill[];
}

export interface CheckoutContentsParts {
  readonly database: Database;
  /** Reads the database without a cache, so that a suspension takes effect at the next payment. */
  readonly findMerchant: FindMerchant;
  /** As `findMerchant`, perhaps from a cache, for the page of an order that can no longer be paid. */
  readonly findCachedMerchant: FindMerchant;
  /** The configured wallets. */
  readonly wallets: readonly Wallet[];
  readonly findPaybills: FindPaybills;
}

type CheckoutState = Omit<Checkout, 'offer'>;

/** What the caller has read about an order for one browser. */
export type SeenCheckout = Pick<
  Checkout,
  'order' | 'usableHere' | 'boundHere' | 'nextAction' | 'providerTransactionId'
>;

/** Adds the other facts of its status to an order. It reads nothing about a PENDING order. */
export async function checkoutStateOf(
  parts: CheckoutContentsParts,
  seen: SeenCheckout,
): Promise<CheckoutState> {
  const { order } = seen;
  const attemptsLeft = Math.max(0, maxAttempts - order.attemptCount);
  const held = moneyNotReturned(order) ?? (await findMoneyFromMenu(parts, order));
  const lastAttemptCancelled = attemptsLeft === 0 && (await isLatestUnsent(parts, order));
  const opensPage =
    order.latestAttempt !== null && !promptsPhone(parts.wallets, order.latestAttempt.paymentOption);
  return { ...seen, attemptsLeft, lastAttemptCancelled, opensPage, moneyNotReturned: held };
}

/**
 * Adds the other contents of its page to an order. `known`: the merchant's terms, if the caller has read them already.
 * @throws CHECKOUT_NOT_FOUND when the merchant does not exist
 */
export async function checkoutOf(
  parts: CheckoutContentsParts,
  seen: SeenCheckout,
  known?: MerchantTerms,
): Promise<Checkout> {
  const { wallets, findMerchant, findCachedMerchant, findPaybills } = parts;
  const { order } = seen;
  const find = order.status === 'PENDING' ? findMerchant : findCachedMerchant;
  const merchant = known ?? (await find(order.merchantId));
  if (merchant === undefined) throw notFound();
  const allowed = allowedOptions(merchant, order.environment, wallets);
  const paymentOptions = optionsThatTake(wallets, allowed, order.amount);
  // The page offers no paybill for an order that another browser pays or that has an attempt under way. A second way to pay could charge
  // twice.
  const paybills = seen.usableHere ? await findPaybills(order, merchant, paymentOptions) : [];
  return { ...(await checkoutStateOf(parts, seen)), offer: { merchant, paymentOptions, paybills } };
}

/** Whether a FAILED order ended before its latest attempt was sent, by a cancellation. Stray money of another attempt ends such an attempt too. */
async function isLatestUnsent({ database }: CheckoutContentsParts, order: OrderInFull): Promise<boolean> {
  if (order.status !== 'FAILED' || order.latestAttempt?.status !== 'TIMED_OUT') return false;
  if (order.strayMoney.length > 0) return false;
  const key = { merchantId: storedId('mer', order.merchantId), id: storedId('pat', order.latestAttempt.id) };
  return (await database.fork().findOneOrFail(PaymentAttemptRow, key)).leases === 0;
}

/** Longer than a payment stays open. */
const anyAgeMinutes = 366 * 24 * 60;

/** Money that a payer sent from the menu of the phone for an order that ended unpaid: stray, or not confirmed by the wallet yet. */
async function findMoneyFromMenu(
  { database, wallets }: CheckoutContentsParts,
  order: Order,
): Promise<Checkout['moneyNotReturned']> {
  if (order.status !== 'FAILED' && order.status !== 'EXPIRED') return undefined;
  const em = database.fork();
  const { merchantId, environment, id: orderId } = rowKeyOf({ ...order, orderId: order.id });
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
