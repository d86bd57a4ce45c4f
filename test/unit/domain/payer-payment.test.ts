import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type {
  AttemptId,
  OrderInFull,
  OrderStatus,
  PaymentAttemptStatus,
} from '../../../src/core/domain/order.ts';
import {
  isAbandoned,
  nextConfirmation,
  orderNamed,
  effectOfPayerPayment,
  spellingsOf,
  validatePayerPayment,
  validateRequestedPayment,
} from '../../../src/core/domain/payer-payment.ts';
import { buildAttempt, buildOrder, buildStrayMoney, expiresAt } from './build-order.ts';

const inTime = new Date(expiresAt.getTime() - 1);
const exact = { amount: '100.50', currency: 'ETB' };

const { merchantId } = buildOrder();
const otherMerchantId = 'mer_00000000000000000000000009' as const;

describe('the order that a typed reference names', () => {
  test.each<[string, readonly string[], string, number | undefined]>([
    ['the same text', ['A-1', 'A-2'], 'A-1', 0],
    ['other capitals, when no order has the same text', ['INV-7'], 'inv-7', 0],
    ['the same text before other capitals', ['inv-7', 'INV-7'], 'INV-7', 1],
    ['none: no order has it', ['A-1'], 'A-2', undefined],
    ['none: two orders have it', ['A-1', 'A-1'], 'A-1', undefined],
    ['none: two orders have it in other capitals', ['aB', 'Ab'], 'AB', undefined],
  ])('%s', (_name, numbers, reference, index) => {
    const orders = numbers.map((orderNumber) => ({ merchantId, orderNumber }));

    expect(orderNamed(orders, reference)).toBe(index === undefined ? undefined : orders[index]);
  });

  test.each([
    ['the same capitals', 'inv-7'],
    ['other capitals', 'INV-7'],
  ])('is none when another merchant has the number in %s, whichever the payer types', (_name, number) => {
    const orders = [
      { merchantId, orderNumber: 'inv-7' },
      { merchantId: otherMerchantId, orderNumber: number },
    ];

    expect(orderNamed(orders, 'inv-7')).toBeUndefined();
    expect(orderNamed(orders, 'INV-7')).toBeUndefined();
  });

  test('is the only one that differs in capitals only, whatever the references', () => {
    const number = fc.stringMatching(/^[a-cA-C1]{1,3}$/);
    fc.assert(
      fc.property(fc.array(number, { maxLength: 6 }), number, (numbers, reference) => {
        const orders = numbers.map((orderNumber) => ({ merchantId, orderNumber }));
        const named = orderNamed(orders, reference);
        const same = orders.filter(({ orderNumber }) => orderNumber === reference);
        const alike = orders.filter(
          ({ orderNumber }) => orderNumber.toLowerCase() === reference.toLowerCase(),
        );

        if (named !== undefined) expect(alike).toContain(named);
        expect(named !== undefined).toBe(same.length === 1 || (same.length === 0 && alike.length === 1));
      }),
    );
  });

  test('is looked up as typed, in capitals and in small letters, and a missing reference is not', () => {
    expect(spellingsOf('Inv-7')).toEqual(['Inv-7', 'INV-7', 'inv-7']);
    expect(spellingsOf('77')).toEqual(['77']);
    expect(spellingsOf('')).toEqual([]);
  });
});

const attempted = (status: PaymentAttemptStatus) => ({
  latestAttempt: buildAttempt({ status }),
  attemptCount: 1,
});

const heldMoney = { ...attempted('DECLINED'), strayMoney: [buildStrayMoney({ status: 'REVERSAL_DUE' })] };

describe('before money moves, a payment is', () => {
  test.each<[string, Partial<OrderInFull>, typeof exact, boolean, Date, string]>([
    ['accepted for an open order of this amount', {}, exact, true, inTime, 'ACCEPT'],
    ['accepted in another notation', {}, { ...exact, amount: '100.5' }, true, inTime, 'ACCEPT'],
    ['accepted after a decline', attempted('DECLINED'), exact, true, inTime, 'ACCEPT'],
    ['refused with less', {}, { ...exact, amount: '100.49' }, true, inTime, 'WRONG_AMOUNT'],
    ['refused with more', {}, { ...exact, amount: '100.51' }, true, inTime, 'WRONG_AMOUNT'],
    ['refused in another currency', {}, { ...exact, currency: 'KES' }, true, inTime, 'WRONG_AMOUNT'],
    ['refused with an unreadable amount', {}, { ...exact, amount: 'a lot' }, true, inTime, 'WRONG_AMOUNT'],
    ['refused when the session has ended', {}, exact, true, expiresAt, 'NOT_PAYABLE'],
    ['refused when the merchant may not accept it', {}, exact, false, inTime, 'NOT_PAYABLE'],
    ['refused while an attempt is in progress', attempted('SENT'), exact, true, inTime, 'NOT_PAYABLE'],
    ['refused while an attempt is unknown', attempted('UNKNOWN'), exact, true, inTime, 'NOT_PAYABLE'],
    ['refused while money is not returned', heldMoney, exact, true, inTime, 'NOT_PAYABLE'],
    ['refused for a paid order', { status: 'COMPLETED' }, exact, true, inTime, 'NOT_PAYABLE'],
    ['refused for a failed order', { status: 'FAILED' }, exact, true, inTime, 'NOT_PAYABLE'],
    ['refused for an expired order', { status: 'EXPIRED' }, exact, true, inTime, 'NOT_PAYABLE'],
  ])('%s', (_name, own, money, isOffered, now, decision) => {
    expect(validatePayerPayment(buildOrder(own), money, isOffered, now)).toBe(decision);
  });
});

describe('before money of our own request moves, it is', () => {
  test.each<[string, Partial<OrderInFull>, typeof exact, string]>([
    ['accepted while the attempt is in progress', attempted('SENT'), exact, 'ACCEPT'],
    ['accepted while the attempt is unknown', attempted('UNKNOWN'), exact, 'ACCEPT'],
    ['refused with another amount', attempted('SENT'), { ...exact, amount: '100.51' }, 'WRONG_AMOUNT'],
    ['refused after the attempt has ended', attempted('TIMED_OUT'), exact, 'NOT_PAYABLE'],
    ['refused while money is not returned', { ...heldMoney, ...attempted('SENT') }, exact, 'NOT_PAYABLE'],
  ])('%s', (_name, own, money, decision) => {
    expect(validateRequestedPayment(buildOrder(own), buildAttempt().id, money)).toBe(decision);
  });

  test('refused for an attempt that another one has followed', () => {
    expect(validateRequestedPayment(buildOrder(attempted('SENT')), 'pat_other', exact)).toBe('NOT_PAYABLE');
  });
});

describe('confirmed money', () => {
  const payment = { attemptId: 'pat_new', paymentOption: 'walleta_ussd' } as const;
  const effectOf = (own: Partial<OrderInFull>, money = exact, now = inTime, namedAttemptId?: AttemptId) =>
    effectOfPayerPayment(
      buildOrder(own),
      { ...payment, namedAttemptId },
      { providerTransactionId: 'T1', ...money },
      now,
    );

  test('that validation accepts always pays its order', () => {
    const statuses = [null, 'REQUESTED', 'SENT', 'UNKNOWN', 'DECLINED', 'TIMED_OUT'] as const;
    const cases = fc.record({
      status: fc.constantFrom<OrderStatus>('PENDING', 'COMPLETED', 'FAILED', 'EXPIRED'),
      attempt: fc.constantFrom(...statuses),
      amount: fc.constantFrom('100.50', '100.5', '100.51'),
      isHeld: fc.boolean(),
      now: fc.constantFrom(inTime, expiresAt),
    });
    fc.assert(
      fc.property(cases, ({ status, attempt, amount, isHeld, now }) => {
        const own = {
          status,
          ...(attempt === null ? {} : attempted(attempt)),
          strayMoney: isHeld ? [buildStrayMoney({ status: 'REVERSAL_DUE' })] : [],
        };
        const decision = validatePayerPayment(buildOrder(own), { ...exact, amount }, true, now);

        if (decision === 'ACCEPT')
          expect(effectOf(own, { ...exact, amount }, now)).toMatchObject({
            type: 'order_paid',
            changed: {
              order: { status: 'COMPLETED', latestAttempt: { origin: 'PAYER', status: 'SUCCEEDED' } },
            },
          });
      }),
    );
  });

  test.each<[string, Partial<OrderInFull>, typeof exact, object]>([
    ['pays late, while the order is open', {}, exact, { type: 'order_paid' }],
    ['is stray when the order is paid', { status: 'COMPLETED' }, exact, { type: 'stray', kind: 'LATE' }],
    ['is stray when the order is cancelled', { status: 'FAILED' }, exact, { type: 'stray', kind: 'LATE' }],
    ['is stray with another amount', {}, { ...exact, amount: '1' }, { type: 'stray', kind: 'WRONG_AMOUNT' }],
    ['is stray when unreadable', {}, { ...exact, amount: '' }, { type: 'stray', kind: 'WRONG_AMOUNT' }],
    ['waits for an attempt in progress', attempted('SENT'), exact, { type: 'wait' }],
  ])('%s', (_name, own, money, effect) => {
    expect(effectOf(own, money, expiresAt)).toMatchObject(effect);
  });

  const stray = { type: 'stray', kind: 'WRONG_AMOUNT' };
  test.each<[string, string, Partial<OrderInFull>, AttemptId, object]>([
    ['waits for the attempt that it names', '99', attempted('UNKNOWN'), buildAttempt().id, { type: 'wait' }],
    ['waits although it is unreadable', '', attempted('SENT'), buildAttempt().id, { type: 'wait' }],
    ['is stray beside another attempt', '99', attempted('SENT'), 'pat_other', stray],
    ['is stray when the named attempt has ended', '99', attempted('DECLINED'), buildAttempt().id, stray],
  ])('with another amount %s', (_name, amount, own, named, effect) => {
    expect(effectOf(own, { ...exact, amount }, inTime, named)).toMatchObject(effect);
  });
});

test('the wallet is queried less and less often, and after three days a person must decide', () => {
  const now = new Date(0);
  const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((tries) => nextConfirmation(tries, now).getTime() / 1000);

  expect(waits).toEqual([2, 3, 5, 10, 30, 60, 300, 900, 3600, 3600]);
  const threeDays = 3 * 24 * 3600 * 1000;
  expect([threeDays - 1, threeDays].map((ms) => isAbandoned(now, new Date(ms)))).toEqual([false, true]);
});
