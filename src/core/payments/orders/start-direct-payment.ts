import { rpcError } from '../../../contract/error-reason.ts';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import { invalidFields } from '../../../platform/rpc/rpc-error.ts';
import type { NewId, PublicId } from '../../../contract/public-id.ts';
import type {
  AttemptId,
  Changed,
  Order,
  OrderFacts,
  OrderInFull,
  PaymentAttempt,
} from '../../domain/order.ts';
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
import { executeIn } from '../idempotency/keyed-calls.ts';
import type { KeyedCall } from '../idempotency/keyed-calls.ts';
import type { Wallet } from '../../domain/wallet.ts';
import { noSecondPaymentMinutes, readOpenPayments } from '../changes/open-payments.sql.ts';
import type { FindOrder } from '../search/find-order.ts';
import { recovering } from '../../database/payment-gate.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { readTakesPayments } from '../../database/takes-payments.sql.ts';
import {
  addPaidOrder,
  findByNumber,
  findTaken,
  issueOfDifferent,
  issueOfEnded,
  orderNumberTaken,
} from './taken-order.ts';

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
  readonly gate: Pick<PaymentGate, 'isOpenFor'>;
  readonly wallets: readonly Wallet[];
  readonly newId: NewId;
  readonly now: () => Date;
}

/** A direct payment, and the call that asks for it. */
interface PaymentCall {
  readonly payment: DirectPayment;
  readonly scope: CallScope;
  readonly keyed: KeyedCall<StartedPayment> | undefined;
}

/**
 * Commits a payment attempt on a new DIRECT order. If a PENDING order with this order_number, amount and currency
 * exists and nothing is in flight, the attempt belongs to that order. A repeat returns the attempt of the first call
 * and the order's present state. Errors: those of registering an order; INVALID_FIELDS for an option outside the
 * merchant's terms, or whose wallet does not take the money; PAYMENT_IN_PROGRESS; MONEY_NOT_RETURNED; ORDER_NOT_PAYABLE;
 * PHONE_BUSY, PHONE_LIMIT; RECOVERING for a new attempt while the gateway recovers from a restore.
 */
export function createStartDirectPayment(parts: StartDirectPaymentParts): StartDirectPayment {
  const { attemptIds, claims, findMerchant, phoneLimit, gate, wallets, newId, now } = parts;
  return async (payment, scope, keyed) => {
    const { merchantId, environment, amount, paymentOption } = payment;
    const call = { payment, scope, keyed };
    const terms = await requireMerchant(findMerchant, merchantId, environment);
    const issues = [
      ...optionIssues(terms, environment, paymentOption),
      ...payableIssues(terms, environment, amount, wallets, paymentOption),
    ];
    if (issues.length > 0) return repeatOrThrow(parts, call, invalidFields(issues));
    if (!gate.isOpenFor(environment, merchantId)) return repeatOrThrow(parts, call, recovering());

    const createdAt = now();
    const facts = directOrderFacts(payment, newId('ord', createdAt), createdAt, terms.sessionLifetimeMs);
    // A restore may have lost this order after it was paid. It is added again with its payment, and this call then counts as a repeat.
    if (await claims.isPaid(facts)) await addPaidOrder(parts, registerOrder(facts), scope);
    const created = startOnNewOrder(facts, startOf(payment, attemptIds.next(facts, 1, createdAt)));
    const first = newlyStarted(created.order);
    const existing = await phoneLimit.inTurn(phoneOf(payment), () =>
      addUnlessTaken(parts, call, created, first),
    );
    return existing === undefined ? first : startOnExisting(parts, call, existing);
  };
}

/** The answer to the repeat of an earlier call. @throws `refused` for any other call, which may not start a payment */
async function repeatOrThrow(
  parts: StartDirectPaymentParts,
  call: PaymentCall,
  refused: Error,
): Promise<StartedPayment> {
  const { payment, scope } = call;
  const existing = await findByNumber(parts.findOrder, payment, scope);
  if (existing === undefined) throw refused;
  const known = answerDirectPayment(existing, [], payment);
  if (known.type === 'repeat') return repeatedPayment(existing, known.attempt);
  if (known.type === 'differs') throw refused;
  const found = await inShare(parts, call, () =>
    decideLocked(parts, call, existing, (order) => decideRepeat(order, payment)),
  );
  if (!found.ok) throw refused;
  return found.value;
}

/** Adds the order with its attempt. Returns the order that holds its order_number instead, if there is one. */
async function addUnlessTaken(
  { changes, findOrder, phoneLimit }: StartDirectPaymentParts,
  { payment, scope, keyed }: PaymentCall,
  created: Changed,
  first: StartedPayment,
): Promise<Order | undefined> {
  const added = await changes.addPaying(created, first.attempt, scope, keyed?.inStatement(first));
  if (added === 'added') return undefined;
  if (added === 'taken') return findTaken(findOrder, created.order, scope);
  // A busy phone blocks new prompts only. A repeat or a refusal by the order gets its own answer.
  const existing = await findByNumber(findOrder, payment, scope);
  if (existing === undefined) throw phoneLimit.refusal(added);
  return existing;
}

/** Starts the payment on an existing order. The answer to a repeat is the attempt that the first call started. */
async function startOnExisting(
  parts: StartDirectPaymentParts,
  call: PaymentCall,
  existing: Order,
): Promise<StartedPayment> {
  const { payment } = call;
  // Most of these calls need no lock, because no later change of the order makes a repeat or a differing call anything else.
  const known = answerDirectPayment(existing, [], payment);
  if (known.type === 'repeat') return repeatedPayment(existing, known.attempt);
  if (known.type === 'differs') throw orderNumberTaken(issueOfDifferent(existing, known));
  const start = () =>
    decideLocked(parts, call, existing, (order, state, now) =>
      decideStart(parts.attemptIds, order, payment, state, now),
    );
  // The call waits for its merchant's share first, and then for the turn of the phone. In the other order, it would hold up other
  // merchants' payments of that phone.
  const started = await inShare(parts, call, () => parts.phoneLimit.inTurn(phoneOf(payment), start));
  if (!started.ok) throw refusalError(started.error);
  return started.value;
}

/** Runs in the share of the merchant and environment. */
const inShare = <T>(
  { fairly }: StartDirectPaymentParts,
  { payment: { environment, merchantId }, scope }: PaymentCall,
  run: () => Promise<T>,
): Promise<T> => {
  const { signal, maxWaitMs } = scope;
  return fairly({ owner: `${environment} ${merchantId}`, maxWaitMs }, signal, run);
};

const phoneOf = ({ merchantId, environment, phone }: DirectPayment): AskedPhone => ({
  merchantId,
  environment,
  phone: phone.e164,
  network: null,
});

/** The values that the transaction has read about the order beside its rows. */
interface StartState {
  readonly takesPayments: boolean;
  readonly isPayerPaying: (order: Order) => boolean;
}

/** Decides under the order's lock. The answer of a keyed call is committed with the decision. */
async function decideLocked<Refusal>(
  { changes, wallets }: StartDirectPaymentParts,
  { scope, keyed }: PaymentCall,
  existing: Order,
  decide: (order: OrderInFull, state: StartState, now: Date) => Result<DecidedStart, Refusal>,
): Promise<Result<StartedPayment, Refusal>> {
  const lockOrder = orderOfId(existing);
  const lock: LockOrder = async (em) => {
    await keyed?.lock(executeIn(em));
    return lockOrder(em);
  };
  const decided = await changes.change(lock, {
    requestId: scope.requestId,
    // Core notices a restore seconds later, and the order may have been paid in the lost time.
    read: async (em, { row }) => ({
      takesPayments: (await readTakesPayments(em)).of(row.environment, row.merchantId),
      isPayerPaying: await readOpenPayments(em, wallets, [row], noSecondPaymentMinutes),
    }),
    decide,
    async write(em, { changed, repeat }) {
      const result = repeat ?? newlyStarted(changed.order);
      await keyed?.store(executeIn(em), result);
      return result;
    },
  });
  if (decided.ok) return decided;
  if (decided.error === 'not_found') throw new Error(`there is no order ${existing.id}`);
  return err(decided.error);
}

type StartRefusal =
  | RejectionOf<'start_payment'>
  /** A restore may have lost the order's payment. */
  | { readonly type: 'recovering' }
  /** The payer pays it from the menu of the phone, and the wallet has not confirmed that yet. */
  | { readonly type: 'payer_pays' }
  /** The order_number belongs to an order with other values. */
  | { readonly type: 'differs'; readonly issue: string };
type DecidedStart =
  | { readonly changed: Changed; readonly repeat?: undefined }
  | { readonly changed: undefined; readonly repeat: StartedPayment };

function decideStart(
  attemptIds: AttemptIds,
  order: OrderInFull,
  payment: DirectPayment,
  { takesPayments, isPayerPaying }: StartState,
  now: Date,
): Result<DecidedStart, StartRefusal> {
  const answer = answerDirectPayment(order, order.earlierAttempts, payment);
  switch (answer.type) {
    case 'repeat':
      return ok({ changed: undefined, repeat: repeatedPayment(order, answer.attempt) });
    case 'differs':
      return err({ type: 'differs', issue: issueOfDifferent(order, answer) });
    case 'start': {
      if (!takesPayments) return err({ type: 'recovering' });
      if (isPayerPaying(order)) return err({ type: 'payer_pays' });
      const attemptId = attemptIds.next(order, order.attemptCount + 1, now);
      return decisionOf(transition(order, startOf(payment, attemptId), now));
    }
  }
}

function decideRepeat(order: OrderInFull, payment: DirectPayment): Result<DecidedStart, 'new_call'> {
  const answer = answerDirectPayment(order, order.earlierAttempts, payment);
  if (answer.type !== 'repeat') return err('new_call');
  return ok({ changed: undefined, repeat: repeatedPayment(order, answer.attempt) });
}

const startOf = (
  { paymentOption, phone }: DirectPayment,
  attemptId: AttemptId,
): CommandOf<'start_payment'> => ({
  type: 'start_payment',
  attemptId,
  origin: 'DIRECT',
  paymentOption,
  phone,
});

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

function startOnNewOrder(facts: OrderFacts, start: CommandOf<'start_payment'>): Changed {
  const registered = registerOrder(facts);
  const started = transition(registered.order, start, facts.createdAt);
  if (!started.ok) throw new Error(`a new order refused its first payment: ${started.error.type}`);
  return followedBy(registered, started.value);
}

function newlyStarted(order: Order): StartedPayment {
  if (order.latestAttempt === null) throw new Error(`order ${order.id} has no attempt`);
  return { order, attempt: order.latestAttempt, repeated: false };
}

const repeatedPayment = (order: Order, attempt: PaymentAttempt): StartedPayment => ({
  order,
  attempt,
  repeated: true,
});

function refusalError(rejection: StartRefusal): Error {
  const refuse = (
    reason: 'PAYMENT_IN_PROGRESS' | 'MONEY_NOT_RETURNED' | 'ORDER_NOT_PAYABLE',
    issue: string,
  ): Error => rpcError(reason, `order_number ${issue}`, { issues: [{ field: 'order_number', issue }] });
  switch (rejection.type) {
    case 'recovering':
      return recovering();
    case 'differs':
      return orderNumberTaken(rejection.issue);
    case 'order_is_final':
      return orderNumberTaken(issueOfEnded(rejection.status));
    case 'payer_pays':
    case 'payment_in_progress':
      return refuse('PAYMENT_IN_PROGRESS', 'has another payment in progress; wait for its outcome');
    case 'money_not_returned':
      return refuse(
        'MONEY_NOT_RETURNED',
        'belongs to an order whose earlier payment took money that has not been returned yet; ' +
          'wait until it is returned, or ask the operator of the gateway',
      );
    case 'too_many_attempts':
      return refuse(
        'ORDER_NOT_PAYABLE',
        `belongs to an order that has used all of its ${rejection.limit} payment attempts; use a new order_number`,
      );
    case 'session_ended':
      return refuse(
        'ORDER_NOT_PAYABLE',
        'belongs to an order whose payment session has expired; use a new order_number',
      );
    case 'option_not_allowed':
      return refuse(
        'ORDER_NOT_PAYABLE',
        'belongs to an order that does not accept this payment_option; choose another one',
      );
  }
}
