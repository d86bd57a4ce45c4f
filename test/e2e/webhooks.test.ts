import { createHmac } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Environment, PaymentType } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { DeliveryAttemptResult, DeliveryState } from '../../src/gen/gatehouse/v1/webhook_service_pb.js';
import type { Delivery } from '../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { answer, startReceiver } from '../integration/webhooks/receivers.ts';
import type { Behaviour, ReceivedWebhook, Receiver } from '../integration/webhooks/receivers.ts';
import { waitUntil } from '../support/wait-until.ts';
import { newOrderNumber, registration, sharedMerchantApi, sharedShop } from './merchant-api-harness.ts';
import type { EnvironmentName, Shop } from './merchant-api-harness.ts';
import { eventOf, pay, refund } from './trading-shop.ts';
import { closersOfEachTest, sharedConnection } from '../support/shared-stack.ts';

// The way from a merchant's request to the webhook, through every process, with two `webhooks` processes.

const api = sharedMerchantApi({ wallets: 1, webhooks: 2 });
const shop = sharedShop(api);
const database = sharedConnection(() => api.stack.databaseUrl);
const closers = closersOfEachTest();
let secrets: Readonly<Record<EnvironmentName, string>>;
beforeAll(async () => {
  const secretOf = async (environment: Environment): Promise<string> => {
    const request = { merchantId: shop.merchantId, environment };
    return (await api.stack.webhookClient('operator').rotateSigningSecret(request)).secret;
  };
  secrets = {
    sandbox: await secretOf(Environment.SANDBOX),
    production: await secretOf(Environment.PRODUCTION),
  };
});

/** A merchant's own server. Its origin is a separate lane, so that no test sees another's webhooks. */
async function openReceiver(behaviour?: Behaviour): Promise<Receiver> {
  const receiver = await startReceiver(behaviour);
  closers.push(receiver.close);
  return receiver;
}

async function register(
  orderNumber: string,
  webhookUrl: string,
  environment: EnvironmentName = 'sandbox',
): Promise<string> {
  const order = {
    order_number: orderNumber,
    amount: '100.50',
    currency: 'ETB',
    reason: 'Two pairs of shoes',
    customer_phone: '0911223344',
    return_url: 'https://shop.example/thanks',
    webhook_url: webhookUrl,
  };
  const { status, json } = await api.post(shop, '/api/v1/register', order, { environment });
  expect(status).toBe(201);
  return (json as { data: { checkout_url: string } }).data.checkout_url;
}

async function verified(orderNumber: string, environment: EnvironmentName = 'sandbox'): Promise<unknown> {
  const { json } = await api.post(shop, '/api/v1/verify', { order_number: orderNumber }, { environment });
  return json['data'];
}

/** Ends the payment session now, because the shortest one that a merchant can request is five minutes. */
async function endSession(orderNumber: string): Promise<void> {
  await database.query(
    'update core.orders set expires_at = now(), sweep_at = now() where order_number = $1',
    [orderNumber],
  );
}

const received = (receiver: Receiver, count: number): Promise<readonly ReceivedWebhook[]> =>
  waitUntil(`${count} webhooks have arrived`, () => receiver.webhooks.length >= count && receiver.webhooks);

/** The body, after both signatures of the exact received bytes were verified. */
function opened(webhook: ReceivedWebhook | undefined, secret: string): Record<string, unknown> {
  if (webhook === undefined) throw new Error('there is no webhook');
  const { headers, body } = webhook;
  expect(headers['x-svc-hmac-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'));
  const standard = eventOf(webhook, secret);
  expect(standard).toEqual(JSON.parse(body.toString()));
  return { ...standard };
}

async function deliveryOf(orderNumber: string, until: (delivery: Delivery) => boolean) {
  const client = api.stack.webhookClient('operator');
  return waitUntil(`the delivery of ${orderNumber} is as expected`, async () => {
    const { deliveries } = await client.listDeliveries({ merchantId: shop.merchantId, orderNumber });
    const [delivery] = deliveries;
    if (delivery === undefined || !until(delivery)) return undefined;
    return client.getDelivery({ merchantId: shop.merchantId, deliveryId: delivery.deliveryId });
  });
}

describe('an order that ends', () => {
  test('as COMPLETED sends a signed webhook with the same values as verify', async () => {
    const receiver = await openReceiver();
    await register('W-1', `${receiver.origin}/hooks?shop=7`);
    await pay(api, shop, { order_number: 'W-1' });

    const [webhook] = await received(receiver, 1);

    expect(webhook).toMatchObject({ method: 'POST', target: '/hooks?shop=7' });
    expect(webhook?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': expect.stringMatching(/^Gatehouse-Webhooks\/[0-9]/),
    });
    const body = opened(webhook, secrets.sandbox);
    expect(body).toEqual({
      id: webhook?.headers['webhook-id'],
      type: 'order.completed',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      environment: 'sandbox',
      sequence: expect.any(Number),
      previous_status: 'PENDING',
      data: await verified('W-1'),
    });
    expect(body['data']).toMatchObject({ status: 'COMPLETED', deducted: '100.50' });
  });
});

describe('a failing receiver', () => {
  test('of an order that expired gets the same id and bytes with a new signature until it answers 2xx', async () => {
    let refusals = 1;
    const receiver = await openReceiver((exchange) => answer(refusals-- > 0 ? 503 : 204)(exchange));
    await register('R-1', receiver.origin);
    await endSession('R-1');

    const [first, second] = await received(receiver, 2);

    expect(opened(first, secrets.sandbox)).toMatchObject({
      ...{ type: 'order.expired', previous_status: 'PENDING', data: await verified('R-1') },
    });
    opened(second, secrets.sandbox);
    expect(second?.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    const { delivery, attempts, body } = await deliveryOf(
      'R-1',
      ({ state }) => state === DeliveryState.DELIVERED,
    );
    expect(delivery).toMatchObject({ attemptCount: 2, lastResult: '204' });
    expect(Buffer.from(body).equals(first?.body ?? Buffer.alloc(0))).toBe(true);
    expect(attempts.map(({ number, result, statusCode }) => [number, result, statusCode])).toEqual([
      [2, DeliveryAttemptResult.DELIVERED, 204],
      [1, DeliveryAttemptResult.REFUSED, 503],
    ]);
  });
});

describe('in production', () => {
  test('a URL that leads into a private network is never connected to, and its delivery has the reason', async () => {
    const receiver = await openReceiver();
    await register('P-1', `https://127.0.0.1:${receiver.port}/hook`, 'production');
    await endSession('P-1');

    const { delivery, attempts, body } = await deliveryOf('P-1', ({ attemptCount }) => attemptCount > 0);

    expect(delivery).toMatchObject({ environment: Environment.PRODUCTION, state: DeliveryState.PENDING });
    expect(attempts.at(-1)).toMatchObject({
      result: DeliveryAttemptResult.ADDRESS_NOT_ALLOWED,
      statusCode: 0,
      remoteAddress: '',
      detail: expect.stringMatching(/./),
    });
    expect(JSON.parse(Buffer.from(body).toString())).toMatchObject({
      environment: 'production',
      data: await verified('P-1', 'production'),
    });
    expect(receiver.connectionCount()).toBe(0);
  });
});

describe('webhook endpoints', () => {
  let subscriber: Shop;
  beforeEach(async () => {
    subscriber = await api.newShop({ mayRefund: true });
  });

  const endpoints = () => api.stack.webhookEndpointClient('operator');
  const webhooks = () => api.stack.webhookClient('operator');
  const merchant = () => ({ merchantId: subscriber.merchantId });

  async function createEndpoint(url: string, own: { eventTypes?: string[] } = {}) {
    const request = { ...merchant(), environment: Environment.SANDBOX, url, ...own };
    const { webhookEndpoint, secret } = await endpoints().createWebhookEndpoint(request);
    if (webhookEndpoint === undefined) throw new Error('no endpoint');
    const { merchantId, webhookEndpointId } = webhookEndpoint;
    return { key: { merchantId, webhookEndpointId }, secret };
  }

  const phone = '+251900000000';

  /** Pays an order with this webhook_url. Gives its order number. */
  async function payOrder(webhook_url: string): Promise<string> {
    const order = registration({ webhook_url });
    expect((await api.post(subscriber, '/api/v1/register', order)).status).toBe(201);
    return pay(api, subscriber, { order_number: order.order_number, phone });
  }

  const typesAt = ({ webhooks: arrived }: Receiver, secret: string): string[] =>
    arrived.map((webhook) => eventOf(webhook, secret).type);

  test('a direct payment and its refund reach each endpoint that receives their types, signed with its own secret, beside the webhook_url', async () => {
    const [all, refunds, own] = [await openReceiver(), await openReceiver(), await openReceiver()];
    const first = await createEndpoint(`${all.origin}/hook`);
    // Until the next secret is promoted, both sign.
    const { secret: next } = await endpoints().rotateWebhookEndpointSecret(first.key);
    const second = await createEndpoint(refunds.origin, { eventTypes: ['refund.completed'] });
    const { secret } = await webhooks().rotateSigningSecret({
      ...merchant(),
      environment: Environment.SANDBOX,
    });

    const orderNumber = await pay(api, subscriber, { phone });
    await received(all, 1);
    await refund(api, subscriber, orderNumber, '10');
    await Promise.all([received(all, 2), received(refunds, 1)]);
    await payOrder(own.origin);
    await Promise.all([received(all, 3), received(own, 1)]);

    for (const signing of [first.secret, next])
      expect(typesAt(all, signing)).toEqual(['order.completed', 'refund.completed', 'order.completed']);
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
    await pay(api, subscriber, { order_number: paidNumber, phone });
    // An order that is not a payment link.
    const plainNumber = await pay(api, subscriber, { phone });
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
        ({ type, data }) =>
          type === 'payment_link.created' && Reflect.get(Object(data), 'order_id') === paidId,
      );
    expect(created).toMatchObject({
      sequence: 1,
      previous_status: '',
      data: { status: 'PENDING', payment_type: 'LINK', order_number: paidNumber },
    });
  });
});
