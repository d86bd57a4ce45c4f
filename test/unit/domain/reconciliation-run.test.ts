import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type ReconciliationRun,
  beginComparison,
  beginRun,
  completeRun,
  failRun,
  makeRunDue,
  leaseRun,
  recordPage,
  runUnderLease,
} from '../../../src/core/domain/reconciliation-run.ts';
import { valueOf } from './build-order.ts';

const start = Date.UTC(2026, 0, 31);
const at = (seconds: number) => new Date(start + seconds * 1000);
const period = { from: at(-86_400), to: at(0) };
const leaseMs = 60_000;
const lease = (leaseId: string) => ({ leaseId, leaseMs, period });

function leased(run: ReconciliationRun, leaseId: string, now: Date) {
  const value = valueOf(leaseRun(run, lease(leaseId), now));
  if (value.status === 'FAILED') throw new Error(value.detail);
  return value;
}

const waiting = beginRun(at(0));
const running = leased(waiting, 'lease-1', at(0));
const read = recordPage(running, { entries: 3, otherEntries: 1 }, at(10));

describe('each state answers each command', () => {
  const states: Record<string, ReconciliationRun> = {
    waiting: beginRun(at(30)),
    running,
    completed: completeRun(read, 2, at(20)),
    failed: failRun({ ...read, tries: 7 }, 'it hangs', at(20)),
    'in its last try': { ...running, tries: 7 },
  };

  test.each([
    // state, make due, lease at once, lease when it is due, use under lease-1, under another lease
    ['waiting', 'WAITING', 'not_due', 'RUNNING', 'lease_lost', 'lease_lost'],
    ['running', 'RUNNING', 'not_due', 'RUNNING', 'RUNNING', 'lease_lost'],
    ['completed', 'ended', 'not_due', 'not_due', 'lease_lost', 'lease_lost'],
    ['failed', 'ended', 'not_due', 'not_due', 'lease_lost', 'lease_lost'],
    ['in its last try', 'RUNNING', 'not_due', 'FAILED', 'RUNNING', 'lease_lost'],
  ])('%s', (name, ...expected) => {
    const run = states[name] ?? waiting;
    const results = [
      makeRunDue(run, at(25)),
      leaseRun(run, lease('lease-2'), at(25)),
      leaseRun(run, lease('lease-2'), at(60)),
      runUnderLease(run, 'lease-1'),
      runUnderLease(run, 'lease-2'),
    ];

    expect(results.map((result) => (result.ok ? result.value.status : result.error))).toEqual(expected);
  });
});

test('makeRunDue makes a waiting run due now and does not change a running one', () => {
  expect(makeRunDue(waiting, at(5))).toEqual({ ok: true, value: { ...waiting, dueAt: at(5) } });
  expect(makeRunDue(running, at(5))).toEqual({ ok: true, value: running });
});

test('each step changes only the fields that it decides', () => {
  expect(running).toEqual({
    ...waiting,
    status: 'RUNNING',
    leaseId: 'lease-1',
    leaseMs,
    period,
    dueAt: at(60),
    tries: 1,
  });
  expect(read).toEqual({ ...running, entries: 3, otherEntries: 1, dueAt: at(70), updatedAt: at(10) });
  expect(recordPage(read, { entries: 2, otherEntries: 0 }, at(11))).toMatchObject({
    entries: 5,
    otherEntries: 1,
  });

  expect(beginComparison(read, at(12))).toEqual({ ...read, dueAt: at(612), updatedAt: at(12) });

  const { leaseId, dueAt, ...rest } = read;
  expect([leaseId, dueAt]).toEqual(['lease-1', at(70)]);
  const completed = { ...rest, status: 'COMPLETED', differences: 2, detail: '', updatedAt: at(20) };
  expect(completeRun({ ...read, detail: 'it hung' }, 2, at(20))).toEqual(completed);
  const failed = { ...rest, detail: 'it hangs', updatedAt: at(20) };
  expect(failRun(read, 'it hangs', at(20))).toEqual({ ...failed, status: 'WAITING', dueAt: at(80) });
});

test('a lease after an expired one reads the statement from its beginning', () => {
  const next = leased(read, 'lease-2', at(70));

  expect(next).toMatchObject({ leaseId: 'lease-2', tries: 2, entries: 0, otherEntries: 0 });
  expect(runUnderLease(next, 'lease-1')).toEqual({ ok: false, error: 'lease_lost' });
});

test('a statement that cannot be read is requested again after 1, 5, 15, 60, 180 and 360 minutes, and then the run fails', () => {
  let run: ReconciliationRun = waiting;
  const minutes: (number | string)[] = [];
  for (let now = at(0); run.status === 'WAITING'; now = new Date(now.getTime() + 86_400_000)) {
    run = failRun(leased(run, 'lease', now), 'it hangs', now);
    minutes.push(run.status === 'WAITING' ? (run.dueAt.getTime() - now.getTime()) / 60_000 : run.status);
  }

  expect(minutes).toEqual([1, 5, 15, 60, 180, 360, 'FAILED']);
});

type Move = 'make due' | 'lease' | 'page' | 'complete' | 'fail' | 'page of an earlier lease';

interface Timed {
  readonly seconds: number;
  readonly move: Move;
}

const anyMove: fc.Arbitrary<readonly Timed[]> = fc
  .record({
    seconds: fc.constantFrom(0, 1, 59, 60, 400),
    move: fc.constantFrom<Move>('make due', 'lease', 'page', 'complete', 'fail', 'page of an earlier lease'),
  })
  .map((move) => [move]);

/** Random commands rarely reach the seventh try, so complete tries that fail are mixed in. */
const failedTry: fc.Arbitrary<readonly Timed[]> = fc.constant([
  { seconds: 30_000, move: 'lease' },
  { seconds: 0, move: 'page' },
  { seconds: 1, move: 'fail' },
]);

const moves = fc
  .array(fc.oneof(anyMove, failedTry), { maxLength: 20, size: 'max' })
  .map((groups) => groups.flat());

interface Step {
  readonly before: ReconciliationRun;
  readonly move: Move;
  readonly now: Date;
  readonly after: ReconciliationRun;
}

/** A run under commands at any time, in any sequence, from any worker. A command cannot change its input. */
function live(sequence: readonly Timed[]): readonly Step[] {
  const steps: Step[] = [];
  let run: ReconciliationRun = Object.freeze(waiting);
  let seconds = 0;
  let leases = 0;
  for (const { seconds: wait, move } of sequence) {
    seconds += wait;
    const now = at(seconds);
    const before = run;
    if (move === 'make due') {
      const result = makeRunDue(run, now);
      if (result.ok) run = result.value;
    } else if (move === 'lease') {
      const result = leaseRun(run, lease(`lease-${leases + 1}`), now);
      if (result.ok) {
        leases += 1;
        run = result.value;
      }
    } else {
      const held = runUnderLease(run, `lease-${move === 'page of an earlier lease' ? leases - 1 : leases}`);
      if (held.ok) {
        if (move === 'complete') run = completeRun(held.value, 1, now);
        else if (move === 'fail') run = failRun(held.value, 'it hangs', now);
        else run = recordPage(held.value, { entries: 2, otherEntries: 1 }, now);
      }
    }
    steps.push({ before, move, now, after: Object.freeze(run) });
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

const isFinal = ({ status }: ReconciliationRun) => status === 'COMPLETED' || status === 'FAILED';

describe('in every history of a run', () => {
  test('a run that has ended does not change', () => {
    never(({ before, after }) => isFinal(before) && after !== before);
  });

  test('one worker reads at a time, and pages of an earlier worker do not count', () => {
    never(({ move, before, after }) => move === 'page of an earlier lease' && after !== before);
    never(
      ({ move, now, before, after }) =>
        move === 'lease' && after !== before && 'dueAt' in before && before.dueAt > now,
    );
  });

  test('a run in progress has a due time, and a final one has none', () => {
    never(({ after }) => 'dueAt' in after === isFinal(after));
  });

  test('a run fails after the seventh try and not before, and has differences only after its comparison', () => {
    never(({ after }) => after.status === 'WAITING' && after.tries > 6);
    never(({ after }) => after.status === 'FAILED' && after.tries < 7);
    never(({ after }) => after.status !== 'COMPLETED' && after.differences !== 0);
  });

  test('entries of an earlier reading do not count', () => {
    never(({ move, before, after }) => {
      if (before === after) return false;
      if (move === 'lease' && after.status === 'RUNNING') return after.entries + after.otherEntries > 0;
      const isPage = move === 'page';
      return (
        after.entries - before.entries !== (isPage ? 2 : 0) ||
        after.otherEntries - before.otherEntries !== (isPage ? 1 : 0)
      );
    });
  });
});

test('the histories reach every state', () => {
  const all = fc.sample(moves, { numRuns: 300, seed: 1 }).flatMap(live);

  expect(new Set(all.map(({ after: { status } }) => status))).toEqual(
    new Set(['WAITING', 'RUNNING', 'COMPLETED', 'FAILED']),
  );
});
