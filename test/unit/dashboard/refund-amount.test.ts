import { create } from '@bufbuild/protobuf';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { orders } from '../../../src/dashboard/language/english/orders.ts';
import { refunds } from '../../../src/dashboard/language/english/refunds.ts';
import { decimalText, unitsOf } from '../../../src/dashboard/payments/decimal-text.ts';
import { isAboveLimit, refundAmountProblem } from '../../../src/dashboard/refunds/refund-amount.ts';
import { confirmRefundView } from '../../../src/dashboard/refunds/refund-form-views.ts';
import { OrderSchema, PaymentAttemptSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { GetRefundableResponseSchema } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { demoDirectory } from '../../support/demo-wallet-messages.ts';

const writing = { own: refunds, words: orders, language: 'en' } as const;
const refundable = {
  left: '60.00',
  refunded: '30.00',
  pending: '10.00',
  currency: 'ETB',
  partial: true,
  decimals: 2,
  approvalAbove: '',
};
const problemOf = (text: string, own: Partial<typeof refundable> = {}): string | undefined =>
  refundAmountProblem(text, { ...refundable, ...own }, writing)?.replaceAll('\u00A0', ' ');

test.each<[string, Partial<typeof refundable>, string | undefined]>([
  ['60', {}, undefined],
  ['0.01', {}, undefined],
  ['60.01', {}, 'Enter at most ETB 60.00. The rest is already refunded or pending.'],
  ['60.01', { pending: '0.00' }, 'Enter at most ETB 60.00. The rest is already refunded or pending.'],
  ['60.01', { refunded: '0.00', pending: '0.00' }, 'Enter at most ETB 60.00.'],
  ['0.00', {}, 'Enter an amount greater than zero.'],
  ['1.005', {}, 'Enter no more decimals than the currency has, such as 99.50 in ETB.'],
  ['050', {}, 'Enter digits only, with a point before decimals, such as 1500 or 99.50.'],
  ['-1', {}, 'Enter digits only, with a point before decimals, such as 1500 or 99.50.'],
  ['60.0', { partial: false }, undefined],
  ['59.99', { partial: false }, 'Enter ETB 60.00. This wallet returns a payment only as a whole.'],
  ['5.50', { decimals: 0 }, 'Enter a whole amount. This wallet takes no decimals.'],
  ['5.55', { decimals: 1 }, 'Enter at most 1 decimal. This wallet takes no more.'],
  ['60.50', { decimals: 0, left: '60.50' }, undefined],
])('the amount %s with %j is checked: %s', (text, own, problem) => {
  expect(problemOf(text, own)).toBe(problem);
});

describe('the limit above which a second person approves', () => {
  test.each<[string, string, boolean]>([
    ['10', '', false],
    ['10', '50', false],
    ['10.01', '50', true],
    ['0.01', '0', true],
  ])('a refund of %s beside refunds of 40, with the limit "%s": %s', (text, approvalAbove, isAbove) => {
    expect(isAboveLimit(text, { ...refundable, approvalAbove })).toBe(isAbove);
  });
});

test('decimal text and its units are the same amount, at any number of decimals', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 14n }), fc.integer({ min: 0, max: 4 }), (units, places) => {
      const text = decimalText(units, places);
      fc.pre(text.split('.')[0]!.length <= 12);
      expect(unitsOf(text, places)).toBe(units);
    }),
  );
});

test.each(['', 'erased'])('a refund of a payment from the phone %j goes back to the payer', (phone) => {
  const payment = create(PaymentAttemptSchema, { paymentOption: 'walleta_ussd', phone });
  const order = create(OrderSchema, { orderId: 'ord_1' });
  const pageMerchant = {
    merchantId: 'mer_1',
    merchantName: 'Abeba',
    environment: 'sandbox',
    role: 'owner',
  } as const;
  const page = {
    path: '/refund',
    pageMerchant,
    writing: { ...writing, timeZone: 'UTC', wallets: demoDirectory },
  };
  const values = { amount: '10', reason: 'shoes', refund_number: 'R-1' };

  const view = confirmRefundView(
    { order, refundable: create(GetRefundableResponseSchema, refundable), payment },
    values,
    page,
  );

  expect(view.lead).toContain('will go back to the payer by Wallet A');
});
