import { expect, test } from '@jest/globals';
import { registerOrder } from '../../../src/core/domain/order.ts';
import { buildFacts, registeredAt } from './build-order.ts';

test('a registered order is PENDING with nothing deducted and no attempt, and has one event, the first of its history', () => {
  const facts = buildFacts();

  const { order, events } = registerOrder(facts);

  expect(order).toEqual({
    ...facts,
    status: 'PENDING',
    deductedMinorUnits: 0n,
    refundedMinorUnits: 0n,
    updatedAt: registeredAt,
    lastEventSequence: 1,
    attemptCount: 0,
    latestAttempt: null,
    earlierAttempts: [],
    strayMoney: [],
  });
  expect(events).toEqual([
    { type: 'CREATED', sequence: 1, occurredAt: registeredAt, previousStatus: null, order, attempt: null },
  ]);
});
