import { describe, expect, test } from '@jest/globals';
import type { OrderFacts } from '../../../src/core/domain/order.ts';
import { registerOrder, sameRegistration } from '../../../src/core/domain/order.ts';
import { buildFacts, buildOrder, money, phone, registeredAt } from './build-order.ts';

describe('registerOrder', () => {
  test('gives a PENDING order with nothing deducted and no attempt', () => {
    const facts = buildFacts();

    const { order } = registerOrder(facts);

    expect(order).toEqual({
      ...facts,
      status: 'PENDING',
      deductedMinorUnits: 0n,
      updatedAt: registeredAt,
      lastEventSequence: 1,
      attemptCount: 0,
      latestAttempt: null,
    });
  });

  test('gives one CREATED event, the first of the history, that holds the order', () => {
    const { order, events } = registerOrder(buildFacts());

    expect(events).toEqual([
      { type: 'CREATED', sequence: 1, occurredAt: registeredAt, previousStatus: null, order, attempt: null },
    ]);
  });
});

describe('sameRegistration', () => {
  const repeats: readonly (readonly [string, Partial<OrderFacts>])[] = [
    ['the same values', {}],
    ['a new id and new times', { id: 'ord_2', createdAt: new Date(0), expiresAt: new Date(1) }],
    ['the amount written otherwise', { amount: money('100.5') }],
    ['the phone written otherwise', { customerPhone: phone('+251911223344') }],
  ];
  test.each(repeats)('recognises %s', (_, changes) => {
    expect(sameRegistration(buildOrder(), buildFacts(changes))).toBe(true);
  });

  const others: readonly (readonly [string, Partial<OrderFacts>])[] = [
    ['merchant', { merchantId: 'mer_2' }],
    ['environment', { environment: 'PRODUCTION' }],
    ['order number', { orderNumber: 'inv-1' }],
    ['amount', { amount: money('100.51') }],
    ['currency', { amount: money('100.50', 'USD') }],
    ['payment type', { paymentType: 'QR' }],
    ['phone', { customerPhone: phone('0911223345') }],
    ['reason', { reason: 'two coffees' }],
    ['business name', { businessName: '' }],
    ['return URL', { returnUrl: 'https://shop.example/return/' }],
    ['webhook URL', { webhookUrl: '' }],
  ];
  test.each(others)('tells another %s', (_, changes) => {
    expect(sameRegistration(buildOrder(), buildFacts(changes))).toBe(false);
  });

  test('looks at what was registered, not at what became of the order', () => {
    const failed = buildOrder({ status: 'FAILED', updatedAt: new Date(0), lastEventSequence: 2 });

    expect(sameRegistration(failed, buildFacts())).toBe(true);
  });
});
