import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  Environment,
  OrderSchema,
  OrderStatus,
  PaymentType,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import { orderToJson } from '../../../src/merchant-api/order-json.ts';

const order = create(OrderSchema, {
  orderId: 'ord_1',
  merchantId: 'mer_1',
  environment: Environment.SANDBOX,
  orderNumber: 'INV-1',
  status: OrderStatus.PENDING,
  amount: '100.5',
  deducted: '0.00',
  currency: 'ETB',
  paymentType: PaymentType.API,
  customerPhone: '0911223344',
  reason: 'Books',
  businessName: 'Abebe Books',
  returnUrl: 'https://shop.example/thanks',
  webhookUrl: 'https://shop.example/hook',
  createTime: timestampFromDate(new Date('2025-11-20T09:30:00.000Z')),
  updateTime: timestampFromDate(new Date('2025-11-20T09:31:02.045Z')),
  expireTime: timestampFromDate(new Date('2025-11-20T10:00:00.000Z')),
  lastEventSequence: 1n,
});

describe('an order as merchants see it', () => {
  test('has exactly the twelve fields of the spec, in its sequence', () => {
    expect(Object.entries(orderToJson(order))).toEqual([
      ['order_id', 'ord_1'],
      ['order_number', 'INV-1'],
      ['status', 'PENDING'],
      ['amount', '100.5'],
      ['deducted', '0.00'],
      ['currency', 'ETB'],
      ['payment_option', ''],
      ['payment_type', 'API'],
      ['customer_phone', '0911223344'],
      ['reason', 'Books'],
      ['created_timestamp', '2025-11-20T09:30:00.000Z'],
      ['updated_timestamp', '2025-11-20T09:31:02.045Z'],
    ]);
  });

  test('has every status, payment option and payment type under its name', () => {
    const { PENDING, COMPLETED, FAILED, EXPIRED } = OrderStatus;
    const statuses = [PENDING, COMPLETED, FAILED, EXPIRED];
    const options = ['', 'walleta_ussd', 'walletb_ussd', 'walleta_wallet'];
    const types = [PaymentType.LINK, PaymentType.QR, PaymentType.DIRECT, PaymentType.API];

    expect(statuses.map((status) => orderToJson({ ...order, status }).status).join()).toBe(
      'PENDING,COMPLETED,FAILED,EXPIRED',
    );
    expect(
      options.map((option) => orderToJson({ ...order, paymentOption: option }).payment_option).join(),
    ).toBe(',walleta_ussd,walletb_ussd,walleta_wallet');
    expect(types.map((type) => orderToJson({ ...order, paymentType: type }).payment_type).join()).toBe(
      'LINK,QR,DIRECT,API',
    );
  });

  test('has times in UTC with milliseconds, without finer fractions', () => {
    const createTime = timestampFromDate(new Date('2025-11-20T09:30:00.007Z'));
    createTime.nanos += 999_999;
    expect(orderToJson({ ...order, createTime }).created_timestamp).toBe('2025-11-20T09:30:00.007Z');
  });

  test('has every text unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const json = orderToJson({ ...order, reason: text, amount: text, customerPhone: text });
        expect([json.reason, json.amount, json.customer_phone]).toEqual([text, text, text]);
      }),
    );
  });

  test.each([
    ['status', { status: OrderStatus.UNSPECIFIED }],
    ['payment_type', { paymentType: PaymentType.UNSPECIFIED }],
  ])('is an error without %s', (field, change) => {
    expect(() => orderToJson({ ...order, ...change })).toThrow(`order ord_1 has no ${field}`);
  });
});
