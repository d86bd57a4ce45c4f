import { describe, expect, test } from '@jest/globals';
import type { AttemptWork } from '../../../src/core/domain/attempt-work.ts';
import type {
  OrderInFull,
  OrderStatus,
  PaymentAttemptStatus,
  PaymentType,
} from '../../../src/core/domain/order.ts';
import { registerOrder } from '../../../src/core/domain/order.ts';
import { decideOutcome, isReturnable, parseDebited } from '../../../src/core/domain/wallet-outcome.ts';
import type { AttemptUpdates, WalletOutcome } from '../../../src/core/domain/wallet-outcome.ts';
import { buildAttempt, buildFacts, buildWork, expiresAt, valueOf } from './build-order.ts';

const inTime = new Date('2026-03-01T12:02:10.000Z');
const leasedUntil = new Date('2026-03-01T12:03:00.000Z');
const afterwards = new Date(expiresAt.getTime() + 1);
const leaseId = '00000000-0000-4000-8000-000000000001';

/** The rows: the order and the attempt before the report. */
interface State {
  readonly order: OrderStatus;
  readonly attempt: PaymentAttemptStatus;
  readonly work?: Partial<AttemptWork>;
  readonly paymentType?: PaymentType;
  readonly now?: Date;
  /** The report is about an earlier attempt, and the order has another one now. */
  readonly hasLater?: boolean;
}

const paid = { maybeSent: true, providerTransactionId: 'TX-1' };
const states: Readonly<Record<string, State>> = {
  sent: { order: 'PENDING', attempt: 'SENT' },
  'sent, direct': { order: 'PENDING', attempt: 'SENT', paymentType: 'DIRECT' },
  unknown: { order: 'PENDING', attempt: 'UNKNOWN' },
  'prompt over': { order: 'PENDING', attempt: 'SENT', work: { promptUntil: inTime } },
  'session over': { order: 'PENDING', attempt: 'SENT', now: expiresAt, work: { promptUntil: afterwards } },
  declined: { order: 'PENDING', attempt: 'DECLINED' },
  'tried again': { order: 'PENDING', attempt: 'DECLINED', hasLater: true },
  'paid by TX-1': { order: 'COMPLETED', attempt: 'SUCCEEDED', work: paid },
  'paid by TX-0': { order: 'COMPLETED', attempt: 'SUCCEEDED', work: { providerTransactionId: 'TX-0' } },
  expired: { order: 'EXPIRED', attempt: 'TIMED_OUT' },
};

const completed = (amount: string, currency = 'ETB'): WalletOutcome => ({
  type: 'completed',
  providerTransactionId: 'TX-1',
  amount,
  currency,
});

/** The columns. Outcomes of one column have the same effect. */
const outcomes: Readonly<Record<string, readonly WalletOutcome[]>> = {
  paid: [completed('100.50'), completed('100.5'), completed('100.500')],
  misPaid: [completed('100.49'), completed('100.51'), completed('100.50', 'USD')],
  // Money nevertheless, although it is no amount of an order.
  unreadable: [completed('100.501'), completed('-100.50'), completed('100.50', 'GOLD')],
  declined: [{ type: 'declined', reason: 'wrong_pin' }],
  'timed out': [{ type: 'timed_out' }],
  unknown: [{ type: 'unknown', detail: 'the answer was cut off' }],
  pending: [
    { type: 'pending', providerReference: '' },
    { type: 'pending', providerReference: 'ref-1' },
  ],
  'not reached': [{ type: 'not_reached', detail: 'connection refused' }],
};

/**
 * A cell has the order's status, the attempt's status, the kind of stray money, and the seconds until the next query of the wallet. "-"
 * means none. A star at the end: the exchanges are decisive.
 */
const table = `
             | paid                         | misPaid                           | unreadable                           | declined                | timed out               | unknown                 | pending                 | not reached
sent         | COMPLETED SUCCEEDED - - *    | PENDING DECLINED WRONG_AMOUNT - * | PENDING DECLINED WRONG_AMOUNT - *    | PENDING DECLINED - - *  | PENDING TIMED_OUT - - * | PENDING UNKNOWN - 2     | PENDING SENT - 2        | PENDING SENT - 2
sent, direct | COMPLETED SUCCEEDED - - *    | FAILED DECLINED WRONG_AMOUNT - *  | FAILED DECLINED WRONG_AMOUNT - *     | FAILED DECLINED - - *   | FAILED TIMED_OUT - - *  | PENDING UNKNOWN - 2     | PENDING SENT - 2        | PENDING SENT - 2
unknown      | COMPLETED SUCCEEDED - - *    | PENDING DECLINED WRONG_AMOUNT - * | PENDING DECLINED WRONG_AMOUNT - *    | PENDING DECLINED - - *  | PENDING TIMED_OUT - - * | PENDING UNKNOWN - 2     | PENDING UNKNOWN - 2     | PENDING UNKNOWN - 2
prompt over  | COMPLETED SUCCEEDED - - *    | PENDING DECLINED WRONG_AMOUNT - * | PENDING DECLINED WRONG_AMOUNT - *    | PENDING DECLINED - - *  | PENDING TIMED_OUT - - * | PENDING UNKNOWN - 2     | PENDING SENT - 2        | PENDING TIMED_OUT - - *
session over | COMPLETED SUCCEEDED - - *    | PENDING DECLINED WRONG_AMOUNT - * | PENDING DECLINED WRONG_AMOUNT - *    | PENDING DECLINED - - *  | PENDING TIMED_OUT - - * | PENDING UNKNOWN - 2     | PENDING SENT - 2        | PENDING TIMED_OUT - - *
declined     | PENDING DECLINED LATE - *    | PENDING DECLINED LATE - *         | PENDING DECLINED WRONG_AMOUNT - *    | PENDING DECLINED - -    | PENDING DECLINED - -    | PENDING DECLINED - 2    | PENDING DECLINED - 2    | PENDING DECLINED - -
tried again  | PENDING DECLINED LATE - *    | PENDING DECLINED LATE - *         | PENDING DECLINED WRONG_AMOUNT - *    | PENDING DECLINED - -    | PENDING DECLINED - -    | PENDING DECLINED - 2    | PENDING DECLINED - 2    | PENDING DECLINED - -
paid by TX-1 | COMPLETED SUCCEEDED - -      | COMPLETED SUCCEEDED - -           | COMPLETED SUCCEEDED - -              | COMPLETED SUCCEEDED - - | COMPLETED SUCCEEDED - - | COMPLETED SUCCEEDED - - | COMPLETED SUCCEEDED - - | sent_before
paid by TX-0 | COMPLETED SUCCEEDED LATE - * | COMPLETED SUCCEEDED LATE - *      | COMPLETED SUCCEEDED WRONG_AMOUNT - * | COMPLETED SUCCEEDED - - | COMPLETED SUCCEEDED - - | COMPLETED SUCCEEDED - - | COMPLETED SUCCEEDED - - | COMPLETED SUCCEEDED - -
expired      | EXPIRED TIMED_OUT LATE - *   | EXPIRED TIMED_OUT LATE - *        | EXPIRED TIMED_OUT WRONG_AMOUNT - *   | EXPIRED TIMED_OUT - -   | EXPIRED TIMED_OUT - -   | EXPIRED TIMED_OUT - 2   | EXPIRED TIMED_OUT - 2   | EXPIRED TIMED_OUT - -`;

function situation(state: State): { order: OrderInFull; work: AttemptWork; now: Date } {
  const { order: status, paymentType = 'API', now = inTime } = state;
  const attempt = buildAttempt({ status: state.attempt });
  const later = buildAttempt({ id: 'pat_later', status: 'SENT' });
  const order = {
    ...registerOrder(buildFacts({ paymentType })).order,
    status,
    attemptCount: state.hasLater === true ? 2 : 1,
    latestAttempt: state.hasLater === true ? later : attempt,
    earlierAttempts: state.hasLater === true ? [attempt] : [],
  };
  const promptUntil = new Date('2026-03-01T12:04:00.000Z');
  const lease = { dueAt: leasedUntil, leaseId, leasedUntil, leases: 1 };
  const work = buildWork({ attempt, ...lease, promptUntil, ...state.work });
  return { order, work, now };
}

const report = (outcome: WalletOutcome) => ({ leaseId, outcome, retryAfterMs: 0 });

/** The decision, in the words of a cell. */
function summaryOf(name: string, outcome: WalletOutcome): string {
  const state = states[name];
  if (state === undefined) throw new Error(`there is no state ${name}`);
  const { order, work, now } = situation(state);
  const decided = decideOutcome(order, work, report(outcome), false, { now, reachedAt: now });
  if (!decided.ok) return decided.error;
  if (decided.value.isRepeat) return 'repeat';
  const { changed, attempt, stray, dueAt, isDecisive } = decided.value;
  const seconds = dueAt === null ? '-' : String((dueAt.getTime() - now.getTime()) / 1000);
  const words = [(changed?.order ?? order).status, attempt.status, stray?.kind ?? '-', seconds];
  return [...words, ...(isDecisive ? ['*'] : [])].join(' ');
}

const [head = '', ...rows] = table.split('\n').slice(1);
const split = (line: string): string[] => line.split('|').map((cell) => cell.trim());
const [, ...columns] = split(head);
const cells = rows.flatMap((row) => {
  const [state = '', ...expected] = split(row);
  return columns.map((column, index) => ({ state, column, expected: expected[index] ?? '' }));
});

describe("a wallet's answer about an attempt", () => {
  test('has an expectation for every state and outcome', () => {
    const types: Readonly<Record<WalletOutcome['type'], true>> = {
      pending: true,
      completed: true,
      declined: true,
      timed_out: true,
      unknown: true,
      not_reached: true,
    };
    expect(new Set(Object.values(outcomes).flatMap((all) => all.map(({ type }) => type)))).toEqual(
      new Set(Object.keys(types)),
    );
    expect(columns).toEqual(Object.keys(outcomes));
    expect(new Set(cells.map(({ state }) => state))).toEqual(new Set(Object.keys(states)));
  });

  test.each(cells)('$state, $column: $expected', ({ state, column, expected }) => {
    expect((outcomes[column] ?? []).map((outcome) => summaryOf(state, outcome))).toEqual(
      (outcomes[column] ?? []).map(() => expected),
    );
  });

  test('changes nothing under a lease that is not the latest, nor a second time under the same lease', () => {
    const { order, work, now } = situation({ order: 'PENDING', attempt: 'SENT' });
    const declined = report({ type: 'declined', reason: 'wrong_pin' });

    expect(
      decideOutcome(order, { ...work, leaseId: 'another' }, declined, false, { now, reachedAt: now }),
    ).toEqual({
      ok: false,
      error: 'lease_lost',
    });
    expect(
      decideOutcome(order, { ...work, leasedUntil: null }, declined, false, { now, reachedAt: now }),
    ).toEqual({
      ok: true,
      value: { isRepeat: true, changed: undefined },
    });
  });

  test.each([
    [{ type: 'not_reached', detail: 'connection refused' }, true],
    [{ type: 'timed_out' }, false],
  ] as const)('%j ends an attempt with an event that says whether it was sent', (outcome, isUnsent) => {
    const { order, work, now } = situation({ order: 'PENDING', attempt: 'SENT', now: expiresAt });

    expect(decideOutcome(order, work, report(outcome), false, { now, reachedAt: now })).toMatchObject({
      value: { changed: { events: [{ attempt: { status: 'TIMED_OUT' }, decision: { isUnsent } }] } },
    });
  });

  const nextAction = { kind: 'qr', payload: 'scan' } as const;
  test.each<[string, WalletOutcome, AttemptUpdates]>([
    ['sent', { type: 'pending', providerReference: '' }, {}],
    ['sent', { type: 'pending', providerReference: 'ref-1' }, { providerReference: 'ref-1' }],
    ['sent', { type: 'pending', providerReference: '', nextAction }, { nextAction }],
    ['sent', { type: 'unknown', detail: 'cut off' }, { detail: 'cut off' }],
    ['sent', { type: 'not_reached', detail: 'refused' }, { detail: 'refused' }],
    ['session over', { type: 'not_reached', detail: 'refused' }, { detail: 'refused' }],
    ['sent', completed('100.50'), { providerTransactionId: 'TX-1' }],
    ['sent', completed('100.49'), { providerTransactionId: 'TX-1' }],
    ['declined', completed('100.50'), { providerTransactionId: 'TX-1' }],
    ['paid by TX-0', completed('100.50'), {}],
    ['paid by TX-0', completed('100.501'), {}],
  ])('changes what is known about the attempt: %s, %j', (state, outcome, updates) => {
    const { order, work, now } = situation(states[state] ?? { order: 'PENDING', attempt: 'SENT' });
    const decided = valueOf(decideOutcome(order, work, report(outcome), false, { now, reachedAt: now }));
    expect('updates' in decided && decided.updates).toEqual(updates);
  });

  test('cannot be "not reached" when an earlier worker may have reached it', () => {
    const { order, work, now } = situation({ order: 'PENDING', attempt: 'SENT', work: { maybeSent: true } });
    const notReached = report({ type: 'not_reached', detail: '' });

    expect(decideOutcome(order, work, notReached, false, { now, reachedAt: now })).toEqual({
      ok: false,
      error: 'sent_before',
    });
  });

  test('leaves the outcome unknown when its transaction is recorded for another payment', () => {
    const { order, work, now } = situation({ order: 'PENDING', attempt: 'SENT' });

    const decided = decideOutcome(order, work, report(completed('100.50')), true, { now, reachedAt: now });

    expect(decided).toMatchObject({
      ok: true,
      value: {
        changed: { order: { status: 'PENDING' }, events: [] },
        attempt: { status: 'UNKNOWN' },
        stray: undefined,
        updates: {
          detail: 'the wallet names transaction TX-1, which is recorded for another payment already',
        },
      },
    });
  });

  test('finds no stray money for a paid one in a transaction that is recorded for another payment', () => {
    const { order, work, now } = situation({
      ...{ order: 'COMPLETED', attempt: 'SUCCEEDED', work: { providerTransactionId: 'TX-0' } },
    });

    const decided = decideOutcome(order, work, report(completed('100.50')), true, { now, reachedAt: now });

    expect(decided).toMatchObject({ ok: true, value: { changed: undefined, stray: undefined } });
  });

  test('causes another query at the time of a hint that arrived since the lease', () => {
    const { order, work, now } = situation({ order: 'PENDING', attempt: 'SENT' });
    const dueAt = new Date('2026-03-01T12:02:05.000Z');

    const decided = decideOutcome(
      order,
      { ...work, dueAt },
      report({ type: 'pending', providerReference: '' }),
      false,
      { now, reachedAt: now },
    );

    expect(decided).toMatchObject({ ok: true, value: { dueAt, maybeSent: true } });
  });

  test('causes queries of an ended attempt for a day, and no longer', () => {
    const { order, work } = situation({ order: 'PENDING', attempt: 'DECLINED' });
    const endedAt = work.attempt.updatedAt.getTime();
    const dueAfter = (ms: number, reachedMs = ms): Date | null | undefined => {
      const times = { now: new Date(endedAt + ms), reachedAt: new Date(endedAt + reachedMs) };
      const decided = decideOutcome(order, work, report({ type: 'unknown', detail: '' }), false, times);
      return decided.ok && !decided.value.isRepeat ? decided.value.dueAt : undefined;
    };

    expect(dueAfter(86_400_000 - 1)).toBeInstanceOf(Date);
    expect(dueAfter(86_400_000)).toBeNull();
    // The database's clock alone does not end them.
    expect(dueAfter(86_400_000, 86_400_000 - 1)).toBeInstanceOf(Date);
  });
});

test.each([
  ['100.50', true],
  ['1', true],
  ['0', false],
  ['0.00', false],
  ['-5', false],
  ['1e3', false],
  ['', false],
])('a wallet may be asked to return money of the amount "%s": %s', (amount, expected) => {
  expect(isReturnable({ amount })).toBe(expected);
});

test.each([
  ['100', 'ETB', 10_000n],
  ['100.00', 'JPY', 100n],
  ['100.01', 'JPY', undefined],
  ['.50', 'ETB', undefined],
])('a wallet’s amount "%s" %s is %s minor units', (amount, currency, minorUnits) => {
  expect(parseDebited({ amount, currency })?.minorUnits).toBe(minorUnits);
});
