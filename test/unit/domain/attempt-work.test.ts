import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { AttemptWork } from '../../../src/core/domain/attempt-work.ts';
import { decideLease, canMakeDue } from '../../../src/core/domain/attempt-work.ts';
import type {
  OrderStatus,
  PaymentAttemptStatus,
  PaymentType,
  StrayMoney,
} from '../../../src/core/domain/order.ts';
import { buildAttempt, buildOrder, buildStrayMoney, buildWork, expiresAt } from './build-order.ts';
import { orderHistories } from './order-histories.ts';
import { forAll } from '../../support/for-all.ts';

const now = new Date('2026-03-01T12:05:00.000Z');
const before = new Date(now.getTime() - 1);
const after = new Date(now.getTime() + 1);
const leaseMs = 30_000;

interface State {
  readonly attempt: PaymentAttemptStatus;
  readonly order?: OrderStatus;
  readonly paymentType?: PaymentType;
  readonly work?: Partial<AttemptWork>;
  readonly strayMoney?: readonly StrayMoney[];
  readonly now?: Date;
}

function lease(state: State) {
  const attempt = buildAttempt({ status: state.attempt });
  const order = buildOrder({
    status: state.order ?? 'PENDING',
    paymentType: state.paymentType ?? 'API',
    attemptCount: 1,
    latestAttempt: attempt,
    strayMoney: state.strayMoney ?? [],
  });
  const promptUntil = new Date('2026-03-01T12:07:00.000Z');
  const work = buildWork({ attempt, dueAt: now, promptUntil, ...state.work });
  return decideLease(order, work, leaseMs, state.now ?? now);
}

/** Order, attempt and events, and for a lease whether the wallet may already know the request. */
function summaryOf(state: State): string {
  const decided = lease(state);
  if (!decided.ok) return decided.error;
  const { order, attempt, changed, lease: given } = decided.value;
  const events = (changed?.events ?? []).map(({ type }) => type).join('+');
  const leased = given === undefined ? 'no lease' : given.sentBefore ? 'ask first' : 'send';
  return [order.status, attempt.status, events, leased].filter((word) => word !== '').join(' ');
}

describe('a lease', () => {
  const held = [buildStrayMoney()];
  const lapsed = { leaseId: 'earlier', leasedUntil: before };
  const promptOver = { promptUntil: now };
  const sessionOver = { now: expiresAt, work: { promptUntil: new Date(expiresAt.getTime() + 1) } };
  const maybeSent = { maybeSent: true };
  const directPromptOver = { paymentType: 'DIRECT', work: promptOver } as const;
  const askFirst = 'PENDING SENT ask first';
  const timedOut = 'PENDING TIMED_OUT PAYMENT_DECLINED no lease';
  const directTimedOut = 'FAILED TIMED_OUT FAILED no lease';
  test.each<[string, PaymentAttemptStatus, Omit<State, 'attempt'>, string]>([
    ['of a new attempt sends it', 'REQUESTED', {}, 'PENDING SENT send'],
    ['at its due time', 'SENT', { work: { dueAt: now } }, 'PENDING SENT send'],
    ['before its due time', 'SENT', { work: { dueAt: after } }, 'not_due'],
    ['of a settled attempt', 'SUCCEEDED', { order: 'COMPLETED', work: { dueAt: null } }, 'not_due'],
    ['while another is valid', 'SENT', { work: { leaseId: 'a', leasedUntil: after } }, 'not_due'],
    ['after another has expired', 'SENT', { work: lapsed }, askFirst],
    ['after the wallet was reached', 'SENT', { work: maybeSent }, askFirst],
    ['of a new attempt after its prompt', 'REQUESTED', { work: promptOver }, timedOut],
    ['of a new direct attempt after its prompt', 'REQUESTED', directPromptOver, directTimedOut],
    ['of a new attempt after its session', 'REQUESTED', sessionOver, 'PENDING REQUESTED no lease'],
    ['of an unsent attempt after its session', 'SENT', sessionOver, timedOut],
    ['of a sent attempt after its session', 'SENT', { now: expiresAt, work: maybeSent }, askFirst],
    ['of a new attempt while money is held', 'REQUESTED', { strayMoney: held }, timedOut],
    ['of an unsent attempt while money is held', 'SENT', { strayMoney: held }, timedOut],
    [
      'of an ended attempt, after a hint about it',
      'DECLINED',
      { work: maybeSent },
      'PENDING DECLINED ask first',
    ],
    ['of an attempt that ended unsent', 'TIMED_OUT', {}, 'PENDING TIMED_OUT no lease'],
  ])('%s', (_, attempt, state, expected) => {
    expect(summaryOf({ attempt, ...state })).toBe(expected);
  });

  test('of an attempt that was not sent in time ends it with an event that says so', () => {
    expect(lease({ attempt: 'SENT', now: expiresAt })).toMatchObject({
      value: { changed: { events: [{ decision: { command: 'time_out_attempt', isUnsent: true } }] } },
    });
  });

  test('lasts as long as requested, and allows a repeated request until the prompt ends or money is found', () => {
    const foundAt = new Date('2026-03-01T12:06:00.000Z');
    const sent = { attempt: 'SENT', work: { maybeSent: true } } as const;

    expect(lease(sent)).toMatchObject({
      ok: true,
      value: {
        changed: undefined,
        lease: {
          leasedUntil: new Date('2026-03-01T12:05:30.000Z'),
          promptUntil: new Date('2026-03-01T12:07:00.000Z'),
        },
      },
    });
    expect(lease({ ...sent, strayMoney: [buildStrayMoney({ foundAt })] })).toMatchObject({
      ok: true,
      value: { lease: { promptUntil: foundAt } },
    });
  });
});

test.each<[PaymentAttemptStatus, boolean, boolean]>([
  ['REQUESTED', false, true],
  ['SENT', true, true],
  ['UNKNOWN', true, true],
  ['DECLINED', true, true],
  ['TIMED_OUT', true, true],
  ['TIMED_OUT', false, false],
  ['SUCCEEDED', true, false],
])(
  'a hint about an attempt that is %s and maybe sent (%s) makes it due: %s',
  (status, maybeSent, expected) => {
    expect(canMakeDue({ attempt: buildAttempt({ status }), maybeSent })).toBe(expected);
  },
);

forAll([orderHistories], { numRuns: 500 })(
  'in every history, money that a wallet reports pays the order or is stray, and one payment completes it',
  ({ order, told }) => {
    expect(told.filter((one) => one === 'payment')).toHaveLength(order.status === 'COMPLETED' ? 1 : 0);
    expect(told.filter((one) => one === 'neither' || one === 'both')).toEqual([]);
  },
);

forAll([orderHistories], { numRuns: 500 })(
  'in every history, a wallet can have been called only under a lease',
  ({ sentUnleased }) => {
    expect(sentUnleased).toBe(false);
  },
);

test('the histories reach payments, stray money and every end of an order', () => {
  const sample = fc.sample(orderHistories, { numRuns: 1_000, seed: 1 });

  expect(new Set(sample.flatMap(({ told }) => told))).toEqual(new Set(['payment', 'stray']));
  expect(new Set(sample.map(({ order }) => order.status))).toEqual(
    new Set(['PENDING', 'COMPLETED', 'FAILED', 'EXPIRED']),
  );
});
