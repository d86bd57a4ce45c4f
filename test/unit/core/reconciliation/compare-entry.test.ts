import { describe, expect, test } from '@jest/globals';
import { newRandomId } from '../../../../src/contract/public-id.ts';
import { compareEntry } from '../../../../src/core/reconciliation/compare-entry.ts';
import type { Entry, KnownMoney, Records } from '../../../../src/core/reconciliation/compare-entry.ts';
import { MoneyBalance, decimalOf } from '../../../../src/core/reconciliation/money-balance.ts';
import { dayOf } from '../../../../src/core/reconciliation/reconciliation-day.ts';
import { readStatementName, statementName } from '../../../../src/core/reconciliation/statement-key.ts';
import type { StrayPaymentStatus } from '../../../../src/core/domain/order.ts';
import { storedId } from '../../../support/ids.ts';

const day = dayOf('2026-03-10');
const period = { day, readFrom: day.from, readUntil: day.until, listsReturns: true };
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
const stray = (status: StrayPaymentStatus): KnownMoney => ({
  ...facts,
  recordType: 'stray',
  status,
  strayPaymentId: storedId('stp', newRandomId('stp', noon)),
  reversalId: 'rev-1',
  isElsewhere: false,
});
const refund = (isElsewhere: boolean) =>
  ({
    ...facts,
    recordType: 'refund',
    status: 'REVERSED',
    refundId: storedId('rfd', newRandomId('rfd', noon)),
    isElsewhere,
  }) as const;
const records = (own: Partial<Records>): Records => ({
  byTransaction: undefined,
  byRequest: undefined,
  original: undefined,
  hasReversal: false,
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
  ['cannot be read', entry({ type: 'UNREADABLE' }), records({}), 'UNREADABLE'],
  ['is no payment', entry({ type: 'OTHER' }), records({}), undefined],
  ['is stray money that is being returned', entry(), strayThatIs('REVERSAL_DUE'), undefined],
  ['is stray money of another amount', entry({ amount: '9' }), strayThatIs('REVERSAL_DUE'), 'AMOUNT_DIFFERS'],
  ['is stray money that went back', entry(), strayThatIs('REVERSED', true), undefined],
  ['is stray money that went back only here', entry(), strayThatIs('REVERSED'), differs],
  ['returns stray money', entry(reversal), reversalOf(stray('REVERSED')), undefined],
  ['returns stray money after a refusal', entry(reversal), reversalOf(stray('REVERSAL_REFUSED')), differs],
  ['returns a paid order without a refund', entry(reversal), reversalOf(attempt(false)), differs],
  ['returns unknown money', entry(reversal), records({}), 'MISSING_HERE'],
])('an entry that %s', (_name, given, found, kind) => {
  expect(compareEntry(given, found, period)?.kind).toBe(kind);
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
    ['another account, for a refund', entry(reversal), refundElsewhere, 'OTHER_ACCOUNT', 'out 10'],
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
