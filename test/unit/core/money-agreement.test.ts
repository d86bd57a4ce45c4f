import { expect, test } from '@jest/globals';
import { moneyFaults } from '../../../src/core/diagnostics/money-agreement.ts';
import type { StoredMoney } from '../../../src/core/diagnostics/money-agreement.ts';

/** An order of 100.50 with a refund of 40.00 that is COMPLETED, one that is open, and one that is FAILED. */
type StoredRefund = StoredMoney['refunds'][number];
const money: StoredMoney = {
  isCompleted: true,
  debited: 10_050n,
  refunded: 4_000n,
  payments: [{ hasReceipt: true }],
  refunds: [
    { id: 'rfd_1', state: 'completed', amount: 4_000n },
    { id: 'rfd_2', state: 'open', amount: 6_050n },
    { id: 'rfd_3', state: 'failed', amount: 10_050n },
  ],
  debitedByEvents: [10_050n],
  refundsByEvents: new Map([['rfd_1', 4_000n]]),
};
const [completed, open, ended] = money.refunds as [StoredRefund, StoredRefund, StoredRefund];
const exceeding = [completed, { ...open, amount: 6_051n }, ended];
const smaller = [{ ...completed, amount: 3_000n }, ended];
const reopened: StoredRefund = { ...completed, state: 'open' };
const unrecorded: readonly StoredRefund[] = [completed, { ...open, state: 'completed' }];

test.each<[string, Partial<StoredMoney>, readonly string[]]>([
  ['no fault', {}, []],
  ['an order that is not paid', { isCompleted: false }, ['payment_differs']],
  ['two payments', { payments: [{ hasReceipt: true }, { hasReceipt: true }] }, ['payment_differs']],
  ['a payment with another transaction', { payments: [{ hasReceipt: false }] }, ['transaction_differs']],
  ['a larger debited amount', { debited: 10_051n }, ['debited_differs']],
  ['two completions', { debitedByEvents: [10_050n, 10_050n] }, ['debited_differs']],
  ['a smaller refunded amount', { refunded: 3_999n }, ['refunded_differs']],
  ['an open refund that exceeds the debited amount', { refunds: exceeding }, ['refunds_exceed_debited']],
  ['a refund of another amount', { refunds: smaller, refunded: 3_000n }, ['refund_differs rfd_1']],
  ['a refund that is open again', { refunds: [reopened], refunded: 0n }, ['refund_differs rfd_1']],
  ['a refund without an event', { refunds: unrecorded, refunded: 10_050n }, ['refund_without_event rfd_2']],
])('the money of an order has the expected faults: %s', (_what, change, faults) => {
  const found = moneyFaults({ ...money, ...change });

  expect(found.map(({ fault, refundId = '' }) => `${fault} ${refundId}`.trim())).toEqual(faults);
});
