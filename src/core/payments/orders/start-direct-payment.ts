import { rpcError } from '../../../contract/error-reason.ts';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import { invalidFields } from '../../../platform/rpc/rpc-error.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
import type { Changed, Order, OrderFacts, OrderInFull, PaymentAttempt } from '../../domain/order.ts';
import { followedBy, registerOrder } from '../../domain/order.ts';
import { answerDirectPayment } from '../../domain/taken-order-number.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import type { CommandOf, RejectionOf } from '../../domain/transition.ts';
import { transition } from '../../domain/transition.ts';
import type { FindMerchant } from '../../merchants/find-merchant.ts';
import { requireMerchant } from '../../merchants/find-merchant.ts';
import { optionIssues, payableIssues } from '../../domain/merchant-terms.ts';
import type { AskedPhone, PhoneLimit } from '../phones/phone-limit.ts';
import type { DirectPayment } from './order-requests.ts';
import type { CallScope } from '../changes/add-orders.ts';
import type { AttemptIds } from '../changes/attempt-ids.ts';
import type { ClaimPayments } from '../changes/claim-payments.ts';
import { decisionOf } from '../changes/change-orders.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { orderOfId } from '../changes/read-order.ts';
import type { LockOrder } from '../changes/read-order.ts';
import { commitOf, executeIn } from '../idempotency/keyed-calls.ts';
import type { KeyedCall } from '../idempotency/keyed-calls.ts';
import type { Wallet } from '../../domain/wallet.ts';
import type { FindOrder } from '../search/find-order.ts';
import { recovering } from '../../database/payment-gate.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { findTaken, issueOfDifferent, issueOfEnded, orderNumberTaken } from './register-order.ts';

export interface StartedPayment {
  readonly order: Order;
  readonly attempt: PaymentAttempt;
  /** Whether an identical call had already started the attempt. The customer is then not prompted again. */
  readonly repeated: boolean;
}

/** With `keyed`, the answer is stored with the attempt. */
export type StartDirectPayment = (
  payment: DirectPayment,
  scope: CallScope,
  keyed?: KeyedCall<StartedPayment>,
) => Promise<StartedPayment>;

export interface StartDirectPaymentParts {
  readonly changes: Pick<OrderChanges, 'add' | 'addPaying' | 'change'>;
  readonly attemptIds: AttemptIds;
  readonly claims: Pick<ClaimPayments, 'isPaid' | 'claim'>;
  readonly findOrder: FindOrder;
  readonly findMerchant: FindMerchant;
  readonly phoneLimit: PhoneLimit;
  /** Limits the payments that wait for the locks of existing orders, by merchant and environment. */
  readonly fairly: FairCalls;
  readonly gate: Pick<PaymentGate, 'isOpen'>;
  readonly wallets: readonly Wallet[];
  readonly newId: NewId;
  readonly now: () => Date;
}

/**
 * Commits a payment attempt on a new DIRECT order. If a PENDING order with this order_number, amount and currency
 * exists and nothing is in flight, the attempt belongs to that order. A repeat returns the attempt of the first call
 * and the order's present state. Errors: those of registering an order; INVALID_FIELDS for an option outside the
 * merchant's terms, or whose wallet does not take the money; PAYMENT_IN_PROGRESS; MONEY_NOT_RETURNED; ORDER_NOT_PAYABLE; PHONE_BUSY, PHONE_LIMIT; RECOVERING for a
 * new attempt while the gateway recovers from a restore.
 */
export function createStartDirectPayment(parts: StartDirectPaymentParts): StartDirectPayment {
  const { changes, attemptIds, claims, findOrder, findMerchant, phoneLimit, fairly, gate, wallets } = parts;
  const { newId, now } = parts;

  /** The attempt on an existing order. Without `start`, it only finds a repeat. */
  const startOn = async (
    existing: Order,
    payment: DirectPayment,
    start: StartPayment | undefined,
    { requestId, signal }: CallScope,
    keyed: KeyedCall<StartedPayment> | undefined,
  ): Promise<Result<StartedPayment, StartRefusal>> => {
    // Most of these calls need no lock, because the order's answer to a call never changes back.
    const known = answerDirectPayment(existing, [], payment);
    if (known.type === 'repeat') return ok({ order: existing, attempt: known.attempt, repeated: true });
    if (known.type === 'differs') return err({ type: 'differs', issue: issueOfDifferent(existing, known) });
    const lock = orderOfId(existing);
    const locked: LockOrder = async (em) => {
      await keyed?.claim(executeIn(em));
      return lock(em);
    };
    const change = () =>
      changes.change(locked, {
        requestId,
        read: () => undefined,
        decide: (order, _context, now) =>
          decideStart(
            order,
            payment,
            start === undefined
              ? undefined
              : { ...start, attemptId: attemptIds.next(order, order.attemptCount + 1, now) },
            now,
          ),
        async write(em, { changed, repeat }) {
          const result = repeat ?? { ...attemptOn(changed.order), repeated: false };
          await keyed?.store(executeIn(em), result);
          return result;
        },
      });
    // The share comes before the phone's turn, so that a payment that waits for its merchant's share delays no other merchant's
    // payment of the phone.
    const started = await fairly(`${existing.environment} ${existing.merchantId}`, signal, () =>
      start === undefined ? change() : phoneLimit.inTurn(phoneOf(payment), change),
    );
    if (started.ok) return started;
    if (started.error === 'not_found') throw new Error(`there is no order ${existing.id}`);
    return err(started.error);
  };

  return async (payment, scope, keyed) => {
    const terms = await requireMerchant(findMerchant, payment.merchantId, payment.environment);
    const { merchantId, environment, orderNumber } = payment;
    const findExisting = () =>
      findOrder({ merchantId, environment, by: 'order_number', value: orderNumber }, scope);
    const issues = [
      ...optionIssues(terms, environment, payment.paymentOption),
      ...payableIssues(terms, environment, payment.amount, wallets, payment.paymentOption),
    ];
    const refused = (): Error => (issues.length > 0 ? invalidFields(issues) : recovering());
    if (issues.length > 0 || !gate.isOpen(environment)) {
      const existing = await findExisting();
      if (existing === undefined || answerDirectPayment(existing, [], payment).type === 'differs')
        throw refused();
      const repeat = await startOn(existing, payment, undefined, scope, keyed);
      if (!repeat.ok) throw refused();
      return repeat.value;
    }
    const createdAt = now();
    const facts = directOrderFacts(payment, newId('ord', createdAt), createdAt, terms.sessionLifetimeMs);
    const start: StartPayment = {
      type: 'start_payment',
      attemptId: attemptIds.next(facts, 1, createdAt),
      origin: 'DIRECT',
      paymentOption: payment.paymentOption,
      phone: payment.phone,
    };

    // The order was paid before it was lost. It gets its payment, and this call is then a repeat.
    if (await claims.isPaid(facts)) {
      await changes.add(registerOrder(facts), scope);
      await claims.claim(await findTaken(findOrder, facts, scope), scope.requestId);
    }
    const inserted = await phoneLimit.inTurn(phoneOf(payment), async () => {
      const created = startOnNewOrder(facts, start, createdAt);
      const { attempt } = attemptOn(created.order);
      const first = { order: created.order, attempt, repeated: false };
      const added = await changes.addPaying(created, attempt, scope, commitOf(keyed, first));
      if (added === 'added') return first;

      // A busy phone blocks new prompts only. A repeat or a refusal by the order gets its own answer.
      const existing = added === 'taken' ? await findTaken(findOrder, facts, scope) : await findExisting();
      if (existing === undefined) throw added === 'taken' ? notThere(facts) : phoneLimit.refusal(added);
      return { existing };
    });
    if (!('existing' in inserted)) return inserted;
    const started = await startOn(inserted.existing, payment, start, scope, keyed);
    if (started.ok) return started.value;
    throw started.error.type === 'new_call' ? notThere(facts) : refusal(started.error);
  };
}

const phoneOf = ({ merchantId, environment, phone }: DirectPayment): AskedPhone => ({
  ...{ merchantId, environment, phone: phone.e164, network: null },
});

type StartPayment = CommandOf<'start_payment'>;
type StartRejection = RejectionOf<'start_payment'>;
type StartRefusal =
  | StartRejection
  /** The order_number belongs to an order with other values. */
  | { readonly type: 'differs'; readonly issue: string }
  /** The call is not a repeat, and starting a payment was not allowed. */
  | { readonly type: 'new_call' };
type DecidedStart =
  | { readonly changed: Changed; readonly repeat?: undefined }
  | { readonly changed: undefined; readonly repeat: StartedPayment };

function decideStart(
  order: OrderInFull,
  payment: DirectPayment,
  start: StartPayment | undefined,
  now: Date,
): Result<DecidedStart, StartRefusal> {
  const answer = answerDirectPayment(order, order.earlierAttempts, payment);
  switch (answer.type) {
    case 'repeat':
      return ok({ changed: undefined, repeat: { order, attempt: answer.attempt, repeated: true } });
    case 'differs':
      return err({ type: 'differs', issue: issueOfDifferent(order, answer) });
    case 'start':
      return start === undefined ? err({ type: 'new_call' }) : decisionOf(transition(order, start, now));
  }
}

const notThere = ({ id }: OrderFacts): Error =>
  new Error(`order ${id} could not be inserted, and no other explains it`);

/** The facts of a direct payment's order. It has no page, so it needs no reason and no return URL. */
function directOrderFacts(
  payment: DirectPayment,
  id: PublicId<'ord'>,
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

function startOnNewOrder(facts: OrderFacts, start: StartPayment, now: Date): Changed {
  const registered = registerOrder(facts);
  const started = transition(registered.order, start, now);
  if (!started.ok) throw new Error(`a new order refused its first payment: ${started.error.type}`);
  return followedBy(registered, started.value);
}

function attemptOn(order: Order): { order: Order; attempt: PaymentAttempt } {
  if (order.latestAttempt === null) throw new Error(`order ${order.id} has no attempt`);
  return { order, attempt: order.latestAttempt };
}

function refusal(rejection: Exclude<StartRefusal, { readonly type: 'new_call' }>): Error {
  const refuse = (
    reason: 'PAYMENT_IN_PROGRESS' | 'MONEY_NOT_RETURNED' | 'ORDER_NOT_PAYABLE',
    issue: string,
  ): Error => rpcError(reason, `order_number ${issue}`, { issues: [{ field: 'order_number', issue }] });
  switch (rejection.type) {
    case 'differs':
      return orderNumberTaken(rejection.issue);
    case 'order_is_final':
      return orderNumberTaken(issueOfEnded(rejection.status));
    case 'payment_in_progress':
      return refuse('PAYMENT_IN_PROGRESS', 'has another payment in progress; wait for its outcome');
    case 'money_not_returned':
      return refuse(
        'MONEY_NOT_RETURNED',
        'belongs to an order whose earlier payment took money that has not been returned yet; ' +
          'wait until it is returned, or ask the operator of the gateway',
      );
    case 'too_many_attempts':
      return refuse('ORDER_NOT_PAYABLE', `has been tried ${rejection.limit} times; use a new order_number`);
    case 'session_ended':
      return refuse(
        'ORDER_NOT_PAYABLE',
        'belongs to an order whose payment session has ended; use a new order_number',
      );
    case 'option_not_allowed':
      return refuse(
        'ORDER_NOT_PAYABLE',
        'belongs to an order that does not accept this payment_option; choose another one',
      );
  }
}
