import { describe, expect, test } from '@jest/globals';
import { newRandomId } from '../../../../src/contract/public-id.ts';
import { compareEntry } from '../../../../src/core/reconciliation/compare-entry.ts';
import type { Entry, KnownMoney, Records } from '../../../../src/core/reconciliation/compare-entry.ts';
import { MoneyBalance, decimalOf } from '../../../../src/core/reconciliation/money-balance.ts';
import { dayOf } from '../../../../src/core/reconciliation/reconciliation-day.ts';
import { readStatementName, statementName } from '../../../../src/core/reconciliation/statement-key.ts';
import { storedId } from '../../../support/ids.ts';

const day = dayOf('2026-03-10');
const period = { day, readUntil: day.until };
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
