import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { Refund } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { DeliveryCause, DeliveryState } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { refundToJson } from '../../../src/merchant-api/refund-json.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { outcomes, sharedPaymentDesk } from '../core/payment-desk.ts';
import { answer, startReceiver } from './receivers.ts';
import type { Receiver } from './receivers.ts';

const environment = Environment.SANDBOX;
const stack = sharedStack({ facades: 0, webhooks: 1 });
const desk = sharedPaymentDesk(stack);
const refunds = sharedClient(stack, RefundService, 'writer');
const wallets = sharedClient(stack, RefundService, 'wallets');

let merchantId: string;
let receiver: Receiver;

beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant({ signsWebhooks: true }));
  receiver = await startReceiver();
});

afterEach(async () => {
  await receiver.close();
});

/** A COMPLETED order of 100.50 ETB whose webhooks go to the receiver. */
async function paidOrder(orderNumber: string): Promise<void> {
  const hosted = await desk.registerHosted({ merchantId, orderNumber, webhookUrl: receiver.origin });
  await desk.settle(await desk.payHosted(hosted), outcomes.completed('t-1'));
}

/** Refunds a part of the order, and records the wallet's answer. */
async function refund(
  orderNumber: string,
  amount: string,
  outcome: 'done' | 'refused',
): Promise<Refund | undefined> {
  await refunds.createRefund({
    merchantId,
    environment,
    order: { case: 'orderNumber', value: orderNumber },
    refundNumber: `${orderNumber}-${amount}`,
    amount,
    reason: 'Shoes came back',
  });
  const { refunds: leased } = await wallets.leaseRefunds({
    environment,
    paymentOptions: ['walleta_ussd'],
    maxRefunds: 1,
    lease: { seconds: 60n },
  });
  const { refundId = '' } = leased[0]?.refund ?? {};
  const reply = await wallets.recordRefundOutcome({
    merchantId,
    refundId,
    leaseId: leased[0]?.leaseId ?? '',
    outcome:
      outcome === 'done'
        ? { case: 'done', value: {} }
        : { case: 'refused', value: { reason: 'account_state', detail: 'closed', definite: true } },
  });
  return reply.refund;
}

interface Body {
  readonly type: string;
  readonly sequence: number;
  readonly data: unknown;
}

const bodies = (): Body[] => receiver.webhooks.map(({ body }) => JSON.parse(body.toString()) as Body);

const arrived = (count: number): Promise<Body[]> =>
  waitUntil(`${count} webhooks have arrived`, () => bodies().length >= count && bodies());

test('an order that is refunded in parts sends its end, and then each refund as refund/verify returns it', async () => {
  await paidOrder('R-1');
  const first = await refund('R-1', '40.50', 'done');
  const second = await refund('R-1', '60.00', 'done');

  const received = await arrived(3);

  expect(received.map(({ type, sequence }) => [sequence, type])).toEqual([
    [3, 'order.completed'],
    [5, 'refund.completed'],
    [7, 'refund.completed'],
  ]);
  expect(received.slice(1).map(({ data }) => data)).toEqual(
    [first, second].map((each) => each && refundToJson(each)),
  );
});

test('while the end of the order gets no 2xx, its refunds wait, and a process that takes over sends them in order', async () => {
  receiver.behave(answer(503));
  await paidOrder('R-2');
  await arrived(1);
  await refund('R-2', '40.50', 'done');
  await refund('R-2', '60.00', 'refused');
  const client = stack.webhookClient('operator');
  const waiting = await waitUntil('all three deliveries exist', async () => {
    const { deliveries } = await client.listDeliveries({ merchantId, orderNumber: 'R-2' });
    return deliveries.length === 3 && deliveries;
  });
  const held = waiting.find(({ eventType }) => eventType === 'refund.completed')?.deliveryId ?? '';

  expect(await client.explainDelivery({ merchantId, deliveryId: held })).toMatchObject({
    explanation: {
      cause: DeliveryCause.EARLIER_EVENT_PENDING,
      earlierEventType: 'order.completed',
    },
  });
  await stack.webhooks[0]?.stop();
  receiver.behave(answer(204));
  const successor = await stack.startWebhooks();

  await waitUntil('all three are delivered', async () => {
    const { deliveries } = await stack
      .webhookClient('operator', successor)
      .listDeliveries({ merchantId, orderNumber: 'R-2', states: [DeliveryState.DELIVERED] });
    return deliveries.length === 3;
  });
  const types = bodies().map(({ type }) => type);
  const refused = types.lastIndexOf('order.completed');
  expect(refused).toBeGreaterThan(0);
  expect(types.slice(0, refused)).toEqual(Array<string>(refused).fill('order.completed'));
  expect(types.slice(refused)).toEqual(['order.completed', 'refund.completed', 'refund.failed']);
});
