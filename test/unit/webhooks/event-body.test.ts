import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  Environment,
  OrderEventSchema,
  OrderEventType,
  OrderStatus,
  PaymentType,
  RefundSchema,
  RefundStatus,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { encodeMessage } from '../../../src/platform/rpc/message-bytes.ts';
import { orderToJson } from '../../../src/merchant-api/order-json.ts';
import { refundToJson } from '../../../src/merchant-api/refund-json.ts';
import {
  endType,
  eventBody,
  isWithoutWebhook,
  testEventBody,
  webhookTypes,
} from '../../../src/webhooks/intake/event-body.ts';

const completed = (
  own: { type?: OrderEventType; environment?: Environment; paymentType?: PaymentType } = {},
): OrderEvent =>
  create(OrderEventSchema, {
    eventId: 'evt_01jd2x8m5vf7e8r0c3q6t9w1ya',
    type: own.type ?? OrderEventType.COMPLETED,
    sequence: 3n,
    occurTime: timestampFromDate(new Date('2026-11-21T09:30:00.007Z')),
    previousStatus: OrderStatus.PENDING,
    order: {
      orderId: 'ord_01jd2x8m5vf7e8r0c3q6t9w1yb',
      merchantId: 'mer_01jd2x8m5vf7e8r0c3q6t9w1yc',
      environment: own.environment ?? Environment.SANDBOX,
      orderNumber: 'INV-2026-0042',
      status: OrderStatus.COMPLETED,
      amount: '100.50',
      deducted: '100.50',
      currency: 'ETB',
      paymentOption: 'walleta_ussd',
      paymentType: own.paymentType ?? PaymentType.API,
      customerPhone: '0911223344',
      reason: 'ሁለት ጫማ "42" / €',
      webhookUrl: 'https://shop.example/hook',
      createTime: timestampFromDate(new Date('2026-11-21T09:29:00.000Z')),
      updateTime: timestampFromDate(new Date('2026-11-21T09:30:00.007Z')),
    },
  });

/** The event of a refund that has ended, as documented in docs/webhooks.md. */
const refunded = (type: OrderEventType, status: RefundStatus): OrderEvent =>
  create(OrderEventSchema, {
    ...completed({ type }),
    eventId: 'evt_01jd4s1n6h2y8v5t0c3k7m9r4x',
    sequence: 5n,
    occurTime: timestampFromDate(new Date('2025-11-21T08:15:02.731Z')),
    previousStatus: OrderStatus.COMPLETED,
    refund: create(RefundSchema, {
      refundId: 'rfd_01jd4s1k7w9q3m5x8b2n6c0v4z',
      refundNumber: 'RET-2025-0007',
      orderNumber: 'INV-2025-0043',
      status,
      amount: '40.50',
      currency: 'ETB',
      reason: 'One book came back',
      failureReason: status === RefundStatus.FAILED ? 'account_state' : '',
      createTime: timestampFromDate(new Date('2025-11-21T08:15:00.000Z')),
      updateTime: timestampFromDate(new Date('2025-11-21T08:15:02.731Z')),
    }),
  });

const eventTypes = Object.values(OrderEventType).filter((type) => typeof type === 'number');
const paymentTypes = Object.values(PaymentType).filter((type) => typeof type === 'number');

describe('the body of an event', () => {
  test('has the documented bytes', () => {
    expect(eventBody(completed(), 'order.completed').toString()).toBe(
      '{"id":"evt_01jd2x8m5vf7e8r0c3q6t9w1ya","type":"order.completed","created_at":"2026-11-21T09:30:00.007Z",' +
        '"environment":"sandbox","sequence":3,"previous_status":"PENDING","data":{' +
        '"order_id":"ord_01jd2x8m5vf7e8r0c3q6t9w1yb","order_number":"INV-2026-0042","status":"COMPLETED",' +
        '"amount":"100.50","deducted":"100.50","currency":"ETB","payment_option":"walleta_ussd",' +
        '"payment_type":"API","customer_phone":"0911223344","reason":"ሁለት ጫማ \\"42\\" / €",' +
        '"created_timestamp":"2026-11-21T09:29:00.000Z","updated_timestamp":"2026-11-21T09:30:00.007Z"}}',
    );
  });

  test('contains exactly the answer of verify, and names the environment', () => {
    const event = completed({ environment: Environment.PRODUCTION });
    expect(JSON.parse(eventBody(event, 'order.completed').toString())).toMatchObject({
      environment: 'production',
      data: event.order && orderToJson(event.order),
    });
  });

  test.each([
    [OrderEventType.COMPLETED, 'order.completed', 'payment_link.completed'],
    [OrderEventType.FAILED, 'order.failed', 'payment_link.failed'],
    [OrderEventType.EXPIRED, 'order.expired', 'payment_link.expired'],
  ] as const)('names the types of %i %s, and %s for a payment link', (type, general, specific) => {
    expect(webhookTypes(completed({ type }))).toEqual([general]);
    expect(() => eventBody(completed({ type }), specific)).toThrow(TypeError);
    for (const paymentType of [PaymentType.LINK, PaymentType.QR]) {
      const link = completed({ type, paymentType });
      expect([endType(link), ...webhookTypes(link)]).toEqual([general, specific, general]);
      for (const name of [general, specific])
        expect(JSON.parse(eventBody(link, name).toString())).toMatchObject({ type: name });
    }
  });

  test.each([PaymentType.LINK, PaymentType.QR])(
    'reports that a payment link was created (%i)',
    (paymentType) => {
      const link = { ...completed({ type: OrderEventType.CREATED, paymentType }), sequence: 1n };
      link.previousStatus = OrderStatus.UNSPECIFIED;

      expect(webhookTypes(link)).toEqual(['payment_link.created']);
      expect(endType(link)).toBeUndefined();
      expect(JSON.parse(eventBody(link, 'payment_link.created').toString())).toMatchObject({
        type: 'payment_link.created',
        sequence: 1,
        previous_status: '',
        data: { order_id: 'ord_01jd2x8m5vf7e8r0c3q6t9w1yb' },
      });
    },
  );

  test.each([
    OrderEventType.CREATED,
    OrderEventType.PAYMENT_STARTED,
    OrderEventType.PAYMENT_DECLINED,
    OrderEventType.REFUND_REQUESTED,
    OrderEventType.REFUND_APPROVED,
    OrderEventType.STRAY_PAYMENT_SETTLED,
  ])('does not exist for an intermediate step (%i)', (type) => {
    expect(webhookTypes(completed({ type }))).toEqual([]);
    expect(() => eventBody(completed({ type }), 'order.completed')).toThrow(TypeError);
  });

  test.each(eventTypes)('is decided without decoding the event, unless it may have one (%i)', (type) => {
    for (const paymentType of paymentTypes) {
      const event = completed({ type, paymentType });
      const subject = `orders.sandbox.mer_1.${OrderEventType[type].toLowerCase()}`;
      const isKnown = type !== OrderEventType.UNSPECIFIED;

      expect(isWithoutWebhook(subject, encodeMessage(OrderEventSchema, event))).toBe(
        isKnown && webhookTypes(event).length === 0,
      );
    }
    expect(isWithoutWebhook('orders.sandbox.mer_1.type_of_a_later_version', new Uint8Array())).toBe(false);
  });

  test('is an error when the event lacks its order', () => {
    const event = create(OrderEventSchema, { eventId: 'evt_1', type: OrderEventType.COMPLETED });
    expect(() => eventBody(event, 'order.completed')).toThrow(/evt_1/);
  });
});

describe('the body of a refund that has ended', () => {
  test('is the documented bytes', () => {
    const page = readFileSync(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8');
    const body = eventBody(
      refunded(OrderEventType.REFUND_COMPLETED, RefundStatus.COMPLETED),
      'refund.completed',
    ).toString();

    expect(page).toContain(`\n\`\`\`text\n${body}\n\`\`\`\n`);
  });

  test.each([
    [OrderEventType.REFUND_COMPLETED, RefundStatus.COMPLETED, 'refund.completed', 'COMPLETED'],
    [OrderEventType.REFUND_FAILED, RefundStatus.FAILED, 'refund.failed', 'FAILED'],
  ] as const)('has the refund in the form of refund/verify (%i)', (type, status, name, shown) => {
    const event = refunded(type, status);

    expect(webhookTypes(event)).toEqual([name]);
    expect(JSON.parse(eventBody(event, name).toString())).toMatchObject({
      type: name,
      previous_status: 'PENDING',
      data: event.refund && refundToJson(event.refund),
    });
    expect(event.refund && refundToJson(event.refund)).toMatchObject({ status: shown });
  });

  test('is an error when the event lacks its refund', () => {
    expect(() => eventBody(completed({ type: OrderEventType.REFUND_FAILED }), 'refund.failed')).toThrow(
      /lacks the refund/,
    );
  });
});

describe('the body of a test event', () => {
  const at = new Date('2026-11-21T09:30:00.007Z');
  const body = (environment: 'SANDBOX' | 'PRODUCTION'): Record<string, unknown> =>
    JSON.parse(testEventBody({ eventId: 'evt_1', environment, at }).toString()) as Record<string, unknown>;

  test('has the form of any other event', () => {
    const real = JSON.parse(eventBody(completed(), 'order.completed').toString()) as { data: object };
    expect(Object.keys(body('SANDBOX'))).toEqual(Object.keys(real));
    expect(Object.keys(body('SANDBOX')['data'] as object)).toEqual(Object.keys(real.data));
  });

  test('says that it is a test, and that nothing was paid', () => {
    expect(body('PRODUCTION')).toMatchObject({
      id: 'evt_1',
      type: 'webhook.test',
      created_at: '2026-11-21T09:30:00.007Z',
      environment: 'production',
      data: { status: 'PENDING', deducted: '0.00' },
    });
  });
});
