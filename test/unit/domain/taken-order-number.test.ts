import { describe, expect, test } from '@jest/globals';
import type { OrderFacts, OrderStatus, PaymentAttemptStatus } from '../../../src/core/domain/order.ts';
import type { DirectCall } from '../../../src/core/domain/taken-order-number.ts';
import { answerDirectPayment, answerRegistration } from '../../../src/core/domain/taken-order-number.ts';
import { buildAttempt, buildFacts, buildOrder, money, phone } from './build-order.ts';

const statuses: readonly OrderStatus[] = ['PENDING', 'COMPLETED', 'FAILED', 'EXPIRED'];

describe('registering an order_number again', () => {
  const asked = (changes: Partial<OrderFacts> = {}, sessionLifetimeMs?: number) => ({
    facts: buildFacts(changes),
    sessionLifetimeMs,
  });

  const repeats: readonly (readonly [string, Partial<OrderFacts>])[] = [
    ['the same values', {}],
    ['a new id and new times', { id: 'ord_2', createdAt: new Date(0), expiresAt: new Date(1) }],
    ['the amount in another notation', { amount: money('100.5') }],
    ['the phone in another notation', { customerPhone: phone('+251911223344') }],
  ];
  test.each(repeats)(
    'with %s repeats an order that is open or paid, and names the final status of any other',
    (_, same) => {
      expect(statuses.map((status) => answerRegistration(buildOrder({ status }), asked(same)))).toEqual([
        { type: 'repeat' },
        { type: 'repeat' },
        { type: 'ended', status: 'FAILED' },
        { type: 'ended', status: 'EXPIRED' },
      ]);
    },
  );

  const others: readonly (readonly [fields: readonly string[], Partial<OrderFacts>])[] = [
    [['amount'], { amount: money('100.51') }],
    [['currency'], { amount: money('100.50', 'USD') }],
    [['amount', 'currency'], { amount: money('100.51', 'USD') }],
    [['payment_type'], { paymentType: 'QR' }],
    [['customer_phone'], { customerPhone: phone('0911223345') }],
    [['reason'], { reason: 'two coffees' }],
    [['business_name'], { businessName: '' }],
    [['return_url'], { returnUrl: 'https://shop.example/return/' }],
    [['webhook_url'], { webhookUrl: '' }],
    [['amount', 'reason'], { amount: money('1'), reason: 'Tea' }],
  ];
  test.each(others)('with other values differs in %j, in every state of the order', (fields, changes) => {
    for (const status of statuses)
      expect(answerRegistration(buildOrder({ status }), asked(changes))).toEqual({ type: 'differs', fields });
  });

  test('after an erasure of its personal data, repeats with any phone and reason, and differs in other values', () => {
    const order = buildOrder({
      status: 'COMPLETED',
      customerPhone: { asGiven: 'erased', e164: '' },
      reason: 'erased',
    });
    const other = { customerPhone: phone('0911999999'), reason: 'Tea' };

    expect(answerRegistration(order, asked(other))).toEqual({ type: 'repeat' });
    expect(answerRegistration(order, asked({ ...other, amount: money('1') }))).toEqual({
      type: 'differs',
      fields: ['amount'],
    });
  });

  test("compares the session's length only when the request has one", () => {
    const answers = [undefined, 30 * 60_000, 31 * 60_000].map((ms) =>
      answerRegistration(buildOrder(), asked({}, ms)),
    );

    expect(answers).toEqual([
      { type: 'repeat' },
      { type: 'repeat' },
      { type: 'differs', fields: ['session_lifetime'] },
    ]);
  });

  test('a link registered without a phone is the same link after its first attempt has named one', () => {
    const facts = buildFacts({ paymentType: 'LINK', customerPhone: { asGiven: '', e164: '' } });
    const order = buildOrder({ ...facts, customerPhone: phone('0911223344') });

    expect(answerRegistration(order, { facts, sessionLifetimeMs: undefined })).toEqual({ type: 'repeat' });
  });
});

describe('a direct payment on a taken order_number', () => {
  const call = (changes: Partial<DirectCall> = {}): DirectCall => ({
    amount: money('100.50'),
    phone: phone('0911223344'),
    paymentOption: 'walleta_ussd',
    ...changes,
  });
  const open: readonly PaymentAttemptStatus[] = ['REQUESTED', 'SENT', 'UNKNOWN'];
  const attempts: readonly PaymentAttemptStatus[] = [...open, 'SUCCEEDED', 'DECLINED', 'TIMED_OUT'];

  test('after an erasure of its personal data, repeats with any phone, also on a registered order', () => {
    const attempt = buildAttempt({ status: 'SUCCEEDED', origin: 'DIRECT', phone: 'erased' });
    const erased = { status: 'COMPLETED', latestAttempt: attempt } as const;

    expect(
      (['DIRECT', 'API'] as const).map((paymentType) =>
        answerDirectPayment(buildOrder({ ...erased, paymentType }), [], call({ phone: phone('0911999999') })),
      ),
    ).toEqual([
      { type: 'repeat', attempt },
      { type: 'repeat', attempt },
    ]);
  });

  test('repeats the call that made the DIRECT order, in every state of order and attempt', () => {
    for (const status of statuses)
      for (const latest of attempts) {
        const attempt = buildAttempt({ status: latest, origin: 'DIRECT' });
        const order = buildOrder({ paymentType: 'DIRECT', status, latestAttempt: attempt });

        expect(answerDirectPayment(order, [], call({ amount: money('100.5') }))).toEqual({
          type: 'repeat',
          attempt,
        });
      }
  });

  test.each([
    [['amount'], { amount: money('100.51') }],
    [['currency'], { amount: money('100.50', 'USD') }],
    [['phone'], { phone: phone('0911223345') }],
    [['payment_option'], { paymentOption: 'walletb_ussd' }],
    [
      ['amount', 'phone', 'payment_option'],
      { amount: money('1'), phone: phone('0911223345'), paymentOption: 'walletb_ussd' },
    ],
  ] as const)('differs from a DIRECT order in %j, in every state of it', (fields, changes) => {
    for (const status of statuses) {
      const order = buildOrder({
        paymentType: 'DIRECT',
        status,
        latestAttempt: buildAttempt({ status: 'DECLINED' }),
      });

      expect(answerDirectPayment(order, [], call(changes))).toEqual({ type: 'differs', fields });
    }
  });

  test('on a registered order repeats its own attempt, and follows a checkout attempt that has ended', () => {
    for (const origin of ['DIRECT', 'CHECKOUT'] as const)
      for (const status of statuses)
        for (const latest of attempts) {
          const order = buildOrder({ status, latestAttempt: buildAttempt({ status: latest, origin }) });
          const isFree = origin === 'CHECKOUT' && status === 'PENDING' && !open.includes(latest);
          expect(answerDirectPayment(order, [], call()).type).toBe(isFree ? 'start' : 'repeat');
        }
  });

  test('on a registered order is recognised after other attempts, too, and another phone or option is another call', () => {
    const mine = buildAttempt({ id: 'pat_1', status: 'DECLINED', origin: 'DIRECT' });
    const ended = { status: 'DECLINED', origin: 'DIRECT' } as const;
    const latest = buildAttempt({ ...ended, id: 'pat_2', phone: '+251922334455' });
    const order = buildOrder({ latestAttempt: latest });

    expect(answerDirectPayment(order, [mine], call())).toEqual({ type: 'repeat', attempt: mine });
    for (const other of [{ phone: phone('0911223345') }, { paymentOption: 'walletb_ussd' }] as const)
      expect(answerDirectPayment(order, [mine], call(other))).toEqual({ type: 'start' });
    expect(answerDirectPayment(order, [mine], call({ amount: money('100.51') }))).toEqual({
      type: 'differs',
      fields: ['amount'],
    });
  });
});
