import type { EntityManager } from '@mikro-orm/postgresql';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import { readTakesPayments } from '../../database/takes-payments.sql.ts';
import type { Order, OrderInFull, PaymentOption } from '../../domain/order.ts';
import { isInFlight } from '../../domain/order.ts';
import type { PhoneNumber } from '../../domain/phone-number.ts';
import type { StoredPromptKind } from '../../domain/prompt-allowance.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import { transition } from '../../domain/transition.ts';
import type { CommandOf } from '../../domain/transition.ts';
import { optionsThatTake, promptsPhone } from '../../domain/wallet.ts';
import type { Wallet } from '../../domain/wallet.ts';
import type { AttemptIds } from '../changes/attempt-ids.ts';
import { decisionOf } from '../changes/change-orders.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { noSecondPaymentMinutes, readOpenPayments } from '../changes/open-payments.sql.ts';
import type { Decision } from '../changes/order-change.ts';
import { byOrderId } from '../changes/read-order.ts';
import type { TriedCall } from '../changes/share-change.ts';
import type { AskedPhone, PhoneLimit, PhoneRefusal } from '../phones/phone-limit.ts';
import { browserHashOf, isUsableBy, nameOf, ownerOf } from './checkout-order.ts';
import type { PaymentRefusal } from './checkout-refusals.ts';
import type { TokenSubject } from './checkout-token.ts';

/** A payment that a browser asks for. */
export interface PayingCall {
  readonly subject: TokenSubject;
  readonly browserSecret: string;
  readonly paymentOption: PaymentOption;
  readonly phone: PhoneNumber;
  /** The same phone, with the network that asks. */
  readonly asked: AskedPhone;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/** Returns the order with the new attempt, or as it is if the same payment is already in flight. */
export type StartCheckoutPayment = (
  call: PayingCall,
) => Promise<Result<OrderInFull, PaymentRefusal | 'not_found'>>;

export interface StartCheckoutPaymentParts {
  readonly changes: Pick<OrderChanges, 'share'>;
  readonly attemptIds: AttemptIds;
  readonly phoneLimit: PhoneLimit;
  /** Limits the payments of a checkout that wait for their order with a connection. */
  readonly fairly: FairCalls;
  readonly wallets: readonly Wallet[];
}

/** Starts payments of checkouts. Payments that arrive together share a transaction. @throws PHONE_BUSY, PHONE_LIMIT, OVERLOADED */
export function createStartCheckoutPayment(parts: StartCheckoutPaymentParts): StartCheckoutPayment {
  const { changes, phoneLimit, fairly, wallets } = parts;
  return changes.share({
    orders: byOrderId,
    nameOf: ({ subject }: PayingCall) => nameOf(subject),
    requestIdOf: ({ requestId }) => requestId,
    networkOf: ({ asked }) => asked.network,
    // Anyone with the link may send payments for many phones at once. A call that waits for its order has left the turn of its phone, so
    // that it delays no other merchant's payment of that phone.
    alone: ({ subject, signal }, make) => fairly(ownerOf(subject), signal, make),
    inTurn: ({ asked, paymentOption }, make) =>
      promptsPhone(wallets, paymentOption)
        ? phoneLimit.inTurn(asked, async () => orThrow(phoneLimit, await make()))
        : make(),
    load: async (em, calls, rows) => ({
      takes: await readTakesPayments(em),
      isPayerPaying: await readOpenPayments(em, wallets, rows, noSecondPaymentMinutes),
      phones: await reservePhones(em, parts, calls),
    }),
    read: () => undefined,
    decide(order, _none, now, { row, call, loaded }): Result<Decision, PaymentRefusal> {
      const { browserSecret } = call;
      if (!isUsableBy(row, browserSecret)) return err('in_use');
      const isBound = row.checkoutBrowserHash != null;
      const decided = decidePayment(parts, call, order, {
        isBound,
        takesPayments: loaded.takes.of(row.environment, row.merchantId),
        isPayerPaying: loaded.isPayerPaying(order),
        phoneAnswer: loaded.phones.get(call) ?? { type: 'elsewhere' },
        now,
      });
      if (!decided.ok) return decided;
      return ok({ ...decided.value, browserHash: isBound ? undefined : browserHashOf(browserSecret) });
    },
    write: (_em, { changed }, { order }) => changed?.order ?? order,
  });
}

/** The right of a payment to prompt its phone. */
type PhoneAnswer = { readonly type: 'allowed'; readonly kind: StoredPromptKind } | PhoneRefusal;
const noPrompt: PhoneAnswer = { type: 'allowed', kind: 'NO_PROMPT' };

/** Reserves the phones that the payments prompt, for the transaction. */
async function reservePhones(
  em: EntityManager,
  { phoneLimit, wallets }: StartCheckoutPaymentParts,
  calls: readonly PayingCall[],
): Promise<ReadonlyMap<PayingCall, PhoneAnswer>> {
  const answers = new Map<PayingCall, PhoneAnswer>(calls.map((call) => [call, noPrompt]));
  const prompting = calls.filter(({ paymentOption }) => promptsPhone(wallets, paymentOption));
  if (prompting.length === 0) return answers;
  const phones = prompting.map(({ asked }) => asked);
  const reserved = await phoneLimit.reserveIn(em, phones);
  for (const [index, call] of prompting.entries())
    answers.set(call, reserved[index] ?? { type: 'elsewhere' });
  return answers;
}

/** Throws the refusal of a phone. If another core holds the phone for a moment, the turn of the phone then tries again. */
function orThrow<Made extends TriedCall<unknown, PaymentRefusal>>(phoneLimit: PhoneLimit, made: Made): Made {
  if (typeof made === 'string' || made.ok || typeof made.error === 'string') return made;
  if (made.error.type === 'phone_refused') throw phoneLimit.refusal(made.error.answer);
  return made;
}

/** The values that the transaction has read beside the order. `isBound`: whether the checkout is bound to a browser, which is then the caller's. */
interface PaymentState {
  readonly isBound: boolean;
  readonly takesPayments: boolean;
  readonly isPayerPaying: boolean;
  readonly phoneAnswer: PhoneAnswer;
  readonly now: Date;
}

function decidePayment(
  { wallets, attemptIds }: StartCheckoutPaymentParts,
  { paymentOption, phone }: PayingCall,
  order: OrderInFull,
  { isBound, takesPayments, isPayerPaying, phoneAnswer, now }: PaymentState,
): Result<Decision, PaymentRefusal> {
  // No browser started a payment of an unbound order. An answer that depends on the phone would tell anyone with the link which phone pays.
  if (isBound && isSamePayment(order, paymentOption, phone)) return ok({ changed: undefined });
  if (isPayerPaying) return err('payer_pays');
  // Core notices a restore seconds later, and the order may have been paid in the lost time.
  if (!takesPayments) return err('may_be_paid');
  if (optionsThatTake(wallets, [paymentOption], order.amount).length === 0) return err('not_offered');
  const start: CommandOf<'start_payment'> = {
    type: 'start_payment',
    attemptId: attemptIds.next(order, order.attemptCount + 1, now),
    origin: 'CHECKOUT',
    paymentOption,
    phone,
  };
  const started = decisionOf(transition(order, start, now));
  if (!started.ok) return started;
  if (phoneAnswer.type !== 'allowed') return err({ type: 'phone_refused', answer: phoneAnswer });
  return ok({ ...started.value, promptKind: phoneAnswer.kind });
}

/** A double click or a repeated form: the requested payment is already in flight. */
function isSamePayment({ latestAttempt }: Order, option: PaymentOption, { e164 }: PhoneNumber): boolean {
  if (latestAttempt === null) return false;
  const { paymentOption, phone } = latestAttempt;
  return isInFlight(latestAttempt) && paymentOption === option && phone === e164;
}
