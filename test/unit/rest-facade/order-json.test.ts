import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { OrderSchema, OrderStatus, PaymentType } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { orderToJson } from '../../../src/merchant-api/order-json.ts';
import { forAll } from '../../support/for-all.ts';

const order = create(OrderSchema, {
  orderId: 'ord_1',
  status: OrderStatus.PENDING,
  paymentType: PaymentType.API,
  createTime: timestampFromDate(new Date('2025-11-20T09:30:00.000Z')),
  updateTime: timestampFromDate(new Date('2025-11-20T09:31:02.045Z')),
});

describe('an order as merchants see it', () => {
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

  forAll([fc.string({ unit: 'grapheme' })])('has every text unchanged', (text) => {
    const json = orderToJson({ ...order, reason: text, amount: text, customerPhone: text });
    expect([json.reason, json.amount, json.customer_phone]).toEqual([text, text, text]);
  });

  test.each([
    ['status', { status: OrderStatus.UNSPECIFIED }],
    ['payment_type', { paymentType: PaymentType.UNSPECIFIED }],
  ])('is an error without %s', (field, change) => {
    expect(() => orderToJson({ ...order, ...change })).toThrow(`order ord_1 has no ${field}`);
  });
});
