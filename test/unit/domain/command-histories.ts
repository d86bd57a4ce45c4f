import fc from 'fast-check';
import type { AttemptId } from '../../../src/core/domain/order.ts';
import type { Money } from '../../../src/core/domain/money.ts';
import {
  type Changed,
  type OrderEvent,
  type OrderInFull,
  type PaymentType,
  registerOrder,
} from '../../../src/core/domain/order.ts';
import type { Result } from '../../../src/core/domain/result.ts';
import { type Command, type Rejection, transition } from '../../../src/core/domain/transition.ts';
import { buildFacts, money, phone, registeredAt } from './build-order.ts';

/** One command of a history, and its effect. */
export interface Step {
  readonly before: OrderInFull;
  readonly command: Command;
  readonly now: Date;
  readonly result: Result<Changed, Rejection>;
  /** The order before the next command. */
  readonly after: OrderInFull;
}

/** Histories of an order under commands at any time, in any sequence, about any attempt. */
export interface History {
  readonly steps: readonly Step[];
  readonly events: readonly OrderEvent[];
  readonly order: OrderInFull;
}

/** A command without its attempt, and the time after the previous one. */
interface Move {
  readonly about: 'latest' | 'earlier';
  readonly seconds: number;
  readonly commandFor: (attemptId: AttemptId, nextAttemptId: AttemptId) => Command;
}

function starting(paymentOption: 'walleta_ussd' | 'walletb_ussd' | 'walleta_wallet'): Move['commandFor'] {
  return (_, attemptId) => ({
    type: 'start_payment',
    attemptId,
    origin: 'CHECKOUT',
    paymentOption,
    phone: phone('0911223344'),
  });
}

function confirming(debited: Money): Move['commandFor'] {
  return (attemptId) => ({ type: 'confirm_attempt', attemptId, debited });
}

function receiving(debited: Money): Move['commandFor'] {
  return (_, attemptId) => ({ type: 'receive_payment', attemptId, paymentOption: 'walleta_ussd', debited });
}

function declining(reason: 'wrong_pin' | 'declined_by_payer'): Move['commandFor'] {
  return (attemptId) => ({ type: 'decline_attempt', attemptId, reason });
}

const sending: Move['commandFor'] = (attemptId) => ({ type: 'send_attempt', attemptId });
const losing: Move['commandFor'] = (attemptId) => ({ type: 'lose_attempt', attemptId });
const timingOut: Move['commandFor'] = (attemptId) => ({ type: 'time_out_attempt', attemptId });
const cancelling: Move['commandFor'] = () => ({ type: 'cancel' });
const expiring: Move['commandFor'] = () => ({ type: 'expire' });

const anyCommand: fc.Arbitrary<Move['commandFor']> = fc.oneof(
  fc.constantFrom('walleta_ussd', 'walletb_ussd', 'walleta_wallet').map(starting),
  fc.constantFrom(sending, losing, timingOut, cancelling, expiring),
  fc.constantFrom(money('100.50'), money('100.5'), money('100.51'), money('100.50', 'USD')).map(confirming),
  fc.constantFrom('wrong_pin', 'declined_by_payer').map(declining),
  fc.constantFrom(money('100.50'), money('100.51'), money('100.50', 'USD')).map(receiving),
);

const anyMove: fc.Arbitrary<readonly Move[]> = fc
  .record({
    about: fc.constantFrom('latest', 'latest', 'latest', 'earlier'),
    seconds: fc.integer({ min: 0, max: 600 }),
    commandFor: anyCommand,
  })
  .map((move) => [move]);

/** Random commands rarely reach a fifth attempt, so complete attempts that the wallet declines are mixed in. */
const declinedTry: fc.Arbitrary<readonly Move[]> = fc.integer({ min: 0, max: 90 }).map((seconds) =>
  [starting('walletb_ussd'), sending, declining('wrong_pin')].map((commandFor) => ({
    about: 'latest',
    seconds,
    commandFor,
  })),
);

export const histories: fc.Arbitrary<History> = fc
  .tuple(
    fc.constantFrom<PaymentType>('API', 'LINK', 'QR', 'DIRECT'),
    fc.array(fc.oneof(anyMove, declinedTry), { maxLength: 30, size: 'max' }),
  )
  .map(([paymentType, moves]) => live(paymentType, moves.flat()));

/** Attempt ids count up (pat_1, pat_2…), so that a command can name an earlier one. */
function live(paymentType: PaymentType, sequence: readonly Move[]): History {
  const registered = registerOrder(buildFacts({ paymentType }));
  const steps: Step[] = [];
  let order = registered.order;
  let time = registeredAt.getTime();
  for (const { about, seconds, commandFor } of sequence) {
    time += seconds * 1000;
    const now = new Date(time);
    const number = about === 'latest' ? order.attemptCount : order.attemptCount - 1;
    const command = commandFor(`pat_${number}`, `pat_${order.attemptCount + 1}`);
    const before = order;
    const result = transition(before, command, now);
    if (result.ok) order = result.value.order;
    steps.push({ before, command, now, result, after: order });
  }
  const later = steps.flatMap(({ result }) => (result.ok ? result.value.events : []));
  return { steps, events: [...registered.events, ...later], order };
}
