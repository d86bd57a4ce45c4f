import { demoDirectory } from '../../support/demo-wallet-messages.ts';
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect, test } from '@jest/globals';
import { reportView } from '../../../src/dashboard/home/report-views.ts';
import { home } from '../../../src/dashboard/language/english/home.ts';
import { orders } from '../../../src/dashboard/language/english/orders.ts';
import { GetOrderReportResponseSchema } from '../../../src/gen/gatehouse/v1/report_service_pb.js';

const hour = (number: number) => new Date(Date.UTC(2026, 10, 22, number));
const counts = { registered: 20n, completed: 3n, failed: 4n, expired: 7n, cancelled: 3n };
const report = create(GetOrderReportResponseSchema, {
  total: {
    ...counts,
    collected: [{ amount: '300.00', currency: 'ETB' }],
    refunded: [{ amount: '40.50', currency: 'ETB', refunds: 2n }],
  },
  intervals: [5, 6, 7].map((number) => ({ startTime: timestampFromDate(hour(number)), counts })),
  failures: [{ reason: 'wrong_pin', count: 1n }],
  abandoned: [
    { reason: 'session_ended', count: 7n },
    { reason: 'cancelled', count: 3n },
  ],
  options: [
    {
      paymentOption: 'walleta_ussd',
      succeeded: 3n,
      failed: 1n,
      refunded: [{ amount: '40.50', currency: 'ETB', refunds: 2n }],
    },
  ],
});
const view = reportView(report, 'hour', new Date(hour(6).getTime() + 1), {
  words: home,
  orderWords: orders,
  wallets: demoDirectory,
  language: 'en',
  timeZone: 'UTC',
});

test('the rate counts attempted payments as in the table, and abandoned orders are counted separately', () => {
  expect(view).toMatchObject({ successRate: '75%', successOf: '3 of 4 payment attempts', abandoned: '10' });
  expect(view.options.map(({ rate }) => rate)).toEqual(['75%']);
  expect(view.failures.map(({ reason, share }) => [reason, share])).toEqual([['Wrong PIN', 100]]);
  expect(view.abandonments.map(({ count, share }) => [count, share])).toEqual([
    ['7', 70],
    ['3', 30],
  ]);
});

test('a step that has not begun is in the future, and each step separates failed from abandoned', () => {
  expect(view.intervals.map(({ isAhead }) => isAhead)).toEqual([false, false, true]);
  expect(view.intervals[0]?.numbers.map(({ name, value }) => [name, value])).toEqual([
    ['registered', 20],
    ['completed', 3],
    ['failed', 1],
    ['abandoned', 10],
  ]);
});

test('refunded money is shown beside collected money, in total and by payment option', () => {
  const plain = (amounts: readonly string[]) => amounts.map((text) => text.replaceAll('\u00A0', ' '));

  expect([view.collected, view.refunded, view.options[0]?.refunded ?? []].map(plain)).toEqual([
    ['ETB 300.00'],
    ['ETB 40.50'],
    ['ETB 40.50'],
  ]);
});
