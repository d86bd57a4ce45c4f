import type { AttemptId } from '../../../src/core/domain/order.ts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
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
import { buildFacts, expiresAt, money, phone, registeredAt } from './build-order.ts';

/** One command of a history and what it did. */
interface Step {
  readonly before: OrderInFull;
  readonly command: Command;
  readonly now: Date;
  readonly result: Result<Changed, Rejection>;
  /** The order that the next command meets. */
  readonly after: OrderInFull;
}

/** An order's life under commands that come at any time, in any order, about any attempt. */
interface History {
  readonly steps: readonly Step[];
  readonly events: readonly OrderEvent[];
  readonly order: OrderInFull;
}

/** A command without the attempt it is about, and how long after the last one it comes. */
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
  return (_, attemptId) => ({
    type: 'receive_payment',
    attemptId,
    paymentOption: 'walleta_ussd',
    debited,
  });
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

/** Pure chance rarely gets as far as a fifth attempt, so whole tries that the wallet declines are mixed in. */
const declinedTry: fc.Arbitrary<readonly Move[]> = fc.integer({ min: 0, max: 90 }).map((seconds) =>
  [starting('walletb_ussd'), sending, declining('wrong_pin')].map((commandFor) => ({
    about: 'latest',
    seconds,
    commandFor,
  })),
);

const histories: fc.Arbitrary<History> = fc
  .tuple(
    fc.constantFrom<PaymentType>('API', 'LINK', 'QR', 'DIRECT'),
    fc.array(fc.oneof(anyMove, declinedTry), { maxLength: 30, size: 'max' }),
  )
  .map(([paymentType, moves]) => live(paymentType, moves.flat()));

/** Attempt ids count up: pat_1, pat_2… so that an earlier one is known. */
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

function always(property: (history: History) => void): void {
  fc.assert(fc.property(histories, property), { numRuns: 500 });
}

describe('in every history of an order', () => {
  test('the events are numbered 1, 2, 3… without a gap and the order knows the last', () => {
    always(({ events, order }) => {
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
      expect(order.lastEventSequence).toBe(events.length);
    });
  });

  test('a command gives at most one event, which holds the order and the status before', () => {
    always(({ steps }) => {
      for (const { before, now, result } of steps) {
        if (!result.ok) continue;
        const { order, events } = result.value;
        expect(events.length).toBeLessThanOrEqual(1);
        for (const event of events) {
          expect(event).toMatchObject({ order, occurredAt: now, previousStatus: before.status });
          if (event.attempt !== null) expect(event.attempt).toBe(order.latestAttempt);
        }
      }
    });
  });

  test('a change of status gives the event of that name, and only this event', () => {
    always(({ steps }) => {
      for (const { before, result, after } of steps) {
        const told = result.ok ? result.value.events.map(({ type }) => type) : [];
        const ends = told.filter((type) => type === 'COMPLETED' || type === 'FAILED' || type === 'EXPIRED');
        expect(ends).toEqual(before.status === after.status ? [] : [after.status]);
      }
    });
  });

  test('a final status is never left, and nothing about the order changes any more', () => {
    always(({ steps }) => {
      for (const { before, result } of steps) {
        if (before.status === 'PENDING') continue;
        expect(result).toEqual({ ok: false, error: { type: 'order_is_final', status: before.status } });
      }
    });
  });

  test('at most one attempt succeeds, and the order is COMPLETED exactly then, by its exact amount', () => {
    always(({ steps, order }) => {
      const succeeded = steps.filter(
        ({ result }) => result.ok && result.value.order.latestAttempt?.status === 'SUCCEEDED',
      );
      expect(succeeded).toHaveLength(order.status === 'COMPLETED' ? 1 : 0);
      expect(order.deductedMinorUnits).toBe(order.status === 'COMPLETED' ? 10_050n : 0n);
    });
  });

  test('the order never fails or expires while an attempt may still take money', () => {
    always(({ steps }) => {
      for (const { before, command, after } of steps) {
        if (after.status === before.status || after.status === 'COMPLETED') continue;
        expect([undefined, 'DECLINED', 'TIMED_OUT']).toContain(after.latestAttempt?.status);
        const mayHoldMoney = ['SENT', 'UNKNOWN'].includes(before.latestAttempt?.status ?? '');
        const walletSaidNo = ['decline_attempt', 'time_out_attempt'].includes(command.type);
        expect(mayHoldMoney).toBe(walletSaidNo);
      }
    });
  });

  test('an attempt starts in time, after the one before ended without money, at most five times; so does received money, at any time', () => {
    always(({ steps, order }) => {
      const started = steps.filter(({ command, result }) => command.type === 'start_payment' && result.ok);
      for (const { before, now } of started) {
        expect(now.getTime()).toBeLessThan(expiresAt.getTime());
        expect([undefined, 'DECLINED', 'TIMED_OUT']).toContain(before.latestAttempt?.status);
      }
      const received = steps.filter(({ command, result }) => command.type === 'receive_payment' && result.ok);
      for (const { before } of received)
        expect([undefined, 'DECLINED', 'TIMED_OUT']).toContain(before.latestAttempt?.status);
      expect(started.length + received.length).toBe(order.attemptCount);
      expect(order.attemptCount).toBeLessThanOrEqual(order.paymentType === 'DIRECT' ? 1 : 5);
    });
  });

  test('the order expires only once its session is over', () => {
    always(({ events }) => {
      const expired = events.filter(({ type }) => type === 'EXPIRED');
      for (const { occurredAt } of expired) {
        expect(occurredAt.getTime()).toBeGreaterThanOrEqual(expiresAt.getTime());
      }
    });
  });

  test('updatedAt moves with the status and with nothing else', () => {
    always(({ steps }) => {
      for (const { before, now, after } of steps) {
        expect(after.updatedAt).toEqual(after.status === before.status ? before.updatedAt : now);
      }
    });
  });

  test('what was registered never changes', () => {
    always(({ order }) => {
      expect(order).toMatchObject(buildFacts({ paymentType: order.paymentType }));
    });
  });

  test('deciding changes nothing that was given, and decides the same again', () => {
    always(({ steps }) => {
      for (const { before, command, now, result } of steps) {
        const copy = structuredClone(before);
        expect(transition(before, command, now)).toEqual(result);
        expect(before).toEqual(copy);
      }
    });
  });
});

test('the histories reach every status, every event and five attempts', () => {
  const sample = fc.sample(histories, { numRuns: 1_000, seed: 1 });

  expect(new Set(sample.map(({ order }) => order.status))).toEqual(
    new Set(['PENDING', 'COMPLETED', 'FAILED', 'EXPIRED']),
  );
  expect(new Set(sample.flatMap(({ events }) => events.map(({ type }) => type)))).toEqual(
    new Set(['CREATED', 'PAYMENT_STARTED', 'PAYMENT_DECLINED', 'COMPLETED', 'FAILED', 'EXPIRED']),
  );
  expect(Math.max(...sample.map(({ order }) => order.attemptCount))).toBe(5);
});
