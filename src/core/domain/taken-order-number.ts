import { Money } from './money.ts';
import type { Order, OrderFacts, OrderStatus, PaymentAttempt, PaymentOption } from './order.ts';
import { isInFlight } from './order.ts';
import type { PhoneNumber } from './phone-number.ts';

/*
 * What a request is answered whose order_number has an order already. The order_number is the natural key of a request:
 * the answer to a lost answer is the same answer, and never a second prompt.
 */

/** The order has other values than the request, in these fields of the merchant API. */
export interface DiffersFromOrder {
  readonly type: 'differs';
  readonly fields: readonly string[];
}

/** What registering an order_number again comes to. */
export type RegistrationAnswer =
  | { readonly type: 'repeat' }
  /** The same registration of an order that cannot be paid any more: a new try needs a new order_number. */
  | { readonly type: 'ended'; readonly status: Extract<OrderStatus, 'FAILED' | 'EXPIRED'> }
  | DiffersFromOrder;

/** A registration, with the session's length when the request asks for one. */
export interface AskedRegistration {
  readonly facts: OrderFacts;
  readonly sessionLifetimeMs: number | undefined;
}

/**
 * Everything that the merchant sent counts; the amount by value and the phone by its E.164 form, so "100" repeats "100.00".
 * A session's length counts when the request asks for one: the merchant's own may have changed since.
 */
export function answerRegistration(
  order: Order,
  { facts, sessionLifetimeMs }: AskedRegistration,
): RegistrationAnswer {
  const lifetimeMs = order.expiresAt.getTime() - order.createdAt.getTime();
  // A link without a phone gets that of its first attempt, and is still the same link.
  const isPhoneSame =
    facts.customerPhone.e164 === '' || order.customerPhone.e164 === facts.customerPhone.e164;
  const fields = [
    ...amountFields(order.amount, facts.amount),
    ...differing('payment_type', order.paymentType === facts.paymentType),
    ...differing('customer_phone', isPhoneSame),
    ...differing('reason', order.reason === facts.reason),
    ...differing('business_name', order.businessName === facts.businessName),
    ...differing('return_url', order.returnUrl === facts.returnUrl),
    ...differing('webhook_url', order.webhookUrl === facts.webhookUrl),
    ...differing('session_lifetime', sessionLifetimeMs === undefined || sessionLifetimeMs === lifetimeMs),
  ];
  if (fields.length > 0) return { type: 'differs', fields };
  return order.status === 'FAILED' || order.status === 'EXPIRED'
    ? { type: 'ended', status: order.status }
    : { type: 'repeat' };
}

/** What a direct payment says. */
export interface DirectCall {
  readonly amount: Money;
  readonly phone: PhoneNumber;
  readonly paymentOption: PaymentOption;
}

/** What a direct payment on a taken order_number comes to. */
export type DirectAnswer =
  /** The call was made before and started this attempt: its order is the answer, however it stands. */
  | { readonly type: 'repeat'; readonly attempt: PaymentAttempt }
  /** The call is new to its registered order, which `transition` may let it pay. */
  | { readonly type: 'start' }
  | DiffersFromOrder;

/**
 * A DIRECT order repeats the call that made it, and nothing else. On a registered order a direct call is known by its
 * phone and payment option: it is the same call as long as that order lives, even after its attempt has ended. So another
 * try needs another phone, option or order_number, or the checkout page; what it never needs is luck with lost answers.
 */
export function answerDirectPayment(
  order: Order,
  earlierAttempts: readonly PaymentAttempt[],
  call: DirectCall,
): DirectAnswer {
  const amounts = amountFields(order.amount, call.amount);
  const { latestAttempt } = order;
  if (order.paymentType === 'DIRECT' && latestAttempt !== null) {
    const fields = [
      ...amounts,
      ...differing('phone', latestAttempt.phone === call.phone.e164),
      ...differing('payment_option', latestAttempt.paymentOption === call.paymentOption),
    ];
    return fields.length > 0 ? { type: 'differs', fields } : { type: 'repeat', attempt: latestAttempt };
  }
  if (amounts.length > 0) return { type: 'differs', fields: amounts };
  const attempts = latestAttempt === null ? earlierAttempts : [...earlierAttempts, latestAttempt];
  const attempt = attempts.findLast((one) => isStartedBy(one, call, order));
  return attempt === undefined ? { type: 'start' } : { type: 'repeat', attempt };
}

/**
 * Whether the call is the one that started the attempt. An attempt of the checkout page counts while it runs and once the
 * order has ended: the call would prompt the same phone for the same order, or for one that needs no prompt any more.
 */
function isStartedBy(attempt: PaymentAttempt, { phone, paymentOption }: DirectCall, order: Order): boolean {
  if (attempt.phone !== phone.e164 || attempt.paymentOption !== paymentOption) return false;
  return attempt.origin === 'DIRECT' || isInFlight(attempt) || order.status !== 'PENDING';
}

const differing = (field: string, isSame: boolean): readonly string[] => (isSame ? [] : [field]);

function amountFields(one: Money, other: Money): readonly string[] {
  if (Money.equal(one, other)) return [];
  if (one.currency.code === other.currency.code) return ['amount'];
  return one.text === other.text ? ['currency'] : ['amount', 'currency'];
}
