import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type Reversal,
  type ReversalOutcome,
  beginReversal,
  leaseReversal,
  recordReversalOutcome,
  retryReversal,
} from '../../../src/core/domain/reversal.ts';

const start = Date.UTC(2026, 0, 31);
const at = (seconds: number) => new Date(start + seconds * 1000);
const leaseMs = 60_000;

const pending = (providerReference = ''): ReversalOutcome => ({
  type: 'pending',
  providerReference,
  detail: 'busy',
});
const done: ReversalOutcome = { type: 'done' };
const refused = (definite: boolean): ReversalOutcome => ({ type: 'refused', detail: 'closed', definite });

function valueOf<T>(result: { ok: true; value: T } | { ok: false; error: string }): T {
  if (!result.ok) throw new Error(result.error);
  return result.value;
}

const free = beginReversal('name-1', at(0));
const leased = valueOf(leaseReversal(free, 'lease-1', leaseMs, at(0))).reversal;
const after = (outcome: ReversalOutcome) =>
  valueOf(recordReversalOutcome(leased, 'lease-1', outcome, at(1))).reversal;

const states: Record<string, Reversal> = {
  free,
  leased,
  pending: after(pending('rv-1')),
  reversed: after(done),
  'refused definitely': after(refused(true)),
  'refused perhaps': after(refused(false)),
};

describe('each state answers each command', () => {
  test.each([
    // state, lease at once, lease when its time has come, report under lease-1, report under another, retry
    ['free', 'leased', 'leased', 'lease_lost', 'lease_lost', 'under_way'],
    ['leased', 'not_due', 'leased', 'recorded', 'lease_lost', 'under_way'],
    ['pending', 'not_due', 'leased', 'repeat', 'lease_lost', 'under_way'],
    ['reversed', 'not_due', 'not_due', 'repeat', 'lease_lost', 'reversed'],
    ['refused definitely', 'not_due', 'not_due', 'repeat', 'lease_lost', 'name-2'],
    ['refused perhaps', 'not_due', 'not_due', 'repeat', 'lease_lost', 'name-1'],
  ])('%s', (name, early, due, reported, stray, retried) => {
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
  });
});

test('an answer leaves exactly the fields that it decides', () => {
  expect(leased).toEqual({
    ...free,
    leaseId: 'lease-1',
    isLeased: true,
    tries: 1,
    maybeSent: true,
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
  const { dueAt, isLeased, ...request } = leased;
  expect([dueAt, isLeased]).toEqual([at(60), true]);
  expect(after(done)).toEqual({ ...request, status: 'REVERSED', updatedAt: at(1) });
  const no = { ...request, status: 'REVERSAL_REFUSED', detail: 'closed', updatedAt: at(1) };
  expect(after(refused(true))).toEqual({ ...no, maybeSent: false });
  expect(after(refused(false))).toEqual({ ...no, maybeSent: true });
});

test('a retry after a definite no starts afresh under the new name; after another no it keeps what is known', () => {
  const again = (state: Reversal) => valueOf(retryReversal(state, 'name-2', at(9)));
  const due = { status: 'REVERSAL_DUE', detail: 'closed', dueAt: at(9), isLeased: false, updatedAt: at(9) };

  expect(again(after(refused(true)))).toEqual({ ...free, ...due, leaseId: 'lease-1', name: 'name-2' });
  expect(again(after(refused(false)))).toMatchObject({ ...due, name: 'name-1', tries: 1, maybeSent: true });
});

test('a wallet that does not decide is asked after 2, 5, 10, 30, 60, 300, 900 and 3600 seconds, then every hour', () => {
  let reversal: Reversal = free;
  const waits = Array.from({ length: 10 }, (_, index) => {
    const now = at(index * 10_000);
    const { reversal: taken } = valueOf(leaseReversal(reversal, `lease-${index}`, leaseMs, now));
    ({ reversal } = valueOf(recordReversalOutcome(taken, `lease-${index}`, pending(), now)));
    return reversal.status === 'REVERSAL_DUE' ? (reversal.dueAt.getTime() - now.getTime()) / 1000 : 0;
  });

  expect(waits).toEqual([2, 5, 10, 30, 60, 300, 900, 3600, 3600, 3600]);
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

/** A reversal under commands that come at any time, in any order, from any worker. */
function live(sequence: readonly { readonly seconds: number; readonly move: Move }[]) {
  const steps: { before: Reversal; move: Move; now: Date; after: Reversal; accepted: boolean }[] = [];
  let reversal: Reversal = free;
  let seconds = 0;
  let leases = 0;
  for (const { seconds: wait, move } of sequence) {
    seconds += wait;
    const now = at(seconds);
    const before = reversal;
    const frozen = structuredClone(before);
    let accepted: boolean;
    if (move.type === 'lease') {
      const result = leaseReversal(before, `lease-${leases + 1}`, leaseMs, now);
      accepted = result.ok;
      if (result.ok) {
        leases += 1;
        reversal = result.value.reversal;
        expect(result.value.sentBefore).toBe(before.maybeSent);
      }
    } else if (move.type === 'report') {
      const leaseId = `lease-${move.by === 'latest' ? leases : leases - 1}`;
      const result = recordReversalOutcome(before, leaseId, move.outcome, now);
      accepted = result.ok && !result.value.isRepeat;
      if (result.ok) reversal = result.value.reversal;
    } else {
      const result = retryReversal(before, `name-${steps.length + 2}`, now);
      accepted = result.ok;
      if (result.ok) reversal = result.value;
    }
    expect(before).toEqual(frozen);
    steps.push({ before, move, now, after: reversal, accepted });
  }
  return steps;
}

const always = (property: (steps: ReturnType<typeof live>) => void) => {
  fc.assert(
    fc.property(moves, (sequence) => {
      property(live(sequence));
    }),
    { numRuns: 300 },
  );
};

describe('in every history of a reversal', () => {
  test('a name is replaced only when the last answer to it was a definite no', () => {
    always((steps) => {
      let lastAnswer: ReversalOutcome | undefined;
      let isAsked = false;
      for (const { before, move, after: next, accepted } of steps) {
        if (next.name !== before.name) {
          expect(lastAnswer).toEqual(refused(true));
          expect(isAsked).toBe(false);
          lastAnswer = undefined;
        }
        if (!accepted) continue;
        if (move.type === 'lease') isAsked = true;
        if (move.type === 'report') {
          isAsked = false;
          lastAnswer = move.outcome;
        }
      }
    });
  });

  test('money that went back stays there, and a refusal is left by a person alone', () => {
    always((steps) => {
      for (const { before, move, after: next } of steps) {
        if (before.status === 'REVERSED') expect(next).toBe(before);
        if (before.status === 'REVERSAL_REFUSED' && next !== before) expect(move.type).toBe('retry');
      }
    });
  });

  test('one worker has it at a time, until its lease expires', () => {
    always((steps) => {
      let heldUntil = 0;
      for (const { move, now, after: next, accepted } of steps) {
        if (!accepted) continue;
        if (move.type === 'lease') {
          expect(now.getTime()).toBeGreaterThanOrEqual(heldUntil);
          heldUntil = now.getTime() + leaseMs;
        } else heldUntil = 0;
        if (next.status === 'REVERSAL_DUE') expect(next.isLeased).toBe(move.type === 'lease');
      }
    });
  });

  test('only the latest lease reports, and once', () => {
    always((steps) => {
      let mayReport = false;
      for (const { move, accepted } of steps) {
        if (move.type === 'report' && accepted) {
          expect(mayReport).toBe(true);
          expect(move.by).toBe('latest');
          mayReport = false;
        }
        if (move.type === 'lease' && accepted) mayReport = true;
      }
    });
  });

  test('a due reversal is leased within the hour after an answer, and counts its tries', () => {
    always((steps) => {
      for (const { before, move, now, after: next, accepted } of steps) {
        if (!accepted) {
          expect(next).toBe(before);
          continue;
        }
        if (next.status === 'REVERSAL_DUE')
          expect(next.dueAt.getTime() - now.getTime()).toBeLessThanOrEqual(3_600_000);
        if (move.type === 'lease') expect(next.tries).toBe(before.tries + 1);
        if (move.type !== 'lease') expect(next.updatedAt).toEqual(now);
      }
    });
  });
});

test('the histories reach every state, a second name and a fifth try', () => {
  const all = fc.sample(moves, { numRuns: 500, seed: 1 }).flatMap(live);

  expect(new Set(all.map(({ after: { status } }) => status))).toEqual(
    new Set(['REVERSAL_DUE', 'REVERSED', 'REVERSAL_REFUSED']),
  );
  expect(all.some(({ after: { name } }) => name !== 'name-1')).toBe(true);
  expect(Math.max(...all.map(({ after: { tries } }) => tries))).toBeGreaterThanOrEqual(5);
});
