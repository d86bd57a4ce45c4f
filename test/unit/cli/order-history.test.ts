import { create } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect, test } from '@jest/globals';
import { showTimeline } from '../../../src/cli/order-history.ts';
import {
  OrderEventSchema,
  OrderEventType,
  OrderSchema,
  OrderStatus,
  PaymentAttemptSchema,
  PaymentAttemptStatus,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { OrderEvent, PaymentAttempt } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { OrderStoryService } from '../../../src/gen/gatehouse/v1/order_story_service_pb.js';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import {
  StrayPaymentService,
  StrayPaymentStatus,
} from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import type { StrayPaymentSchema } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { runCommand, serversWith } from '../../support/run-command.ts';

const at = (second: number) => timestampFromDate(new Date(Date.UTC(2026, 0, 31, 8, 30, second)));

const order = create(OrderSchema, {
  ...{ amount: '150.00', deducted: '149.50', currency: 'ETB', expireTime: at(59), lastEventSequence: 1n },
});

const attempt = (id: string, status: PaymentAttemptStatus, declineReason = '') =>
  create(PaymentAttemptSchema, {
    ...{ paymentAttemptId: id, status, declineReason, phone: '+251911223344', createTime: at(1) },
    paymentOption: 'walletb_ussd',
  });

const event = (
  type: OrderEventType,
  sequence: number,
  more: MessageInitShape<typeof OrderEventSchema> = {},
): OrderEvent =>
  create(OrderEventSchema, { type, sequence: BigInt(sequence), occurTime: at(sequence), order, ...more });

const declined = attempt('pat_1', PaymentAttemptStatus.DECLINED, 'insufficient_funds');

const { PAYMENT_STARTED, PAYMENT_DECLINED, FAILED } = OrderEventType;
const timedOut = { paymentAttempt: attempt('pat_1', PaymentAttemptStatus.TIMED_OUT) };
const ofDeclined = { paymentAttempt: declined };

test.each([
  [event(OrderEventType.CREATED, 1), 'created  registered: 150.00 ETB, to be paid by 2026-01-31T08:30:59Z'],
  [
    event(PAYMENT_STARTED, 1, ofDeclined),
    'payment_started  payment by walletb_ussd from +251911223344 started',
  ],
  [
    event(PAYMENT_DECLINED, 1, ofDeclined),
    'payment_declined  not paid: attempt declined: insufficient_funds',
  ],
  [event(OrderEventType.COMPLETED, 1), 'completed  paid: 149.50 ETB deducted'],
  [event(FAILED, 1, timedOut), 'failed  failed: attempt timed_out'],
  [event(OrderEventType.FAILED, 1), 'failed  cancelled'],
  [event(FAILED, 1, { ...timedOut, decision: { command: 'cancel' } }), 'failed  cancelled'],
  [
    event(PAYMENT_DECLINED, 1, { ...timedOut, decision: { command: 'send_attempt' } }),
    'payment_declined  not paid: not sent, earlier money was not returned yet',
  ],
  [
    event(FAILED, 1, { ...timedOut, decision: { command: 'time_out_attempt', unsent: true } }),
    'failed  failed: not sent, the wallet was not reached in time',
  ],
  [event(OrderEventType.EXPIRED, 1), 'expired  the time to pay expired'],
])('the timeline describes the events: %#', (happened, told) => {
  const [, line = ''] = showTimeline(order, [happened], 100).split('\n');

  expect(line).toBe(`2026-01-31T08:30:01Z  1  ${told}`);
});

test('the timeline names the request that caused an event', () => {
  const timeline = showTimeline(order, [event(OrderEventType.CREATED, 1, { requestId: 'req-1' })], 100);

  expect(timeline).toMatch(/\n +request req-1$/);
});

test('the timeline says that the order has newer events than can be listed', () => {
  const newer = create(OrderSchema, { ...order, lastEventSequence: 2n });

  expect(showTimeline(newer, [event(OrderEventType.CREATED, 1)], 100)).toContain(
    'Newer events, up to event 2, are listed',
  );
});

const settings = { GATEHOUSE_CORE_ADDRESSES: '127.0.0.1:1', GATEHOUSE_SERVICE_TOKEN: 'token' };

/** Core with one order, which has these attempts, newest first, and stray payments. */
const coreWith = (
  paymentAttempts: readonly { readonly paymentAttempt: PaymentAttempt; readonly unsent?: boolean }[],
  strayPayments: MessageInitShape<typeof StrayPaymentSchema>[] = [],
) =>
  serversWith(({ service }) => {
    const pending = { ...order, status: OrderStatus.PENDING };
    service(OrderService, { getOrder: () => ({ order: pending }), listOrderEvents: () => ({}) });
    service(OrderStoryService, {
      getOrderStory: () => ({ order: pending, paymentAttempts: [...paymentAttempts] }),
    });
    service(PaymentAttemptService, {
      getPaymentAttempt: () => ({ paymentAttempt: paymentAttempts[0]!.paymentAttempt, order: pending }),
    });
    service(StrayPaymentService, { listStrayPayments: () => ({ strayPayments }) });
    service(RefundService, { listRefunds: () => ({}) });
  });

test('the attempts of an order are shown as they are now, oldest first', async () => {
  const servers = coreWith([
    { paymentAttempt: attempt('pat_2', PaymentAttemptStatus.SENT) },
    { paymentAttempt: declined },
  ]);

  const { stdout } = await runCommand(['order', 'show', 'mer_1', 'A-1'], settings, servers);

  expect(stdout).toMatch(
    /^pat_1 +declined +walletb_ussd +\+251911223344 .*\ninsufficient_funds\npat_2 +sent +walletb_ussd .*\n\n/m,
  );
});

test.each([
  ['SENT', true, 'sent'],
  ['TIMED_OUT', true, 'timed_out'],
  ['REQUESTED', false, 'requested'],
] as const)('of a %s attempt that no wallet has, that is said: %p', async (status, isSaid, word) => {
  const servers = coreWith([
    { paymentAttempt: attempt('pat_1', PaymentAttemptStatus[status]), unsent: true },
  ]);

  const ofOrder = await runCommand(['order', 'show', 'mer_1', 'A-1'], settings, servers);
  const ofPayment = await runCommand(['payment', 'show', 'mer_1', 'pat_1'], settings, servers);

  const note = 'not received by the wallet';
  expect(ofOrder.stdout.includes(`\n${note}\n`)).toBe(isSaid);
  expect(ofPayment.stdout).toMatch(new RegExp(`^Status +${word}${isSaid ? `: ${note}` : ''}$`, 'm'));
});

test.each([
  ['pat_01m7xjbb99evv8hx2dqm5r8qgn', true],
  ['', false],
])(
  'stray money of the attempt %j keeps its order from other payments: %p',
  async (paymentAttemptId, isKept) => {
    const stray = { paymentAttemptId, status: StrayPaymentStatus.REVERSAL_DUE };
    const { stdout } = await runCommand(['order', 'show', 'mer_1', 'A-1'], settings, coreWith([], [stray]));

    expect(stdout).toContain('Stray payments of the order');
    expect(stdout.includes('accepts no other payment')).toBe(isKept);
  },
);
