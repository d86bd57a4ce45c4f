import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Environment, PaymentType } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import type { ReceivedWebhook, Receiver } from '../integration/webhooks/receivers.ts';
import { waitUntil } from '../support/wait-until.ts';
import { newOrderNumber, registration, sharedMerchantApi, sharedShop } from './merchant-api-harness.ts';
import type { Shop } from './merchant-api-harness.ts';
import { eventOf, pay, refund } from './trading-shop.ts';
import { closersOfEachTest } from '../support/shared-stack.ts';

// The way from a merchant's request to the webhook, through every process, with two `webhooks` processes. The tests in
// integration/webhooks have its retries, its order and the addresses that it never reaches.

const api = sharedMerchantApi({ wallets: 1, webhooks: 2 });
const shop = sharedShop(api);
const closers = closersOfEachTest();
/** A merchant's own server. Its origin is a separate lane, so that no test sees another's webhooks. */
async function openReceiver(): Promise<Receiver> {
  const receiver = await startReceiver();
  closers.push(receiver.close);
  return receiver;
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

test('an order that ends as COMPLETED sends a signed webhook with the same values as verify', async () => {
  const { secret } = await api.stack
    .webhookClient('operator')
    .rotateSigningSecret({ merchantId: shop.merchantId, environment: Environment.SANDBOX });
  const receiver = await openReceiver();
  const order = registration({ webhook_url: `${receiver.origin}/hooks?shop=7` });
  expect((await api.post(shop, '/api/v1/register', order)).status).toBe(201);
  const { order_number } = order;
  await pay(api, shop, { order_number });

  const [webhook] = await received(receiver, 1);

  expect(webhook).toMatchObject({ method: 'POST', target: '/hooks?shop=7' });
  expect(webhook?.headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': expect.stringMatching(/^Gatehouse-Webhooks\/[0-9]/),
  });
  const body = opened(webhook, secret);
  expect(body).toEqual({
    id: webhook?.headers['webhook-id'],
    type: 'order.completed',
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    environment: 'sandbox',
    sequence: expect.any(Number),
    previous_status: 'PENDING',
    data: (await api.post(shop, '/api/v1/verify', { order_number })).json['data'],
  });
  expect(body['data']).toMatchObject({ status: 'COMPLETED', deducted: '100.50' });
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
