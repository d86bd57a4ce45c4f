import { demoDirectory } from '../../support/demo-wallet-messages.ts';
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect, test } from '@jest/globals';
import { home } from '../../../src/dashboard/language/english/home.ts';
import { order as english } from '../../../src/dashboard/language/english/order.ts';
import { orders } from '../../../src/dashboard/language/english/orders.ts';
import { refunds } from '../../../src/dashboard/language/english/refunds.ts';
import { eventEntry, webhookEntries } from '../../../src/dashboard/payments/order-story.ts';
import type { AttemptWriting } from '../../../src/dashboard/payments/order-story.ts';
import { orderSummary } from '../../../src/dashboard/payments/order-summary.ts';
import {
  OrderEventSchema,
  OrderEventType,
  OrderSchema,
  OrderStatus,
  PaymentAttemptSchema,
  PaymentAttemptStatus,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import { DeliveryState, OrderDeliverySchema } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';

const writing = {
  wallets: demoDirectory,
  words: orders,
  story: english.story,
  summary: english.summary,
  reasons: home.failures.reasons,
  refundFailures: refunds.failures,
  unsentAttempts: new Set<string>(),
  language: 'en',
  timeZone: 'Africa/Addis_Ababa',
} as const;

const at = (minute: number) => timestampFromDate(new Date(Date.UTC(2026, 10, 22, 6, minute)));
const now = new Date(Date.UTC(2026, 10, 22, 9, 1));
const attemptOf = (status: PaymentAttemptStatus, declineReason = '') =>
  create(PaymentAttemptSchema, {
    status,
    declineReason,
    paymentOption: 'walleta_ussd',
    phone: '+251911223344',
    createTime: at(1),
  });
const { SENT, UNKNOWN, SUCCEEDED, DECLINED, TIMED_OUT } = PaymentAttemptStatus;
const { PENDING, COMPLETED, FAILED, EXPIRED } = OrderStatus;

const orderOf = (status: OrderStatus, paymentOption = '') =>
  create(OrderSchema, {
    ...{ status, amount: '150', deducted: '150.00', currency: 'ETB', paymentOption },
    ...{ updateTime: at(5), expireTime: at(30) },
  });
type Facts = Omit<Parameters<typeof orderSummary>[0], 'now'>;
const summaryOf = (facts: Facts, own: Partial<AttemptWriting> = {}): string =>
  orderSummary({ ...facts, now }, { ...writing, ...own }).replaceAll('\u00A0', ' ');

test.each<[OrderStatus, PaymentAttemptStatus | undefined, string, string]>([
  [
    PENDING,
    undefined,
    '',
    'The customer has not started to pay. ETB 150.00 can be paid until 22 Nov 2026, 09:30.',
  ],
  [
    PENDING,
    SENT,
    '',
    'A payment from +251911223344 by Wallet A, USSD is in progress. The payer has not confirmed it yet.',
  ],
  [
    PENDING,
    UNKNOWN,
    '',
    'Wallet A, USSD has not reported whether it took the money. Gatehouse repeats the query until it gets a definite answer. ' +
      'The order stays Pending until then. The payment started on 22 Nov 2026, 09:01, 3 hours ago. ' +
      'If the wallet does not decide, two operators can settle the payment by hand.',
  ],
  [
    PENDING,
    DECLINED,
    'wrong_pin',
    'The last payment failed: Wrong PIN. The customer can try again until 22 Nov 2026, 09:30.',
  ],
  [COMPLETED, SUCCEEDED, '', '+251911223344 paid ETB 150.00 by Wallet A, USSD on 22 Nov 2026, 09:05.'],
  [FAILED, DECLINED, 'wrong_pin', 'The payment failed on 22 Nov 2026, 09:05: Wrong PIN.'],
  [FAILED, TIMED_OUT, '', 'The payment failed on 22 Nov 2026, 09:05: The payment was not confirmed in time.'],
  [FAILED, undefined, '', 'The order was cancelled on 22 Nov 2026, 09:05 before it was paid.'],
  [EXPIRED, undefined, '', 'The order expired on 22 Nov 2026, 09:05. No payment was attempted.'],
  [
    EXPIRED,
    DECLINED,
    'wrong_pin',
    'The order expired on 22 Nov 2026, 09:05 unpaid. The last payment failed: Wrong PIN.',
  ],
])(
  'an order of status %i with an attempt of status %p (%s) is described as: %s',
  (status, attempted, reason, sentence) => {
    const latestAttempt = attempted === undefined ? undefined : attemptOf(attempted, reason);
    const order = orderOf(status, latestAttempt?.paymentOption);
    const event = create(OrderEventSchema, {
      type: OrderEventType.FAILED,
      ...(latestAttempt === undefined ? {} : { paymentAttempt: latestAttempt }),
    });
    const events = status === FAILED ? [event] : [];

    expect(summaryOf({ order, events, latestAttempt })).toBe(sentence);
  },
);

test.each([
  [FAILED, OrderEventType.FAILED],
  [PENDING, OrderEventType.PAYMENT_DECLINED],
  [EXPIRED, OrderEventType.PAYMENT_DECLINED],
])(
  'an order of status %i whose last attempt was not sent is described by the money that was not returned',
  (status, type) => {
    const latestAttempt = attemptOf(TIMED_OUT);
    const event = create(OrderEventSchema, {
      type,
      paymentAttempt: latestAttempt,
      decision: { command: 'send_attempt' },
    });

    expect(summaryOf({ order: orderOf(status), events: [event], latestAttempt })).toContain(
      home.failures.reasons['money_not_returned'],
    );
    expect(eventEntry(event, writing, String).notes).toEqual([home.failures.reasons['money_not_returned']]);
  },
);

test('an order that was cancelled before its attempt was sent is described as cancelled', () => {
  const latestAttempt = attemptOf(TIMED_OUT);
  const event = create(OrderEventSchema, {
    type: OrderEventType.FAILED,
    paymentAttempt: latestAttempt,
    decision: { command: 'cancel' },
  });

  expect(summaryOf({ order: orderOf(FAILED), events: [event], latestAttempt })).toBe(
    'The order was cancelled on 22 Nov 2026, 09:05 before it was paid.',
  );
  expect(eventEntry(event, writing, String).notes).toEqual([home.failures.reasons.cancelled]);
});

test.each([
  [
    SENT,
    'A payment from +251911223344 by Wallet A, USSD was started. The wallet has not received the request yet, so the payer has no prompt.',
  ],
  [
    TIMED_OUT,
    'The last payment failed: The request was not sent to the wallet. The customer can try again until 22 Nov 2026, 09:30.',
  ],
])(
  'an attempt of status %i that never reached its wallet does not read as if it was sent',
  (status, text) => {
    const latestAttempt = { ...attemptOf(status), paymentAttemptId: 'pat_1' };
    const unsentAttempts = new Set(['pat_1']);

    expect(summaryOf({ order: orderOf(PENDING), events: [], latestAttempt }, { unsentAttempts })).toBe(text);
  },
);

test.each(['', 'erased'])(
  'an order that was paid from the phone %j is summarised without a payer',
  (phone) => {
    const latestAttempt = { ...attemptOf(SUCCEEDED), phone };

    expect(summaryOf({ order: orderOf(COMPLETED), events: [], latestAttempt })).toBe(
      'ETB 150.00 was paid on 22 Nov 2026, 09:05.',
    );
  },
);

test('an order without events and attempts is summarised by its own status', () => {
  const of = (status: OrderStatus) =>
    summaryOf({ order: orderOf(status), events: [], latestAttempt: undefined });

  expect([COMPLETED, FAILED].map(of)).toEqual([
    'ETB 150.00 was paid on 22 Nov 2026, 09:05.',
    'The order failed on 22 Nov 2026, 09:05. It was not paid.',
  ]);
});

test.each([
  [DeliveryState.PENDING, undefined, 'order.completed is pending'],
  [DeliveryState.GIVEN_UP, 'bad', 'order.completed was abandoned before it was sent'],
])('a webhook of state %i without attempts is shown by its state', (state, tone, title) => {
  const delivery = create(OrderDeliverySchema, { delivery: { state, eventType: 'order.completed' } });

  expect(webhookEntries(delivery, '', String, writing)).toMatchObject([{ tone, title }]);
});
