import { beforeEach, expect, test } from '@jest/globals';
import { Environment, PaymentType } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import type { WebhookEndpoint } from '../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { DeliveryCause, DeliveryState } from '../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import type { ReceivedWebhook, Receiver } from '../integration/webhooks/receivers.ts';
import { waitUntil } from '../support/wait-until.ts';
import { newOrderNumber, sharedMerchantApi, registration } from './merchant-api-harness.ts';
import type { Shop } from './merchant-api-harness.ts';
import { closersOfEachTest } from '../support/shared-stack.ts';
import { eventOf, pay, refund, shopThatRefunds } from './trading-shop.ts';

// Webhook endpoints through every process, from a merchant's request to the receivers.

const api = sharedMerchantApi({ wallets: 1, webhooks: 2 });
const closers = closersOfEachTest();
let shop: Shop;
beforeEach(async () => {
  shop = await shopThatRefunds(api);
});

const endpoints = () => api.stack.webhookEndpointClient('operator');
const webhooks = () => api.stack.webhookClient('operator');
const merchant = () => ({ merchantId: shop.merchantId });
const keyOf = ({ merchantId, webhookEndpointId }: WebhookEndpoint) => ({ merchantId, webhookEndpointId });

async function openReceiver(): Promise<Receiver> {
  const receiver = await startReceiver();
  closers.push(receiver.close);
  return receiver;
}

async function createEndpoint(url: string, own: { eventTypes?: string[]; withoutSecret?: boolean } = {}) {
  const request = { ...merchant(), environment: Environment.SANDBOX, url, ...own };
  const { webhookEndpoint, secret } = await endpoints().createWebhookEndpoint(request);
  if (webhookEndpoint === undefined) throw new Error('no endpoint');
  return { endpoint: webhookEndpoint, key: keyOf(webhookEndpoint), secret };
}

const phone = '+251900000000';

/** Pays an order with this webhook_url. Gives its order number. */
async function payOrder(webhook_url: string): Promise<string> {
  const order = registration({ webhook_url });
  expect((await api.post(shop, '/api/v1/register', order)).status).toBe(201);
  return pay(api, shop, { order_number: order.order_number, phone });
}

const received = (receiver: Receiver, count: number): Promise<readonly ReceivedWebhook[]> =>
  waitUntil(`${count} webhooks have arrived`, () => receiver.webhooks.length >= count && receiver.webhooks);

const typesAt = ({ webhooks: arrived }: Receiver, secret: string): string[] =>
  arrived.map((webhook) => eventOf(webhook, secret).type);

test('a direct payment and its refund reach each endpoint that receives their types, signed with its own secret, beside the webhook_url', async () => {
  const [all, refunds, own] = [await openReceiver(), await openReceiver(), await openReceiver()];
  const first = await createEndpoint(`${all.origin}/hook`);
  const second = await createEndpoint(refunds.origin, { eventTypes: ['refund.completed'] });
  const { secret } = await webhooks().rotateSigningSecret({
    ...merchant(),
    environment: Environment.SANDBOX,
  });

  const orderNumber = await pay(api, shop, { phone });
  await received(all, 1);
  await refund(api, shop, orderNumber, '10');
  await Promise.all([received(all, 2), received(refunds, 1)]);
  await payOrder(own.origin);
  await Promise.all([received(all, 3), received(own, 1)]);

  expect(typesAt(all, first.secret)).toEqual(['order.completed', 'refund.completed', 'order.completed']);
  expect(typesAt(refunds, second.secret)).toEqual(['refund.completed']);
  expect(typesAt(own, secret)).toEqual(['order.completed']);
  expect(own.webhooks[0]?.body).toEqual(all.webhooks[2]?.body);
  expect(refunds.webhooks[0]?.body).toEqual(all.webhooks[1]?.body);
  expect(() => eventOf(all.webhooks[0]!, second.secret)).toThrow();
  const { deliveries } = await webhooks().listDeliveries({
    ...merchant(),
    webhookEndpointId: first.key.webhookEndpointId,
  });
  expect(deliveries.map(({ eventType, webhookEndpointId }) => [eventType, webhookEndpointId])).toEqual(
    ['order.completed', 'refund.completed', 'order.completed'].map((type) => [
      type,
      first.key.webhookEndpointId,
    ]),
  );
});

test('payment links notify of their creation and their end, each event once at each endpoint under the type that it has chosen', async () => {
  const linkTypes = ['payment_link.created', 'payment_link.completed', 'payment_link.failed'];
  const [links, orders, all] = [await openReceiver(), await openReceiver(), await openReceiver()];
  const ofLinks = await createEndpoint(links.origin, { eventTypes: linkTypes });
  const ofOrders = await createEndpoint(orders.origin, { eventTypes: ['order.completed', 'order.failed'] });
  const ofAll = await createEndpoint(all.origin);
  const scope = { ...merchant(), environment: Environment.SANDBOX };
  const client = api.stack.client(OrderService, 'operator');
  const register = async (orderNumber: string, paymentType: PaymentType) => {
    const link = { orderNumber, paymentType, amount: '100.50', currency: 'ETB', reason: 'Books' };
    return (await client.registerOrder({ ...scope, ...link })).order?.orderId ?? '';
  };

  const [paidNumber, cancelledNumber] = [newOrderNumber(), newOrderNumber()];
  const paidId = await register(paidNumber, PaymentType.LINK);
  const orderId = await register(cancelledNumber, PaymentType.QR);
  await client.cancelOrder({ ...scope, orderId });
  await pay(api, shop, { order_number: paidNumber, phone });
  // An order that is not a payment link.
  const plainNumber = await pay(api, shop, { phone });
  await Promise.all([received(links, 4), received(orders, 3), received(all, 5)]);

  const typesOf = ({ webhooks: arrived }: Receiver, secret: string, number: string): string[] =>
    arrived
      .filter(({ body }) => body.includes(`"order_number":"${number}"`))
      .map((webhook) => eventOf(webhook, secret).type);
  const numbers = [paidNumber, cancelledNumber, plainNumber];
  expect(numbers.map((number) => typesOf(links, ofLinks.secret, number))).toEqual([
    ['payment_link.created', 'payment_link.completed'],
    ['payment_link.created', 'payment_link.failed'],
    [],
  ]);
  expect(numbers.map((number) => typesOf(orders, ofOrders.secret, number))).toEqual([
    ['order.completed'],
    ['order.failed'],
    ['order.completed'],
  ]);
  expect(numbers.map((number) => typesOf(all, ofAll.secret, number))).toEqual([
    ['payment_link.created', 'order.completed'],
    ['payment_link.created', 'order.failed'],
    ['order.completed'],
  ]);
  const created = links.webhooks
    .map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>)
    .find(
      ({ type, data }) => type === 'payment_link.created' && Reflect.get(Object(data), 'order_id') === paidId,
    );
  expect(created).toMatchObject({
    sequence: 1,
    previous_status: '',
    data: { status: 'PENDING', payment_type: 'LINK', order_number: paidNumber },
  });
});

test('deliveries wait until a secret is shown, for an endpoint and for a webhook_url, and the dashboard shows that', async () => {
  const [receiver, own] = [await openReceiver(), await openReceiver()];
  const { key } = await createEndpoint(receiver.origin, { withoutSecret: true });
  const orderNumber = await payOrder(own.origin);
  const list = () => endpoints().listWebhookEndpoints(merchant());
  const waiting = await waitUntil('both wait', async () => {
    const { awaitedSecrets } = await list();
    return awaitedSecrets.length === 2 && awaitedSecrets;
  });

  expect(waiting.map(({ webhookEndpointId: id, pendingCount }) => [id, pendingCount]).sort()).toEqual(
    [
      ['', 1n],
      [key.webhookEndpointId, 1n],
    ].sort(),
  );
  const { deliveries } = await webhooks().listDeliveries(merchant());
  for (const { deliveryId, attemptCount, state } of deliveries) {
    expect({ attemptCount, state }).toEqual({ attemptCount: 0, state: DeliveryState.PENDING });
    const { explanation } = await webhooks().explainDelivery({ ...merchant(), deliveryId });
    expect(explanation?.cause).toBe(DeliveryCause.SIGNING_SECRET_NOT_SHOWN);
  }
  expect((await webhooks().getPipelineStatus({})).awaitedSecretCount).toBe(2n);
  await refund(api, shop, orderNumber, '10');
  const shown = await endpoints().rotateWebhookEndpointSecret(key);
  await received(receiver, 2);
  expect(own.webhooks).toHaveLength(0);
  const { secret } = await webhooks().rotateSigningSecret({
    ...merchant(),
    environment: Environment.SANDBOX,
  });
  await received(own, 2);

  expect(typesAt(receiver, shown.secret)).toEqual(['order.completed', 'refund.completed']);
  expect(typesAt(own, secret)).toEqual(['order.completed', 'refund.completed']);
  await waitUntil('nothing waits', async () => (await list()).awaitedSecrets.length === 0);
});

test('a test event reaches an endpoint whatever types it receives, and both secrets sign during a rotation', async () => {
  const receiver = await openReceiver();
  const { key, secret } = await createEndpoint(receiver.origin, { eventTypes: ['refund.failed'] });

  await endpoints().testWebhookEndpoint(key);
  await received(receiver, 1);
  const rotated = await endpoints().rotateWebhookEndpointSecret(key);
  await waitUntil('both sign', async () => {
    const { length } = receiver.webhooks;
    await endpoints().testWebhookEndpoint(key);
    const arrived = await received(receiver, length + 1);
    return String(arrived.at(-1)?.headers['webhook-signature']).split(' ').length === 2;
  });

  expect(eventOf(receiver.webhooks[0]!, secret).type).toBe('webhook.test');
  const latest = receiver.webhooks.at(-1)!;
  expect([eventOf(latest, secret).type, eventOf(latest, rotated.secret).type]).toEqual([
    'webhook.test',
    'webhook.test',
  ]);
});
