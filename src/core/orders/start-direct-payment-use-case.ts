import { invalidFields, rpcError } from '../../runtime/rpc/rpc-error.ts';
import type { NewId } from '../../runtime/public-id.ts';
import { Money } from '../domain/money.ts';
import type { Changed, Order, OrderFacts, PaymentAttempt } from '../domain/order.ts';
import { isInFlight, registerOrder } from '../domain/order.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import type { Command, Rejection } from '../domain/transition.ts';
import { transition } from '../domain/transition.ts';
import type { FindMerchant } from '../merchants/find-merchant-use-case.ts';
import { requireMerchant } from '../merchants/find-merchant-use-case.ts';
import { amountIssues, optionIssues } from '../domain/merchant-terms.ts';
import type { PhoneLimit } from '../payments/phone-limit-use-case.ts';
import { phoneRefusal } from '../payments/phone-limit-use-case.ts';
import type { DirectPayment } from './order-requests.ts';
import type { CallScope, OrderStore } from './order-store.ts';
import { findTaken, orderNumberTaken } from './register-order-use-case.ts';

export interface StartedPayment {
  readonly order: Order;
  readonly attempt: PaymentAttempt;
  /** Whether the same payment was running already; then nobody is prompted again. */
  readonly repeated: boolean;
}

export type StartDirectPayment = (payment: DirectPayment, scope: CallScope) => Promise<StartedPayment>;

export interface StartDirectPaymentParts {
  readonly store: OrderStore;
  readonly findMerchant: FindMerchant;
  readonly phoneLimit: PhoneLimit;
  readonly newId: NewId;
  readonly now: () => Date;
}

/**
 * Commits a payment attempt: on a new DIRECT order, or on the PENDING order that has this order_number, amount and
 * currency and no attempt in flight. A repeat of the payment that is in flight gives that one again.
 * Errors: those of registering an order; INVALID_FIELDS for an option that the merchant's terms leave out; PAYMENT_IN_PROGRESS; ORDER_NOT_PAYABLE; PHONE_BUSY, PHONE_LIMIT.
 */
export function createStartDirectPayment(parts: StartDirectPaymentParts): StartDirectPayment {
  const { store, findMerchant, phoneLimit, newId, now } = parts;
  return async (payment, scope) => {
    const terms = await requireMerchant(findMerchant, payment.merchantId, payment.environment);
    const issues = [
      ...optionIssues(terms, payment.environment, payment.paymentOption),
      ...amountIssues(terms, payment.amount),
    ];
    if (issues.length > 0) {
      const { merchantId, environment, orderNumber: value } = payment;
      const order = await store.find({ merchantId, environment, by: 'order_number', value }, scope);
      const running =
        order && Money.equal(order.amount, payment.amount) ? repeatOf(order, payment) : undefined;
      if (running === undefined) throw invalidFields(issues);
      return running;
    }
    const createdAt = now();
    const facts = directOrderFacts(payment, newId('ord', createdAt), createdAt, terms.sessionLifetimeMs);
    const start: Command = {
      type: 'start_payment',
      attemptId: newId('pat', createdAt),
      paymentOption: payment.paymentOption,
      phone: payment.phone,
    };

    const asked = { ...payment, phone: payment.phone.e164 };
    return phoneLimit.inTurn(asked, async () => {
      const created = mustStart(startOnNewOrder(facts, start, createdAt));
      const { attempt } = attemptOn(created.order);
      const inserted = await store.insertWithAttempt(created, attempt, scope);
      if (inserted === 'inserted') return { order: created.order, attempt, repeated: false };
      if (inserted !== 'taken' && (await wouldPrompt(store, payment, scope))) throw phoneRefusal(inserted);

      const existing = await findTaken(store, facts, scope);
      if (!Money.equal(existing.amount, payment.amount)) throw orderNumberTaken(existing);
      const running = repeatOf(existing, payment);
      if (running !== undefined) return running;
      const started = await store.change(
        existing,
        (order) => {
          // Another request may have started the same payment since the order was read.
          const repeat = repeatOf(order, payment);
          return repeat === undefined ? mapRefusal(transition(order, start, now())) : err({ repeat });
        },
        scope,
      );
      if (started.ok) return { ...attemptOn(started.value.order), repeated: false };
      if ('repeat' in started.error) return started.error.repeat;
      throw refusal(existing, started.error.rejection);
    });
  };
}

/**
 * Whether the payment would have the phone asked once more. A repeat would not, nor would one that its order refuses
 * anyway: those hear of their own payment or of what is wrong, and not of the phone that is busy with it.
 */
async function wouldPrompt(store: OrderStore, payment: DirectPayment, scope: CallScope): Promise<boolean> {
  const { merchantId, environment, orderNumber } = payment;
  const same = await store.find({ merchantId, environment, by: 'order_number', value: orderNumber }, scope);
  if (same === undefined) return true;
  const runs = same.latestAttempt !== null && isInFlight(same.latestAttempt);
  return same.status === 'PENDING' && Money.equal(same.amount, payment.amount) && !runs;
}

type Refused = { readonly repeat: StartedPayment } | { readonly rejection: Rejection };

function mapRefusal(result: Result<Changed, Rejection>): Result<Changed, Refused> {
  return result.ok ? result : err({ rejection: result.error });
}

/** A direct payment says no more of its order than this: there is no page to show a reason on or to return from. */
function directOrderFacts(
  payment: DirectPayment,
  id: string,
  createdAt: Date,
  lifetimeMs: number,
): OrderFacts {
  return {
    id,
    merchantId: payment.merchantId,
    environment: payment.environment,
    orderNumber: payment.orderNumber,
    amount: payment.amount,
    paymentType: 'DIRECT',
    customerPhone: payment.phone,
    reason: '',
    businessName: '',
    returnUrl: '',
    webhookUrl: '',
    createdAt,
    expiresAt: new Date(createdAt.getTime() + lifetimeMs),
  };
}

function startOnNewOrder(facts: OrderFacts, start: Command, now: Date): Result<Changed, Rejection> {
  const registered = registerOrder(facts);
  const started = transition(registered.order, start, now);
  if (!started.ok) return started;
  return ok({ order: started.value.order, events: [...registered.events, ...started.value.events] });
}

function mustStart(result: Result<Changed, Rejection>): Changed {
  if (!result.ok) throw new Error(`a new order refused its first payment: ${result.error.type}`);
  return result.value;
}

function attemptOn(order: Order): { order: Order; attempt: PaymentAttempt } {
  if (order.latestAttempt === null) throw new Error(`order ${order.id} has no attempt`);
  return { order, attempt: order.latestAttempt };
}

/** The running payment that this one repeats: same option, same phone, amount already compared. */
function repeatOf(order: Order, payment: DirectPayment): StartedPayment | undefined {
  const attempt = order.latestAttempt;
  if (order.status !== 'PENDING' || attempt === null || !isInFlight(attempt)) return undefined;
  if (attempt.paymentOption !== payment.paymentOption || attempt.phone !== payment.phone.e164)
    return undefined;
  return { order, attempt, repeated: true };
}

function refusal(order: Order, rejection: Rejection) {
  const refuse = (reason: 'PAYMENT_IN_PROGRESS' | 'ORDER_NOT_PAYABLE', issue: string) =>
    rpcError(reason, `order_number ${issue}`, { issues: [{ field: 'order_number', issue }] });
  switch (rejection.type) {
    case 'order_is_final':
      return orderNumberTaken({ ...order, status: rejection.status });
    case 'payment_in_progress':
      return refuse('PAYMENT_IN_PROGRESS', 'has another payment in progress; wait for its outcome');
    case 'too_many_attempts':
      return refuse('ORDER_NOT_PAYABLE', `has been tried ${rejection.limit} times; use a new one`);
    case 'session_ended':
      return refuse(
        'ORDER_NOT_PAYABLE',
        'belongs to an order whose payment session has ended; use a new one',
      );
    case 'option_not_allowed':
    case 'session_not_ended':
    case 'unknown_attempt':
    case 'attempt_is_final':
    case 'attempt_not_sent':
    case 'attempt_already_sent':
    case 'amount_mismatch':
      return new Error(`starting a payment cannot be refused for ${rejection.type}`);
  }
}
