import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { orderHistories } from './order-histories.ts';

test('in every history, money that a wallet reports pays the order or is stray, and one payment completes it', () => {
  fc.assert(
    fc.property(orderHistories, ({ order, told }) => {
      expect(told.filter((one) => one === 'payment')).toHaveLength(order.status === 'COMPLETED' ? 1 : 0);
      expect(told.filter((one) => one === 'neither' || one === 'both')).toEqual([]);
    }),
    { numRuns: 500 },
  );
});

test('in every history, a wallet can have been called only under a lease', () => {
  fc.assert(
    fc.property(orderHistories, ({ sentUnleased }) => {
      expect(sentUnleased).toBe(false);
    }),
    { numRuns: 500 },
  );
});

test('the histories reach payments, stray money and every end of an order', () => {
  const sample = fc.sample(orderHistories, { numRuns: 1_000, seed: 1 });

  expect(new Set(sample.flatMap(({ told }) => told))).toEqual(new Set(['payment', 'stray']));
  expect(new Set(sample.map(({ order }) => order.status))).toEqual(
    new Set(['PENDING', 'COMPLETED', 'FAILED', 'EXPIRED']),
  );
});
