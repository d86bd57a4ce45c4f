import { describe, expect, test } from '@jest/globals';
import { newRandomId } from '../../../../src/contract/public-id.ts';
import { compareEntry, needsWalletAnswer } from '../../../../src/core/reconciliation/compare-entry.ts';
import type { Entry, KnownMoney, Records } from '../../../../src/core/reconciliation/compare-entry.ts';
import { MoneyBalance, decimalOf } from '../../../../src/core/reconciliation/money-balance.ts';
import {
  dayOf,
  isInReach,
  parseDay,
  periodToRead,
} from '../../../../src/core/reconciliation/reconciliation-day.ts';
import { readStatementName, statementName } from '../../../../src/core/reconciliation/statement-key.ts';
import type { StrayPaymentStatus } from '../../../../src/core/domain/order.ts';
import type { Reversal } from '../../../../src/core/domain/reversal.ts';
import { storedId } from '../../../support/ids.ts';

const day = dayOf('2026-03-10');
const period = { day, readFrom: day.from, readUntil: day.until, listsReversals: true };
const noon = new Date('2026-03-10T12:00:00Z');
const merchantId = storedId('mer', newRandomId('mer', noon));
const entry = (own: Partial<Entry> = {}): Entry => ({
  position: 0,
  type: 'PAYMENT',
  status: 'COMPLETED',
  providerTransactionId: 't-1',
  amount: '10',
  currency: 'ETB',
  requestId: '',
  originalTransactionId: '',
  occurredAt: noon,
  problem: '',
  ...own,
});
const facts = {
  merchantId,
  paymentAttemptId: storedId('pat', newRandomId('pat', noon)),
  providerTransactionId: 't-1',
  amount: '10.00',
  currency: 'ETB',
  updatedAt: noon,
};
const attempt = (isElsewhere: boolean): KnownMoney => ({
  ...facts,
  recordType: 'attempt',
  status: 'SUCCEEDED',
  isElsewhere,
});
const stray = (status: StrayPaymentStatus): Extract<KnownMoney, { readonly recordType: 'stray' }> => ({
  ...facts,
  recordType: 'stray',
  status,
  strayPaymentId: storedId('stp', newRandomId('stp', noon)),
  reversalId: 'rev-1',
  isSettled: false,
  isElsewhere: false,
});
const settledStray: KnownMoney = { ...stray('REVERSED'), isSettled: true };
const refund = (isElsewhere: boolean, status: Reversal['status'] = 'REVERSED') =>
  ({
    ...facts,
    recordType: 'refund',
    status,
    refundId: storedId('rfd', newRandomId('rfd', noon)),
    isElsewhere,
  }) as const;
const records = (own: Partial<Records>): Records => ({
  byTransaction: undefined,
  byRequest: undefined,
  original: undefined,
  hasReversal: false,
  isRepeated: false,
  refund: undefined,
  ...own,
});
const reversal = { type: 'REVERSAL', originalTransactionId: 't-1', providerTransactionId: 't-2' } as const;
const declined = { ...attempt(true), recordType: 'attempt', status: 'DECLINED' } as const;

const here = records({ byTransaction: attempt(false) });
const elsewhere = records({ byTransaction: attempt(true) });
const requested = records({ byRequest: declined });
const [refundHere, refundElsewhere] = [records({ refund: refund(false) }), records({ refund: refund(true) })];
const dayBefore = entry({ occurredAt: new Date('2026-03-09T12:00:00Z') });

const differs = 'STATUS_DIFFERS';
const declinedHere = records({ byRequest: { ...declined, isElsewhere: false } });
const paidBefore = records({ byRequest: attempt(false) });
const strayThatIs = (status: StrayPaymentStatus, hasReversal = false) =>
  records({ byTransaction: stray(status), hasReversal });
const reversalOf = (original: KnownMoney) => records({ original });
const refundThatIs = (status: Reversal['status']) => records({ refund: refund(false, status) });
const returned = entry({ status: 'REVERSED' });
const amountOfDayBefore = { ...dayBefore, amount: '9' };
const endedBefore = records({ byTransaction: { ...attempt(false), updatedAt: dayBefore.occurredAt! } });
const returnedLater = records({
  byTransaction: { ...stray('REVERSED'), updatedAt: new Date(day.until.getTime() + 1) },
});
const confirmedLate = records({ byTransaction: { ...attempt(false), updatedAt: day.until } });
const refunded = records({ byTransaction: attempt(false), refund: refund(false) });
const lessBack = entry({ ...reversal, amount: '9' });
const declinedByTransaction = records({ byTransaction: { ...declined, isElsewhere: false } });

test.each<readonly [name: string, Entry, Records, kind: string | undefined]>([
  ['has the amount in another notation', entry({ amount: '010.0000' }), here, undefined],
  ['has another amount', entry({ amount: '10.01' }), here, 'AMOUNT_DIFFERS'],
  [
    'differs beyond the precision of a float',
    entry({ amount: '10.000000000000000001' }),
    here,
    'AMOUNT_DIFFERS',
  ],
  ['has another currency', entry({ currency: 'USD' }), here, 'AMOUNT_DIFFERS'],
  ['has an invalid amount', entry({ amount: '1e1' }), here, 'AMOUNT_DIFFERS'],
  ['is pending, and paid here', entry({ status: 'PENDING' }), here, differs],
  ['has failed, and is paid here', entry({ status: 'FAILED' }), here, differs],
  ['was reversed, and is paid here', entry({ status: 'REVERSED' }), here, differs],
  ['charges a declined attempt', entry(), declinedHere, differs],
  ['charges a paid attempt again', entry({ providerTransactionId: 't-2' }), paidBefore, 'MISSING_HERE'],
  ['was not requested here', entry(), records({}), 'MISSING_HERE'],
  ['has failed on both sides', entry({ status: 'FAILED' }), records({}), undefined],
  ['is pending on both sides', entry({ status: 'PENDING' }), records({}), undefined],
  ['has another status on both sides', entry({ status: 'OTHER' }), records({}), undefined],
  ['is of the day before', entry({ occurredAt: new Date(day.from.getTime() - 1) }), records({}), undefined],
  ['is of the day after', entry({ occurredAt: day.until }), records({}), undefined],
  ['is of the first instant of the day', entry({ occurredAt: day.from }), records({}), 'MISSING_HERE'],
  ['began on the day before', amountOfDayBefore, here, 'AMOUNT_DIFFERS'],
  ['was confirmed on the next day', entry({ amount: '9' }), confirmedLate, 'AMOUNT_DIFFERS'],
  ['began and ended on the day before', amountOfDayBefore, endedBefore, undefined],
  ['was reversed, and not requested here', returned, records({}), 'MISSING_HERE'],
  ['was reversed by a refund', returned, refunded, undefined],
  ['was reversed, and is declined here', returned, declinedHere, undefined],
  ['has failed, and is declined here', entry({ status: 'FAILED' }), declinedByTransaction, undefined],
  ['cannot be read', entry({ type: 'UNREADABLE' }), records({}), 'UNREADABLE'],
  ['is no payment', entry({ type: 'OTHER' }), records({}), undefined],
  ['is stray money of another amount', entry({ amount: '9' }), strayThatIs('REVERSAL_DUE'), 'AMOUNT_DIFFERS'],
  ['is stray money that went back', entry(), strayThatIs('REVERSED', true), undefined],
  ['is stray money that went back without an entry', returned, strayThatIs('REVERSED'), undefined],
  ['is stray money that is going back', returned, strayThatIs('REVERSAL_DUE'), undefined],
  ['is stray money that went back after a refusal', returned, strayThatIs('REVERSAL_REFUSED'), differs],
  [
    'is stray money with an entry of its return, after a refusal',
    returned,
    strayThatIs('REVERSAL_REFUSED', true),
    undefined,
  ],
  ['is stray money that did not come', entry({ status: 'FAILED' }), strayThatIs('REVERSAL_DUE'), differs],
  ['is stray money whose return was refused', entry(), strayThatIs('REVERSAL_REFUSED'), undefined],
  ['carries out a refused refund', entry(reversal), refundThatIs('REVERSAL_REFUSED'), differs],
  ['returns less than a refund', lessBack, refundHere, 'AMOUNT_DIFFERS'],
  ['returns another currency', entry({ ...reversal, currency: 'USD' }), refundHere, 'AMOUNT_DIFFERS'],
  ['does not return money yet', entry({ ...reversal, status: 'PENDING' }), records({}), undefined],
  ['returned money on another day', { ...dayBefore, ...reversal }, records({}), undefined],
  ['returns stray money', entry(reversal), reversalOf(stray('REVERSED')), undefined],
  ['returns stray money after a refusal', entry(reversal), reversalOf(stray('REVERSAL_REFUSED')), differs],
  [
    'returns less than stray money after a refusal',
    lessBack,
    reversalOf(stray('REVERSAL_REFUSED')),
    'AMOUNT_DIFFERS',
  ],
  ['returns a declined payment', entry(reversal), reversalOf({ ...declined, isElsewhere: false }), undefined],
  ['returns a paid order without a refund', entry(reversal), reversalOf(attempt(false)), differs],
  ['returns unknown money', entry(reversal), records({}), 'MISSING_HERE'],
])('an entry that %s', (_name, given, found, kind) => {
  expect(compareEntry(given, found, period)?.kind).toBe(kind);
});

test('an entry of stray money that went back is right in a statement that lists no reversals', () => {
  expect(
    compareEntry(entry(), strayThatIs('REVERSED'), { ...period, listsReversals: false }),
  ).toBeUndefined();
});

test.each<readonly [name: string, Entry, Records, isQueried: boolean]>([
  ['a declined attempt that was charged', entry(), declinedHere, true],
  ['an undecided refund that was carried out', entry(reversal), refundThatIs('REVERSAL_DUE'), true],
  ['a paid attempt that was reversed', returned, here, false],
  ['a paid attempt that was charged again', entry({ providerTransactionId: 't-2' }), paidBefore, false],
  ['a refused refund that was carried out', entry(reversal), refundThatIs('REVERSAL_REFUSED'), false],
  ['returned stray money', entry(reversal), reversalOf(stray('REVERSAL_REFUSED')), false],
])('whether only the wallet can explain %s', (_name, given, found, isQueried) => {
  expect(needsWalletAnswer(compareEntry(given, found, period)!)).toBe(isQueried);
});

type Case = readonly [entry: Entry, records: Records, kind: string | undefined, sums: string];

describe('the balance and the comparison with the statement are right for an entry whose record has', () => {
  test.each<readonly [name: string, ...Case]>([
    ['this account', entry(), here, undefined, 'in 10 completed 10'],
    ['another account', entry(), elsewhere, 'OTHER_ACCOUNT', 'in 10'],
    ['another account, by our id', entry(), requested, 'OTHER_ACCOUNT', 'in 10'],
    [
      'another account, and is returned',
      entry({ status: 'REVERSED' }),
      elsewhere,
      'OTHER_ACCOUNT',
      'in 10 out 10',
    ],
    ['another account, and failed', entry({ status: 'FAILED' }), requested, undefined, ''],
    ['another account, on another day', dayBefore, elsewhere, undefined, ''],
    ['this account, for a refund', entry(reversal), refundHere, undefined, 'out 10 refunds 10'],
    ['this account, for stray money', entry(), strayThatIs('REVERSAL_DUE'), undefined, 'in 10 strays 10'],
    [
      'this account, for stray money that went back only here',
      entry(),
      strayThatIs('REVERSED'),
      differs,
      'in 10 strays 10 reversals 10',
    ],
    [
      'this account, for stray money that goes back later',
      entry(),
      returnedLater,
      undefined,
      'in 10 strays 10',
    ],
    [
      'this account, for earlier stray money that went back only here',
      dayBefore,
      strayThatIs('REVERSED'),
      differs,
      'reversals 10',
    ],
    [
      'this account, for earlier stray money that operators settled',
      dayBefore,
      records({ byTransaction: settledStray }),
      undefined,
      '',
    ],
    [
      'this account, for earlier stray money that went back',
      dayBefore,
      strayThatIs('REVERSED', true),
      undefined,
      '',
    ],
    ['this account, for a declined attempt', entry(), declinedByTransaction, differs, 'in 10'],
    [
      'this account, for an undecided refund',
      entry(reversal),
      refundThatIs('REVERSAL_DUE'),
      differs,
      'out 10',
    ],
    ['an earlier entry', entry(), { ...here, isRepeated: true }, 'MISSING_HERE', 'in 10'],
    ['an earlier entry, on another day', dayBefore, { ...here, isRepeated: true }, undefined, ''],
    [
      'an earlier entry, for the return of stray money',
      entry(reversal),
      { ...reversalOf(stray('REVERSED')), isRepeated: true },
      'MISSING_HERE',
      'out 10',
    ],
    [
      'an earlier entry, for another refund of the payment',
      entry(reversal),
      { ...refundHere, isRepeated: true },
      undefined,
      'out 10 refunds 10',
    ],
    ['another account, for a refund', entry(reversal), refundElsewhere, 'OTHER_ACCOUNT', 'out 10'],
    [
      'this account, for a refund that the wallet has not carried out yet',
      entry({ ...reversal, status: 'PENDING' }),
      refundHere,
      undefined,
      '',
    ],
    [
      'this account, and is returned by an entry of its own',
      returned,
      records({ byTransaction: attempt(false), hasReversal: true }),
      undefined,
      'in 10 completed 10',
    ],
  ])('%s', (_name, given, found, kind, expected) => {
    const balance = new MoneyBalance(period);
    balance.addEntry(given, found);
    const [sums] = balance.days.map((each) => each.sums);
    const parts = sums && {
      in: sums.statementIn,
      out: sums.statementOut,
      completed: sums.completed,
      strays: sums.strays,
      reversals: sums.reversals,
      refunds: sums.refunds,
    };
    const text = Object.entries(parts ?? {})
      .filter(([, sum]) => sum !== 0n)
      .map(([name, sum]) => `${name} ${Number(decimalOf(sum))}`)
      .join(' ');

    expect([compareEntry(given, found, period)?.kind, text]).toEqual([kind, expected]);
  });
});

test.each([
  ['walleta', ''],
  ['walleta', 'accountid 3001'],
  ['walleta', 'path a/b%2F'],
])(
  "the name of a statement contains the wallet %s and the payee %p, and only the wallet for the operator's account",
  (wallet, payee) => {
    const name = statementName({ wallet, payee });

    expect(readStatementName(name)).toEqual({ wallet, payee });
    expect(name === wallet).toBe(payee === '');
  },
);

describe('the period that is read for a day', () => {
  const at = (time: string) => new Date(`2026-${time}Z`);
  const later = at('03-11T01:00:00');
  const hourMs = 3_600_000;

  test.each<readonly [name: string, oldest: Date | undefined, now: Date, reachMs: number, Date, Date]>([
    ['has a margin for clocks', undefined, later, Infinity, at('03-09T23:50:00'), at('03-11T00:10:00')],
    ['ends now', undefined, noon, Infinity, at('03-09T23:50:00'), noon],
    [
      'begins with the oldest payment of the day',
      at('03-08T12:00:00'),
      later,
      Infinity,
      at('03-08T11:50:00'),
      at('03-11T00:10:00'),
    ],
    [
      'begins a week before at the earliest',
      at('02-01T00:00:00'),
      later,
      Infinity,
      at('03-02T23:50:00'),
      at('03-11T00:10:00'),
    ],
    [
      'ends at the reach of the statement, which moves on while it is read',
      at('03-08T00:00:00'),
      later,
      48 * hourMs,
      at('03-09T01:10:00'),
      at('03-11T00:10:00'),
    ],
    [
      'contains the whole day out of reach',
      undefined,
      at('03-13T00:00:00'),
      48 * hourMs,
      at('03-09T23:50:00'),
      at('03-11T00:10:00'),
    ],
  ])('%s', (_name, oldest, now, reachMs, from, to) => {
    expect(periodToRead(day, oldest, now, reachMs)).toEqual({ from, to });
  });

  test('is in reach with its margin, or not at all', () => {
    const reachMs = 48 * hourMs;
    const last = at('03-11T23:50:00');

    expect(isInReach(day, last, reachMs)).toBe(true);
    expect(isInReach(day, new Date(last.getTime() + 1), reachMs)).toBe(false);
  });
});

test.each(['2026-02-30', '2026-13-01', '1999-01-01', '2026-1-1', ''])('%p is no day', (text) => {
  expect(parseDay(text)).toBeUndefined();
});

test('a day ends when the next one begins, and only a date has one', () => {
  expect(parseDay('2026-02-28')).toEqual({
    from: new Date('2026-02-28T00:00:00Z'),
    until: new Date('2026-03-01T00:00:00Z'),
  });
  expect(() => dayOf('2026-02-29')).toThrow(RangeError);
});

test.each([
  [0n, '0.000000'],
  [1n, '0.000001'],
  [-1n, '-0.000001'],
  [999_999n, '0.999999'],
  [-12_500_000n, '-12.500000'],
])('%p millionths are %s', (amount, text) => {
  expect(decimalOf(amount)).toBe(text);
});
