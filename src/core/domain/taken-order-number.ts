import { isErased, isSameOrErased } from './erased.ts';
import { Money } from './money.ts';
import type { Order, OrderFacts, OrderStatus, PaymentAttempt, PaymentOption } from './order.ts';
import { isInFlight } from './order.ts';
import type { PhoneNumber } from './phone-number.ts';

/*
 * The answer to a request whose order_number already has an order. The order_number is the natural key of a request: a
 * repeated request gets the same answer, and never causes a second prompt.
 */

/** The order has other values than the request, in these fields of the merchant API. */
export interface DiffersFromOrder {
  readonly type: 'differs';
  readonly fields: readonly string[];
}

/** The answer to a repeated registration of an order_number. */
export type RegistrationAnswer =
  | { readonly type: 'repeat' }
  /** A repeated registration of an order that can no longer be paid. Another try needs a new order_number. */
  | { readonly type: 'ended'; readonly status: Extract<OrderStatus, 'FAILED' | 'EXPIRED'> }
  | DiffersFromOrder;

/** A registration, with the length of the session if the request sets one. */
export interface AskedRegistration {
  readonly facts: OrderFacts;
  readonly sessionLifetimeMs: number | undefined;
}

/**
 * Compares all values of the merchant's request: the amount by value and the phone by its E.164 form, so "100" equals
 * "100.00". The session's length is compared only if the request sets one, because the merchant's default may have changed.
 */
export function answerRegistration(
  order: Order,
  { facts, sessionLifetimeMs }: AskedRegistration,
): RegistrationAnswer {
  const lifetimeMs = order.expiresAt.getTime() - order.createdAt.getTime();
  // A link without a phone gets the phone of its first attempt, and is still the same link.
  const isPhoneSame =
    facts.customerPhone.e164 === '' ||
    order.customerPhone.e164 === facts.customerPhone.e164 ||
    isErased(order);
  const fields = [
    ...amountFields(order.amount, facts.amount),
    ...fieldIfDifferent('payment_type', order.paymentType === facts.paymentType),
    ...fieldIfDifferent('customer_phone', isPhoneSame),
    ...fieldIfDifferent('reason', isSameOrErased(order.reason, facts.reason)),
    ...fieldIfDifferent('business_name', order.businessName === facts.businessName),
    ...fieldIfDifferent('return_url', order.returnUrl === facts.returnUrl),
    ...fieldIfDifferent('webhook_url', order.webhookUrl === facts.webhookUrl),
    ...fieldIfDifferent(
      'session_lifetime',
      sessionLifetimeMs === undefined || sessionLifetimeMs === lifetimeMs,
    ),
  ];
  if (fields.length > 0) return { type: 'differs', fields };
  return order.status === 'FAILED' || order.status === 'EXPIRED'
    ? { type: 'ended', status: order.status }
    : { type: 'repeat' };
}

/** The values of a direct payment. */
export interface DirectCall {
  readonly amount: Money;
  readonly phone: PhoneNumber;
  readonly paymentOption: PaymentOption;
}

/** The answer to a direct payment whose order_number already has an order. */
export type DirectAnswer =
  /** The call is a repeat, and the first one started this attempt. The answer is its order in any state. */
  | { readonly type: 'repeat'; readonly attempt: PaymentAttempt }
  /** The call is new for its registered order. `transition` decides whether it may pay. */
  | { readonly type: 'start' }
  | DiffersFromOrder;

/**
 * A DIRECT order accepts only repeats of the call that created it. Without its earlier attempts the answer may be `start`, as for a
 * registered order. On a registered order, the phone and the payment option identify a direct call for ever, even after its attempt has
 * ended. So another try needs another phone, option or order_number, or the checkout page. In return, a call can be repeated safely after a
 * lost answer.
 */
export function answerDirectPayment(
  order: Order,
  earlierAttempts: readonly PaymentAttempt[],
  call: DirectCall,
): DirectAnswer {
  const amounts = amountFields(order.amount, call.amount);
  const { latestAttempt } = order;
  // The payer may have paid a DIRECT order in another way, after the call's own attempt.
  const called = latestAttempt?.origin === 'PAYER' ? earlierAttempts.at(-1) : latestAttempt;
  if (order.paymentType === 'DIRECT' && called != null) {
    const fields = [
      ...amounts,
      ...fieldIfDifferent('phone', isSameOrErased(called.phone, call.phone.e164)),
      ...fieldIfDifferent('payment_option', called.paymentOption === call.paymentOption),
    ];
    return fields.length > 0 ? { type: 'differs', fields } : { type: 'repeat', attempt: called };
  }
  if (amounts.length > 0) return { type: 'differs', fields: amounts };
  const attempts = latestAttempt === null ? earlierAttempts : [...earlierAttempts, latestAttempt];
  const attempt = attempts.findLast((one) => isStartedBy(one, call, order));
  return attempt === undefined ? { type: 'start' } : { type: 'repeat', attempt };
}

/**
 * Whether the call started the attempt. An attempt of the checkout page also counts while it runs and after the order has
 * ended. Otherwise the call would prompt the same phone again, or prompt for an order that has ended.
 */
function isStartedBy(attempt: PaymentAttempt, { phone, paymentOption }: DirectCall, order: Order): boolean {
  if (!isSameOrErased(attempt.phone, phone.e164) || attempt.paymentOption !== paymentOption) return false;
  return attempt.origin === 'DIRECT' || isInFlight(attempt) || order.status !== 'PENDING';
}

const fieldIfDifferent = (field: string, isSame: boolean): readonly string[] => (isSame ? [] : [field]);

function amountFields(one: Money, other: Money): readonly string[] {
  if (Money.equal(one, other)) return [];
  if (one.currency.code === other.currency.code) return ['amount'];
  return one.text === other.text ? ['currency'] : ['amount', 'currency'];
}
