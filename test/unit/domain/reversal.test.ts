import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type Reversal,
  type ReversalOutcome,
  beginReversal,
  leaseReversal,
  makeReversalDue,
  markNotReturnable,
  recordReversalOutcome,
  retryReversal,
  settleReversal,
} from '../../../src/core/domain/reversal.ts';
import { valueOf } from './build-order.ts';

const start = Date.UTC(2026, 0, 31);
const at = (seconds: number) => new Date(start + seconds * 1000);
const leaseMs = 60_000;

const pending = (providerReference = ''): ReversalOutcome => ({
  type: 'pending',
  providerReference,
  detail: 'busy',
});
const notSent: ReversalOutcome = { type: 'not_sent', detail: 'no connection' };
const done: ReversalOutcome = { type: 'done' };
const refused = (definite: boolean): ReversalOutcome => ({
  type: 'refused',
  reason: 'account_state',
  detail: 'closed',
  definite,
});

const free = beginReversal('name-1', at(0));
const leased = valueOf(leaseReversal(free, 'lease-1', leaseMs, at(0))).reversal;
const after = (outcome: ReversalOutcome) =>
  valueOf(recordReversalOutcome(leased, 'lease-1', outcome, at(1))).reversal;

const states: Record<string, Reversal> = {
  free,
  leased,
  pending: after(pending('rv-1')),
  reversed: after(done),
  unreturnable: markNotReturnable(free, at(0)),
  'refused definitely': after(refused(true)),
  'refused perhaps': after(refused(false)),
};

describe('each state answers each command', () => {
  test.each<[string, string, string, string, string, string, 'same' | 'told' | 'due']>([
    // state, lease at once, lease when it is due, report under lease-1, report under another, retry, hint after 2 seconds
    ['free', 'leased', 'leased', 'lease_lost', 'lease_lost', 'under_way', 'same'],
    ['leased', 'not_due', 'leased', 'recorded', 'lease_lost', 'under_way', 'told'],
    ['pending', 'not_due', 'leased', 'repeat', 'lease_lost', 'under_way', 'due'],
    ['reversed', 'not_due', 'not_due', 'repeat', 'lease_lost', 'reversed', 'same'],
    ['unreturnable', 'not_due', 'not_due', 'lease_lost', 'lease_lost', 'not_returnable', 'same'],
    ['refused definitely', 'not_due', 'not_due', 'repeat', 'lease_lost', 'name-2', 'same'],
    ['refused perhaps', 'not_due', 'not_due', 'repeat', 'lease_lost', 'name-1', 'same'],
  ])('%s', (name, early, due, reported, stray, retried, hinted) => {
    const state = states[name] ?? free;
    const lease = (seconds: number) => {
      const result = leaseReversal(state, 'lease-2', leaseMs, at(seconds));
      return result.ok ? 'leased' : result.error;
    };
    const report = (leaseId: string) => {
      const result = recordReversalOutcome(state, leaseId, done, at(60));
      if (!result.ok) return result.error;
      if (!result.value.isRepeat) return 'recorded';
      expect(result.value.reversal).toBe(state);
      return 'repeat';
    };
    const retry = retryReversal(state, 'name-2', at(60));

    expect([lease(0), lease(60), report('lease-1'), report('lease-2')]).toEqual([
      early,
      due,
      reported,
      stray,
    ]);
    expect(retry.ok ? retry.value.name : retry.error).toBe(retried);
    const changes = { same: {}, told: { hastenedTo: at(2) }, due: { dueAt: at(2) } };
    expect(makeReversalDue(state, at(2))).toEqual({ ...state, ...changes[hinted] });
  });
});

test('an answer changes only the fields that it decides', () => {
  expect(leased).toEqual({
    ...free,
    leaseId: 'lease-1',
    isLeased: true,
    tries: 1,
    maybeSent: true,
    askedSince: at(0),
    dueAt: at(60),
  });
  expect(after(pending('rv-1'))).toEqual({
    ...leased,
    isLeased: false,
    providerReference: 'rv-1',
    detail: 'busy',
    dueAt: at(3),
    updatedAt: at(1),
  });
  const again = valueOf(leaseReversal(after(pending('rv-1')), 'lease-2', leaseMs, at(3))).reversal;
  expect(valueOf(recordReversalOutcome(again, 'lease-2', pending(''), at(4))).reversal).toMatchObject({
    providerReference: 'rv-1',
  });
  expect(after(notSent)).toEqual({
    ...leased,
    isLeased: false,
    maybeSent: false,
    askedSince: null,
    detail: 'no connection',
    dueAt: at(3),
    updatedAt: at(1),
  });
  const { dueAt, isLeased, hastenedTo, ...request } = leased;
  expect([dueAt, isLeased, hastenedTo]).toEqual([at(60), true, null]);
  expect(after(done)).toEqual({ ...request, status: 'REVERSED', updatedAt: at(1) });
  const words = { detail: 'closed', refusalReason: 'account_state' };
  const no = { ...request, ...words, status: 'REVERSAL_REFUSED', updatedAt: at(1) };
  expect(after(refused(true))).toEqual({ ...no, maybeSent: false, askedSince: null });
  expect(after(refused(false))).toEqual({ ...no, maybeSent: true });
});

test('a retry after a definite refusal starts again under a new reference, and after another refusal keeps the known facts', () => {
  const again = (state: Reversal) => valueOf(retryReversal(state, 'name-2', at(9)));
  const due = {
    status: 'REVERSAL_DUE',
    detail: 'closed',
    refusalReason: '',
    dueAt: at(9),
    isLeased: false,
    hastenedTo: null,
    updatedAt: at(9),
  };

  expect(again(after(refused(true)))).toEqual({ ...free, ...due, leaseId: 'lease-1', name: 'name-2' });
  expect(again(after(refused(false)))).toMatchObject({
    ...due,
    ...{ name: 'name-1', tries: 0, maybeSent: true, askedSince: at(9) },
  });
});

test.each([
  [
    'is queried after 2 to 3600 seconds, then every hour',
    pending(),
    [2, 5, 10, 30, 60, 300, 900, 3600, 3600, 3600],
  ],
  ['that got no request is tried every minute', notSent, [2, 5, 10, 30, 60, 60, 60, 60, 60, 60]],
  [
    "that got no request with a merchant's own account is tried every hour",
    { ...notSent, isOwnAccount: true },
    [2, 5, 10, 30, 60, 300, 900, 3600, 3600, 3600],
  ],
])('a wallet that does not decide %s', (_, outcome, expected) => {
  let reversal: Reversal = free;
  const waits = Array.from({ length: 10 }, (_, index) => {
    const now = at(index * 10_000);
    const { reversal: taken } = valueOf(leaseReversal(reversal, `lease-${index}`, leaseMs, now));
    ({ reversal } = valueOf(recordReversalOutcome(taken, `lease-${index}`, outcome, now)));
    return reversal.status === 'REVERSAL_DUE' ? (reversal.dueAt.getTime() - now.getTime()) / 1000 : 0;
  });

  expect(waits).toEqual(expected);
});

test('a hint that arrives while a worker holds a reversal makes it due after the report, and only once', () => {
  const due = (reversal: Reversal) => (reversal.status === 'REVERSAL_DUE' ? reversal.dueAt : undefined);
  const told = [11, 1, 12].reduce<Reversal>((state, seconds) => makeReversalDue(state, at(seconds)), leased);
  const reported = valueOf(recordReversalOutcome(told, 'lease-1', pending(), at(0))).reversal;
  const again = valueOf(leaseReversal(reported, 'lease-2', leaseMs, at(5))).reversal;

  expect([due(told), due(reported)]).toEqual([at(60), at(1)]);
  expect(due(valueOf(recordReversalOutcome(again, 'lease-2', pending(), at(6))).reversal)).toEqual(at(11));
});

test('a wallet can request a longer wait than our own, of at most five minutes', () => {
  const dueAfter = (retryAfterMs: number, type: 'pending' | 'not_sent' = 'pending'): number => {
    const reversal = after({ type, providerReference: '', detail: 'busy', retryAfterMs });
    return reversal.status === 'REVERSAL_DUE' ? (reversal.dueAt.getTime() - at(1).getTime()) / 1000 : 0;
  };

  expect(dueAfter(90_000)).toBe(90);
  expect(dueAfter(90_000, 'not_sent')).toBe(90);
  expect(dueAfter(3_600_000)).toBe(300);
  expect(dueAfter(1_000)).toBe(2);
  expect(dueAfter(-5)).toBe(2);
});

describe('operators settle', () => {
  const hour = 3_600;
  const settled = (reversal: Reversal, seconds: number) => {
    const result = settleReversal(reversal, at(seconds));
    return result.ok ? result.value.status : result.error;
  };
  /** The reversal after leases that each end with this outcome, a minute apart. */
  const asked = (reversal: Reversal, times: number, outcome: ReversalOutcome, from: number): Reversal =>
    Array.from({ length: times }).reduce<Reversal>((state, _, index) => {
      const now = at(from + index * 60);
      const due = makeReversalDue(state, now);
      return valueOf(
        recordReversalOutcome(
          valueOf(leaseReversal(due, 'lease', leaseMs, now)).reversal,
          'lease',
          outcome,
          now,
        ),
      ).reversal;
    }, reversal);

  test('what the wallet refused, and nothing that was just requested', () => {
    expect(Object.entries(states).map(([name, state]) => [name, settled(state, hour)])).toEqual([
      ['free', 'decided'],
      ['leased', 'decided'],
      ['pending', 'decided'],
      ['reversed', 'decided'],
      ['unreturnable', 'REVERSED'],
      ['refused definitely', 'REVERSED'],
      ['refused perhaps', 'REVERSED'],
    ]);
    expect([free, after(notSent), after(done)].map((each) => settled(each, 9 * hour))).toEqual(
      Array(3).fill('decided'),
    );
  });

  test('what the wallet has not decided for more than an hour, however often it was queried', () => {
    const undecided = asked(free, 20, pending(), 0);
    const leasedAgain = valueOf(leaseReversal(undecided, 'lease', leaseMs, at(9 * hour))).reversal;

    expect([hour, hour + 1].map((seconds) => settled(undecided, seconds))).toEqual(['decided', 'REVERSED']);
    expect(valueOf(settleReversal(undecided, at(2 * hour)))).toMatchObject({
      detail: '',
      updatedAt: at(2 * hour),
    });
    expect([59, 60].map((seconds) => settled(leasedAgain, 9 * hour + seconds))).toEqual([
      'leased',
      'REVERSED',
    ]);
  });

  test.each([
    ['a retry', asked(valueOf(retryReversal(after(refused(false)), '', at(hour))), 1, pending(), hour)],
    ['tries that sent nothing', asked(asked(free, 20, notSent, 0), 1, pending(), hour)],
    ['a row of an earlier version', asked({ ...after(pending()), askedSince: null }, 1, pending(), hour)],
  ])('an hour after %s', (_, reversal) => {
    expect([hour + 1, 2 * hour + 1].map((seconds) => settled(reversal, seconds))).toEqual([
      'decided',
      'REVERSED',
    ]);
  });
});

type Move =
  | { readonly type: 'lease' }
  | { readonly type: 'report'; readonly by: 'latest' | 'earlier'; readonly outcome: ReversalOutcome }
  | { readonly type: 'retry' };

const moves: fc.Arbitrary<readonly { readonly seconds: number; readonly move: Move }[]> = fc.array(
  fc.record({
    seconds: fc.constantFrom(0, 1, 5, 59, 60, 3600),
    move: fc.oneof(
      { weight: 3, arbitrary: fc.constant<Move>({ type: 'lease' }) },
      {
        weight: 4,
        arbitrary: fc.record({
          type: fc.constant('report' as const),
          by: fc.constantFrom('latest' as const, 'latest' as const, 'earlier' as const),
          outcome: fc.constantFrom(pending(), pending('rv-1'), done, refused(true), refused(false)),
        }),
      },
      { weight: 2, arbitrary: fc.constant<Move>({ type: 'retry' }) },
    ),
  }),
  { maxLength: 40, size: 'max' },
);

interface Step {
  readonly before: Reversal;
  readonly move: Move;
  readonly now: Date;
  readonly after: Reversal;
  /** The report of a lease about the previous request. */
  readonly sentBefore?: boolean;
  /** The last answer under the name that the reversal had before the step; undefined while it may still arrive. */
  readonly lastAnswer: ReversalOutcome | undefined;
}

/** A reversal under commands at any time, in any sequence, from any worker. A command cannot change its input. */
function live(sequence: readonly { readonly seconds: number; readonly move: Move }[]): readonly Step[] {
  const steps: Step[] = [];
  let reversal: Reversal = Object.freeze(free);
  let lastAnswer: ReversalOutcome | undefined;
  let seconds = 0;
  let leases = 0;
  for (const { seconds: wait, move } of sequence) {
    seconds += wait;
    const now = at(seconds);
    const step = { before: reversal, move, now, lastAnswer };
    if (move.type === 'lease') {
      const result = leaseReversal(reversal, `lease-${leases + 1}`, leaseMs, now);
      if (result.ok) {
        leases += 1;
        reversal = Object.freeze(result.value.reversal);
        lastAnswer = undefined;
      }
      const sentBefore = result.ok ? { sentBefore: result.value.sentBefore } : {};
      steps.push({ ...step, ...sentBefore, after: reversal });
      continue;
    }
    if (move.type === 'report') {
      const leaseId = `lease-${move.by === 'latest' ? leases : leases - 1}`;
      const result = recordReversalOutcome(reversal, leaseId, move.outcome, now);
      if (result.ok && !result.value.isRepeat) {
        reversal = Object.freeze(result.value.reversal);
        lastAnswer = move.outcome;
      }
    } else {
      const result = retryReversal(reversal, `name-${steps.length + 2}`, now);
      if (result.ok) reversal = Object.freeze(result.value);
    }
    steps.push({ ...step, after: reversal });
  }
  return steps;
}

/** Asserts that no step of any history violates a rule. */
const never = (breaksTheRule: (step: Step) => boolean) => {
  fc.assert(
    fc.property(moves, (sequence) => {
      expect(live(sequence).find(breaksTheRule)).toBeUndefined();
    }),
    { numRuns: 200 },
  );
};

const isLeased = (reversal: Reversal) => reversal.status === 'REVERSAL_DUE' && reversal.isLeased;

describe('in every history of a reversal', () => {
  test('a reference is replaced only after a definite refusal', () => {
    never(
      ({ before, after: next, lastAnswer }) =>
        next.name !== before.name && !(lastAnswer?.type === 'refused' && lastAnswer.definite),
    );
  });

  test('a request is sent again only after a query, unless its reference is new', () => {
    never(({ before, sentBefore }) => sentBefore === false && before.tries > 0);
  });

  test('returned money does not change its state, and only a person ends a refusal', () => {
    never(({ before, after: next }) => before.status === 'REVERSED' && next !== before);
    never(
      ({ before, move, after: next }) =>
        before.status === 'REVERSAL_REFUSED' && next !== before && move.type !== 'retry',
    );
  });

  test('one worker has it at a time, and no worker reports without a lease or with an earlier one', () => {
    never(
      ({ before, move, now, after: next }) =>
        move.type === 'lease' && next !== before && before.status === 'REVERSAL_DUE' && before.dueAt > now,
    );
    never(
      ({ before, move, after: next }) =>
        move.type === 'report' && next !== before && (move.by === 'earlier' || !isLeased(before)),
    );
    never(({ move, before, after: next }) => next !== before && isLeased(next) !== (move.type === 'lease'));
  });

  test('a due reversal waits for at most an hour', () => {
    never(
      ({ now, before, after: next }) =>
        next !== before && next.status === 'REVERSAL_DUE' && next.dueAt.getTime() - now.getTime() > 3_600_000,
    );
  });
});

test('the histories reach every state, a second reference and a fifth attempt', () => {
  const all = fc.sample(moves, { numRuns: 300, seed: 1 }).flatMap(live);

  expect(new Set(all.map(({ after: { status } }) => status))).toEqual(
    new Set(['REVERSAL_DUE', 'REVERSED', 'REVERSAL_REFUSED']),
  );
  expect(all.some(({ after: { name } }) => name !== 'name-1')).toBe(true);
  expect(Math.max(...all.map(({ after: { tries } }) => tries))).toBeGreaterThanOrEqual(5);
});
