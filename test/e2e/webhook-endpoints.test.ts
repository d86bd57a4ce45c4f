import { afterAll, beforeAll, beforeEach, afterEach, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { ApiKeyScope, ApiKeyService } from '../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { Environment, PaymentType } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import type { WebhookEndpoint } from '../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { DeliveryCause, DeliveryState } from '../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import type { ReceivedWebhook, Receiver } from '../integration/webhooks/receivers.ts';
import { waitUntil } from '../support/wait-until.ts';
import { directPath, directPayment, newOrderNumber, startMerchantApi } from './merchant-api-harness.ts';
import type { MerchantApi, Shop } from './merchant-api-harness.ts';

// Webhook endpoints through every process, from a merchant's request to the receivers.

let api: MerchantApi;
let shop: Shop;
const receivers: Receiver[] = [];

beforeAll(async () => {
  api = await startMerchantApi({ wallets: 1, webhooks: 2 });
});
beforeEach(async () => {
  shop = await api.newShop();
});
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
});
afterAll(() => api.stop());

const endpoints = () => api.stack.webhookEndpointClient('operator');
const webhooks = () => api.stack.webhookClient('operator');
const merchant = () => ({ merchantId: shop.merchantId });
const keyOf = ({ merchantId, webhookEndpointId }: WebhookEndpoint) => ({ merchantId, webhookEndpointId });

async function openReceiver(): Promise<Receiver> {
  const receiver = await startReceiver();
  receivers.push(receiver);
  return receiver;
}

async function createEndpoint(url: string, own: { eventTypes?: string[]; withoutSecret?: boolean } = {}) {
  const request = { ...merchant(), environment: Environment.SANDBOX, url, ...own };
  const { webhookEndpoint, secret } = await endpoints().createWebhookEndpoint(request);
  if (webhookEndpoint === undefined) throw new Error('no endpoint');
  return { endpoint: webhookEndpoint, key: keyOf(webhookEndpoint), secret };
}

/** A direct payment, which has no webhook_url. Gives its order number. */
async function pay(): Promise<string> {
  const payment = directPayment({ phone: '+251900000000' });
  expect((await api.post(shop, directPath, payment)).status).toBe(201);
  await waitUntil('the order is paid', async () => {
    const { json } = await api.post(shop, '/api/v1/verify', { order_number: payment.order_number });
    return (json['data'] as { status: string }).status === 'COMPLETED';
  });
  return payment.order_number;
}

async function refund(orderNumber: string, amount: string): Promise<void> {
  const request = {
    order_number: orderNumber,
    refund_number: newOrderNumber(),
    amount,
    reason: 'A book came back',
  };
  expect((await api.post(shop, '/api/v1/refund', request)).status).toBe(201);
}

async function allowRefunds(): Promise<void> {
  const keys = api.stack.client(ApiKeyService, 'operator');
  const { apiKeys } = await keys.listApiKeys(merchant());
  for (const { apiKeyId } of apiKeys)
    await keys.setApiKeyScopes({ ...merchant(), apiKeyId, scopes: [ApiKeyScope.REFUNDS] });
}

const received = (receiver: Receiver, count: number): Promise<readonly ReceivedWebhook[]> =>
  waitUntil(`${count} webhooks have arrived`, () => receiver.webhooks.length >= count && receiver.webhooks);

/** The type of a webhook, once its signature of this secret is verified. */
function typeOf(webhook: ReceivedWebhook, secret: string): string {
  const { headers, body } = webhook;
  const verified = new Webhook(secret).verify(body, {
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(headers['webhook-signature']),
  });
  return (verified as { type: string }).type;
}

const typesAt = ({ webhooks: arrived }: Receiver, secret: string): string[] =>
  arrived.map((webhook) => typeOf(webhook, secret));

test('a direct payment and its refund reach each endpoint that receives their types, signed with its own secret, beside the webhook_url', async () => {
  await allowRefunds();
  const [all, refunds, own] = [await openReceiver(), await openReceiver(), await openReceiver()];
  const first = await createEndpoint(`${all.origin}/hook`);
  const second = await createEndpoint(refunds.origin, { eventTypes: ['refund.completed'] });
  const { secret } = await webhooks().rotateSigningSecret({
    ...merchant(),
    environment: Environment.SANDBOX,
  });

  const orderNumber = await pay();
  await received(all, 1);
  await refund(orderNumber, '10');
  await Promise.all([received(all, 2), received(refunds, 1)]);
  const payment = directPayment({ phone: '+251900000000' });
  const order = {
    ...{ order_number: payment.order_number, amount: payment.amount, currency: payment.currency },
    ...{ reason: 'Books', customer_phone: '0911223344' },
    ...{ return_url: 'https://shop.example/thanks', webhook_url: own.origin },
  };
  expect((await api.post(shop, '/api/v1/register', order)).status).toBe(201);
  expect((await api.post(shop, directPath, payment)).status).toBe(201);
  await Promise.all([received(all, 3), received(own, 1)]);

  expect(typesAt(all, first.secret)).toEqual(['order.completed', 'refund.completed', 'order.completed']);
  expect(typesAt(refunds, second.secret)).toEqual(['refund.completed']);
  expect(typesAt(own, secret)).toEqual(['order.completed']);
  expect(own.webhooks[0]?.body).toEqual(all.webhooks[2]?.body);
  expect(refunds.webhooks[0]?.body).toEqual(all.webhooks[1]?.body);
  expect(() => typeOf(all.webhooks[0]!, second.secret)).toThrow();
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
  const payment = {
    ...directPayment({ phone: '+251900000000' }),
    order_number: paidNumber,
    amount: '100.50',
  };
  expect((await api.post(shop, directPath, payment)).status).toBe(201);
  // An order that is not a payment link.
  const plainNumber = await pay();
  await Promise.all([received(links, 4), received(orders, 3), received(all, 5)]);

  const typesOf = ({ webhooks: arrived }: Receiver, secret: string, number: string): string[] =>
    arrived
      .filter(({ body }) => body.includes(`"order_number":"${number}"`))
      .map((webhook) => typeOf(webhook, secret));
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
  await allowRefunds();
  const [receiver, own] = [await openReceiver(), await openReceiver()];
  const { key } = await createEndpoint(receiver.origin, { withoutSecret: true });
  const payment = directPayment({ phone: '+251900000000' });
  const order = {
    ...{ order_number: payment.order_number, amount: payment.amount, currency: payment.currency },
    ...{ reason: 'Books', customer_phone: '0911223344' },
    ...{ return_url: 'https://shop.example/thanks', webhook_url: own.origin },
  };
  expect((await api.post(shop, '/api/v1/register', order)).status).toBe(201);
  expect((await api.post(shop, directPath, payment)).status).toBe(201);
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
  await refund(payment.order_number, '10');
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

  expect(typeOf(receiver.webhooks[0]!, secret)).toBe('webhook.test');
  const latest = receiver.webhooks.at(-1)!;
  expect([typeOf(latest, secret), typeOf(latest, rotated.secret)]).toEqual(['webhook.test', 'webhook.test']);
});
