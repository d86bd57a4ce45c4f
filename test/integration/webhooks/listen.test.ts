import { ConnectError } from '@connectrpc/connect';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { Environment, OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import type { ListenToSandboxEventsResponse } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { registration } from '../../support/order-requests.ts';
import { describeFailure } from '../../support/rpc-failure.ts';
import type { RpcFailure } from '../../support/rpc-failure.ts';
import { closersOfEachTest, shared, sharedConnection, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { openWebhookDesk } from './webhook-desk.ts';
import type { WebhookDesk } from './webhook-desk.ts';

const stack = sharedStack({ cores: 2, facades: 0 });
const desk = shared(() => openWebhookDesk(stack, { keepAliveMs: 100 }));
const database = sharedConnection(() => stack.databaseUrl);
const closers = closersOfEachTest();
let merchantId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

let orderCount = 0;

/** An order that ends as soon as core checks its session. */
async function endOrder(own: { merchantId?: string; environment?: Environment; webhookUrl?: string } = {}) {
  const orderNumber = `L-${++orderCount}`;
  const { order } = await stack
    .client(OrderService, 'operator')
    .registerOrder(registration({ merchantId, orderNumber, webhookUrl: '', ...own }));
  await database.query(sql`
    update core.orders set expires_at = now(), sweep_at = now() where order_number = ${orderNumber}`);
  return order!;
}

/** Collects what the stream sends during the test. */
function listen(asked: WebhookDesk = desk, own: { merchantId?: string } = {}) {
  const leaving = new AbortController();
  const heard: ListenToSandboxEventsResponse[] = [];
  const read = async (): Promise<RpcFailure | 'without an error'> => {
    try {
      const request = { merchantId, ...own };
      for await (const each of asked.client('operator').listenToSandboxEvents(request, {
        signal: leaving.signal,
      }))
        heard.push(each);
      return 'without an error';
    } catch (error) {
      if (error instanceof ConnectError) return describeFailure(error);
      throw error;
    }
  };
  const ended = read();
  const leave = async () => {
    leaving.abort();
    return ended;
  };
  closers.push(leave);
  const events = () => heard.filter(({ eventId }) => eventId !== '');
  return { heard, events, ended, leave };
}

const started = async (asked?: WebhookDesk) => {
  const listener = listen(asked);
  await waitUntil('it listens', () => listener.heard.length > 0);
  return listener;
};

/** The number of calls at core that only a listener makes. */
const upstreamEnded = (): number =>
  stack.cores.flatMap(({ log }) => log).filter(({ ['rpc']: rpc }) => rpc === 'OrderService/WatchOrderEvents')
    .length;

describe('listening', () => {
  test('sends the end of an order without a webhook_url, signed, with the signed bytes', async () => {
    const { secret } = await desk
      .client('operator')
      .rotateSigningSecret({ merchantId, environment: Environment.SANDBOX });
    const listener = await started();
    const order = await endOrder();

    const event = await waitUntil('the event is heard', () => listener.events()[0]);

    expect(event).toMatchObject({ eventType: 'order.expired', orderNumber: order.orderNumber });
    const told = new Webhook(secret).verify(Buffer.from(event.body).toString(), event.headers);
    expect(told).toMatchObject({
      id: event.eventId,
      type: 'order.expired',
      environment: 'sandbox',
      previous_status: OrderStatus[OrderStatus.PENDING],
      data: { order_id: order.orderId, status: 'EXPIRED' },
    });
    expect(event.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': event.eventId,
      'X-SVC-HMAC-Signature': expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test('sends nothing of another merchant, of production, or of an intermediate step', async () => {
    const { id: other } = await stack.createMerchant();
    const listener = await started();
    await endOrder({ merchantId: other });
    await endOrder({ environment: Environment.PRODUCTION });
    const mine = await endOrder();
    await waitUntil('the last is heard', () => listener.events().length > 0);
    expect(listener.events().map(({ orderNumber }) => orderNumber)).toEqual([mine.orderNumber]);
  });

  test('sends keep-alive messages while nothing happens', async () => {
    const listener = await started();
    await waitUntil('there are several', () => listener.heard.length >= 4);
    expect(listener.events()).toEqual([]);
  });

  test('sends two listeners the same bytes', async () => {
    const [first, second] = [await started(), await started()];
    await endOrder();
    const [one, two] = [
      await waitUntil('the first hears', () => first.events()[0]),
      await waitUntil('the second hears', () => second.events()[0]),
    ];
    expect(Buffer.from(one.body)).toEqual(Buffer.from(two.body));
  });

  test('ends the call to core when its caller has disconnected', async () => {
    const before = upstreamEnded();
    const listener = await started();
    await listener.leave();
    await waitUntil('core has ended its stream', () => upstreamEnded() > before);
  });
});

describe('errors', () => {
  const openOther = async (): Promise<WebhookDesk> => {
    const other = await openWebhookDesk(stack);
    closers.push(other.close);
    return other;
  };

  test('an unknown merchant has no events', async () => {
    const listener = listen(desk, { merchantId: newRandomId('mer', new Date()) });
    expect(await listener.ended).toMatchObject({ code: 'NotFound', reason: 'MERCHANT_NOT_FOUND' });
    expect(await listen(desk, { merchantId: '' }).ended).toMatchObject({
      issues: { merchant_id: expect.any(String) },
    });
  });

  test('a secret that cannot be decrypted is named', async () => {
    await desk.client('operator').rotateSigningSecret({ merchantId, environment: Environment.SANDBOX });
    await desk.database.pool.query(sql`
      update webhooks.signing_secrets set key_id = 'lost' where merchant_id = ${merchantId}`);
    const listener = await started(await openOther());
    await endOrder();
    expect(await listener.ended).toMatchObject({ code: 'Internal', reason: 'INTERNAL' });
  });

  test('ends with SERVER_DRAINING when the process stops', async () => {
    const other = await openOther();
    const listener = await started(other);
    other.drain();
    expect(await listener.ended).toMatchObject({ code: 'Unavailable', reason: 'SERVER_DRAINING' });
  });
});

test('the listener follows another core when one stops, and misses nothing in between', async () => {
  const listener = await started();
  const [first] = stack.cores;
  const [stopped] = await Promise.all([first!.stop(), endOrder()]);
  const order = await endOrder();
  await waitUntil('both are heard', () => listener.events().length === 2);
  expect(stopped).toBe(0);
  expect(listener.events().map(({ orderNumber }) => orderNumber)).toContain(order.orderNumber);
});
