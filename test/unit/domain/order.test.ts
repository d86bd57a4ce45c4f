import { describe, expect, test } from '@jest/globals';
import { registerOrder } from '../../../src/core/domain/order.ts';
import { buildFacts, registeredAt } from './build-order.ts';

describe('registerOrder', () => {
  test('returns a PENDING order with nothing deducted and no attempt', () => {
    const facts = buildFacts();

    const { order } = registerOrder(facts);

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
  });

  test('returns one CREATED event, the first of the history, with the order', () => {
    const { order, events } = registerOrder(buildFacts());

    expect(events).toEqual([
      { type: 'CREATED', sequence: 1, occurredAt: registeredAt, previousStatus: null, order, attempt: null },
    ]);
  });
});
