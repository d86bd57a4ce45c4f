import { Money } from './money.ts';
import type { AttemptId, Changed, Order, OrderInFull, PaymentOption } from './order.ts';
import { isInFlight, moneyNotReturned, paidBy } from './order.ts';
import { transition } from './transition.ts';
import { unreachable } from './unreachable.ts';
import type { FoundMoney } from './wallet-outcome.ts';
import { parseDebited } from './wallet-outcome.ts';

/*
 * Payments that payers start themselves, at a till or paybill. The payer types the order_number as the reference. The wallet asks
 * whether we take the payment, if the provider has enabled that, and reports it afterwards. Only our own query proves it.
 */

/** The status of a payment that its payer started. All states except OPEN and ABANDONED are final. */
export type PayerPaymentStatus =
  | 'OPEN'
  | 'ORDER_PAID'
  | 'STRAY'
  | 'REQUESTED_PAYMENT'
  | 'NO_PAYMENT'
  | 'ABANDONED';

/**
 * The order that a typed reference names. Phones and people change capitals, so an order number in other capitals counts if no order has
 * exactly the typed one. Undefined in three cases:
 * - No order has this number, in any capitals.
 * - Several orders of one merchant have it, none of them exactly as typed.
 * - Orders of several merchants have it, in any capitals. A guess could give one merchant another's money.
 */
export function orderNamed<Numbered extends Pick<Order, 'merchantId' | 'orderNumber'>>(
  orders: readonly Numbered[],
  reference: string,
): Numbered | undefined {
  const alike = orders.filter(({ orderNumber }) => orderNumber.toUpperCase() === reference.toUpperCase());
  if (new Set(alike.map(({ merchantId }) => merchantId)).size > 1) return undefined;
  const exact = alike.filter(({ orderNumber }) => orderNumber === reference);
  const named = exact.length > 0 ? exact : alike;
  return named.length === 1 ? named[0] : undefined;
}

/** The spellings of a reference, for each of which an order is looked up in an index. */
export const spellingsOf = (reference: string): readonly string[] =>
  reference === '' ? [] : [...new Set([reference, reference.toUpperCase(), reference.toLowerCase()])];

/** The answer to a wallet that asks before it moves money. */
export type PayerPaymentDecision = 'ACCEPT' | 'UNKNOWN_REFERENCE' | 'WRONG_AMOUNT' | 'NOT_PAYABLE';

/**
 * Whether an order takes a payment that has not moved money yet. The rules are those of a new attempt, and the amount must be
 * equal. `isOffered` tells whether the merchant may take this money through this wallet now.
 */
export function validatePayerPayment(
  order: OrderInFull,
  money: Pick<FoundMoney, 'amount' | 'currency'>,
  isOffered: boolean,
  now: Date,
): PayerPaymentDecision {
  const { latestAttempt } = order;
  const isBusy = latestAttempt !== null && isInFlight(latestAttempt);
  const isOpen = order.status === 'PENDING' && now < order.expiresAt;
  if (!isOpen || isBusy || !isOffered || moneyNotReturned(order) !== undefined) return 'NOT_PAYABLE';
  return paysAmount(order, money) ? 'ACCEPT' : 'WRONG_AMOUNT';
}

/**
 * Whether a wallet may carry out the payment that an attempt requested. Some wallets ask this before they move the money. The payer has
 * confirmed the payment already. So it is refused only if the attempt has ended, if the amount differs, or if money of an earlier attempt
 * is not returned yet.
 */
export function validateRequestedPayment(
  order: OrderInFull,
  attemptId: AttemptId,
  money: Pick<FoundMoney, 'amount' | 'currency'>,
): PayerPaymentDecision {
  const { latestAttempt } = order;
  const isUnderWay = latestAttempt?.id === attemptId && isInFlight(latestAttempt);
  if (!isUnderWay || moneyNotReturned(order) !== undefined) return 'NOT_PAYABLE';
  return paysAmount(order, money) ? 'ACCEPT' : 'WRONG_AMOUNT';
}

/**
 * Whether a payment with this reference and amount may pay the order. Orders of other merchants with the same number are not looked at, so it may
 * also be true if the reference is ambiguous.
 */
export function mayPayOrder(
  order: Order,
  { reference, ...money }: Pick<FoundMoney, 'amount' | 'currency'> & { readonly reference: string },
): boolean {
  return reference.toLowerCase() === order.orderNumber.toLowerCase() && paysAmount(order, money);
}

/** Whether a payment has exactly the amount of an order. */
export function paysAmount({ amount }: Order, money: Pick<FoundMoney, 'amount' | 'currency'>): boolean {
  const debited = parseDebited(money);
  return debited !== undefined && Money.equal(debited, amount);
}

/** The effect of confirmed money on the order that its reference names. */
export type PayerPaymentEffect =
  | { readonly type: 'order_paid'; readonly changed: Changed }
  /** The order cannot accept the money. */
  | { readonly type: 'stray'; readonly kind: 'LATE' | 'WRONG_AMOUNT' }
  /** An attempt of the order may still take money, or may have taken this money. */
  | { readonly type: 'wait' };

/**
 * The effect of money that the wallet confirmed to our query. It pays the order, is a stray payment, or waits for an undecided attempt.
 * `namedAttemptId`: the attempt that the reference names, which may have taken the money even if the amount differs. If the money was stray
 * before the attempt ends, the wallet could only name a taken transaction for the attempt, which would then stay undecided.
 */
export function effectOfPayerPayment(
  order: OrderInFull,
  {
    namedAttemptId,
    ...payment
  }: {
    readonly attemptId: AttemptId;
    readonly paymentOption: PaymentOption;
    readonly namedAttemptId: AttemptId | undefined;
  },
  money: FoundMoney,
  now: Date,
): PayerPaymentEffect {
  const { latestAttempt } = order;
  const isUndecided =
    latestAttempt !== null && latestAttempt.id === namedAttemptId && isInFlight(latestAttempt);
  const otherAmount: PayerPaymentEffect = isUndecided
    ? { type: 'wait' }
    : { type: 'stray', kind: 'WRONG_AMOUNT' };
  const debited = parseDebited(money);
  if (debited === undefined) return otherAmount;
  const received = transition(order, { type: 'receive_payment', ...payment, debited }, now);
  if (received.ok)
    return { type: 'order_paid', changed: paidBy(received.value, money.providerTransactionId) };
  switch (received.error.type) {
    case 'order_is_final':
      return { type: 'stray', kind: 'LATE' };
    case 'amount_mismatch':
      return otherAmount;
    case 'payment_in_progress':
      return { type: 'wait' };
    default:
      return unreachable(received.error);
  }
}

/** The seconds to wait after each try, before the wallet is asked again. The last value repeats. */
const waitsSeconds = [2, 3, 5, 10, 30, 60, 300, 900, 3600] as const;
const abandonedAfterMs = 3 * 24 * 60 * 60_000;

/** When the wallet is asked next about a payment that is still open. */
export const nextConfirmation = (tries: number, now: Date): Date =>
  new Date(
    now.getTime() + (waitsSeconds[Math.min(Math.max(tries, 1), waitsSeconds.length) - 1] ?? 3600) * 1000,
  );

/** Whether a reported payment that the wallet has not confirmed needs a person. Confirmed money is never abandoned. */
export const isAbandoned = (reportedAt: Date, now: Date): boolean =>
  now.getTime() - reportedAt.getTime() >= abandonedAfterMs;
