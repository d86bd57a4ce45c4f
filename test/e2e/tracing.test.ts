import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders, Server } from 'node:http';
import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { Environment, OrderStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { RefundService } from '../../src/gen/gatehouse/v1/refund_service_pb.js';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import type { Receiver } from '../integration/webhooks/receivers.ts';
import { orderNamed } from '../support/order-requests.ts';
import { startNode } from '../support/gatehouse-process.ts';
import type { GatehouseProcess, LogLine } from '../support/gatehouse-process.ts';
import { startInline } from '../support/inline-process.ts';
import { demoWallets } from '../support/simulated-wallets.ts';
import { startSpanCollector } from '../support/span-collector.ts';
import type { ReceivedSpan, SpanCollector } from '../support/span-collector.ts';
import { startStack } from '../support/stack.ts';
import type { Stack, TestMerchant } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { postJson } from '../support/post-json.ts';

let collector: SpanCollector;
let receiver: Receiver;
let walletDoor: Server;
let simulatorUrl: string | undefined;
let stack: Stack;
let merchant: TestMerchant;
const walletRequests: IncomingHttpHeaders[] = [];
/** Texts that must not be exported. */
const canaries: string[] = [];

function canary(text: string): string {
  canaries.push(text);
  return text;
}

/** A proxy before the simulated wallets that records what they receive. */
async function openWalletDoor(): Promise<Server> {
  const server = createServer((request, response) => {
    // Wallets may call before the test knows the simulator's address.
    if (simulatorUrl === undefined) {
      response.writeHead(503).end();
      return;
    }
    walletRequests.push(request.headers);
    const { method, headers, url } = request;
    const onward = send(new URL(url ?? '/', simulatorUrl), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return server;
}

const originOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const tracingTo = (endpoint: string, more: Record<string, string> = {}): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_HEADERS: `x-collector-key=${canary('collector')}%20key`,
  OTEL_BSP_SCHEDULE_DELAY: '20',
  ...more,
});

beforeAll(async () => {
  collector = await startSpanCollector();
  receiver = await startReceiver();
  walletDoor = await openWalletDoor();
  stack = await startStack({
    ownProcesses: true,
    wallets: 1,
    webhooks: 1,
    settings: { ...tracingTo(collector.url), GATEHOUSE_WALLETS: demoWallets(originOf(walletDoor)) },
  });
  ({ simulatorUrl } = stack);
  merchant = await stack.createMerchant({ signsWebhooks: true });
});

afterAll(async () => {
  await stack.stop();
  walletDoor.close();
  walletDoor.closeAllConnections();
  await receiver.close();
  await collector.close();
});

const randomHex = (bytes: number): string => randomBytes(bytes).toString('hex');

interface Sent {
  readonly orderNumber: string;
  readonly status: number;
}

const sandbox = (): string => stack.facades[0]?.sandbox ?? '';

async function register(headers: Record<string, string>, facade = sandbox()): Promise<Sent> {
  const orderNumber = `t-${randomHex(6)}`;
  const order = {
    order_number: orderNumber,
    amount: '100.50',
    currency: 'ETB',
    reason: canary(`reason-${randomHex(6)}`),
    customer_phone: canary('0911223344'),
    return_url: canary(`https://shop.example/back-${randomHex(6)}`),
    webhook_url: `${receiver.origin}/${canary(`hook-${randomHex(6)}`)}?key=${canary(randomHex(6))}`,
  };
  // The facade answers 500 when core needs 8 s, which happens on a busy machine.
  const status = await waitUntil('the facade has an answer of core', async () => {
    const answer = await post(facade, '/api/v1/register', headers, order);
    return answer.status === 500 ? undefined : answer.status;
  });
  return { orderNumber, status };
}

const pay = (headers: Record<string, string>, orderNumber: string): Promise<Response> =>
  post(sandbox(), '/api/v1/direct?payment_option=walleta_ussd', headers, {
    order_number: orderNumber,
    amount: '100.50',
    currency: 'ETB',
    phone: '0911223344',
  });

const post = (
  origin: string,
  path: string,
  headers: Record<string, string>,
  body: object,
): Promise<Response> => postJson(origin + path, body, { apikey: canary(merchant.testKey), ...headers });

const spansOf = (traceId: string): ReceivedSpan[] =>
  collector.spans.filter((span) => span.traceId === traceId);

const spanOf = (traceId: string, service: string, name: RegExp): Promise<ReceivedSpan> =>
  waitUntil(`${service} sends ${name.source}`, () =>
    spansOf(traceId).find((span) => span.service === `gatehouse-${service}` && name.test(span.name)),
  );

/** A span and all its ancestors, each with its process, after all of them have arrived. */
const pathTo = (span: ReceivedSpan, root: string): Promise<string[]> =>
  waitUntil(`the spans above ${span.name} arrive`, () => {
    const path: string[] = [];
    let at: ReceivedSpan | undefined = span;
    while (at !== undefined) {
      path.unshift(`${at.service.slice('gatehouse-'.length)}: ${at.name}`);
      if (at.parentId === root) return path;
      const parentId: string = at.parentId;
      at = spansOf(span.traceId).find(({ spanId }) => spanId === parentId);
    }
    return undefined;
  });

async function eventsOf(orderNumber: string): Promise<OrderEvent[]> {
  const orders = stack.client(OrderService, 'operator');
  const { order } = await orders.getOrder(orderNamed(merchant.id, orderNumber));
  const { entries } = await orders.listOrderEvents({
    orderId: order?.orderId ?? '',
    merchantId: merchant.id,
  });
  return entries.flatMap(({ event }) => event ?? []);
}

/** The lines of a process that have the trace's id and, if the trace is recorded, the id of one of its spans. */
const linesOf = ({ log }: GatehouseProcess, traceId: string, isRecorded = true): LogLine[] =>
  log.filter(
    (line) => line['trace_id'] === traceId && /^[0-9a-f]{16}$/.test(String(line['span_id'])) === isRecorded,
  );

const lineOf = (
  process: GatehouseProcess,
  traceId: string,
  msg: string,
  isRecorded?: boolean,
): Promise<LogLine> =>
  waitUntil(`the line ${msg} has the trace`, () =>
    linesOf(process, traceId, isRecorded).find((line) => line.msg === msg),
  );

const processes = () => {
  const { facades, cores, wallets, webhooks } = stack;
  const [facade, core, wallet, webhook] = [facades[0]?.process, cores[0], wallets[0], webhooks[0]];
  if (!facade || !core || !wallet || !webhook) throw new Error('the stack lacks a process');
  return { facade, core, wallet, webhook };
};

/** The settings of one more facade of the stack. */
const facadeSettings = (own: Record<string, string>): Record<string, string> => ({
  GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(','),
  GATEHOUSE_SERVICE_TOKEN: stack.tokens.facade,
  GATEHOUSE_REST_PRODUCTION_PORT: '0',
  GATEHOUSE_REST_SANDBOX_PORT: '0',
  ...own,
});

const sandboxOf = ({ ready }: GatehouseProcess): string => String(ready['sandbox']);

describe('tracing', () => {
  test('makes one trace of a payment, from the merchant to the wallet and to the webhook', async () => {
    const [traceId, root] = [randomHex(16), randomHex(8)];
    const headers = {
      traceparent: `00-${traceId}-${root}-00`,
      tracestate: `vendor=${canary(`state${randomHex(8)}`)}`,
    };
    const { orderNumber, status } = await register(headers);
    expect(status).toBe(201);
    expect((await pay(headers, orderNumber)).status).toBe(201);

    const asked = await spanOf(traceId, 'wallets', /^POST initiate$/);
    const called = await pathTo(asked, root);
    expect(called.slice(0, 2)).toEqual([
      'rest-facade: POST /api/v1/direct',
      'core: gatehouse.v1.OrderService/BatchStartDirectPayments item',
    ]);
    expect(called.slice(-2)).toEqual(['wallets: walleta-sandbox payments', 'wallets: POST initiate']);

    const delivered = await spanOf(traceId, 'webhooks', /^POST webhook$/);
    const sent = await pathTo(delivered, root);
    expect(sent[0]).toBe('rest-facade: POST /api/v1/direct');
    expect(sent).toContain('core: gatehouse.v1.PaymentAttemptService/RecordPaymentOutcome');
    expect(sent.slice(-2)).toEqual(['webhooks: process ORDERS', 'webhooks: POST webhook']);
    const published = await waitUntil('core sends the publication of the delivered event', () =>
      spansOf(traceId).find(
        ({ name, attributes }) =>
          name === 'publish ORDERS' &&
          attributes['messaging.message.id'] === delivered.attributes['gatehouse.event_id'],
      ),
    );
    expect(published.attributes).toMatchObject({ 'messaging.operation.name': 'publish' });
    // The event causes both, and webhooks may read it from core's list before the broker brings it.
    expect(await pathTo(published, root)).toEqual([...sent.slice(0, -2), 'core: publish ORDERS']);
    expect((await eventsOf(orderNumber)).every((event) => event.traceparent.includes(traceId))).toBe(true);

    // The wallet and the merchant receive the spans of their own requests, and no foreign tracestate.
    expect(walletRequests.map((each) => each['traceparent'])).toContain(`00-${traceId}-${asked.spanId}-01`);
    expect(receiver.webhooks.map((each) => each.headers['traceparent'])).toEqual([
      `00-${traceId}-${delivered.spanId}-01`,
    ]);
    expect([...walletRequests, ...receiver.webhooks.map((each) => each.headers)]).not.toContainEqual(
      expect.objectContaining({ tracestate: expect.anything() as unknown }),
    );

    const { facade, core, wallet, webhook } = processes();
    expect(await lineOf(facade, traceId, 'request')).toMatchObject({ route: '/api/v1/register' });
    await Promise.all([
      lineOf(core, traceId, 'rpc'),
      lineOf(wallet, traceId, 'payment'),
      lineOf(webhook, traceId, 'webhook attempt'),
    ]);
    expect(collector.headers()['x-collector-key']).toBe('collector key');
  });

  test('gives the spans and the log line of a refund the ids of the refund and of its order', async () => {
    const { orderNumber } = await register({});
    await pay({}, orderNumber);
    const delivered = await waitUntil('the order is paid', async () =>
      (await eventsOf(orderNumber)).find(({ order }) => order?.status === OrderStatus.COMPLETED),
    );
    const { refund } = await stack.client(RefundService, 'writer').createRefund({
      merchantId: merchant.id,
      environment: Environment.SANDBOX,
      order: { case: 'orderNumber', value: orderNumber },
      refundNumber: `r-${orderNumber}`,
      amount: '40.50',
      reason: canary(`reason-${randomHex(6)}`),
    });

    const ids = { refund_id: refund?.refundId, order_id: delivered.order?.orderId, merchant_id: merchant.id };
    const spanNamed = (name: string) =>
      waitUntil(`the refund has a span ${name}`, () =>
        collector.spans.find(
          (span) => span.name === name && span.attributes['gatehouse.refund_id'] === ids.refund_id,
        ),
      );
    const [worked] = await Promise.all([
      spanNamed('walleta-sandbox reversals'),
      spanNamed('gatehouse.v1.RefundService/RecordRefundOutcome'),
    ]);
    expect(worked.attributes).toMatchObject({
      'gatehouse.order_id': ids.order_id,
      'gatehouse.merchant_id': ids.merchant_id,
    });
    expect(await lineOf(processes().wallet, worked.traceId, 'reversal')).toMatchObject(ids);
  });

  test('links the spans of requests that share a batch', async () => {
    const linked = await waitUntil('two requests share a batch and its transaction', async () => {
      const traces = Array.from({ length: 24 }, () => randomHex(16));
      await Promise.all(
        traces.map((traceId) => register({ traceparent: `00-${traceId}-${randomHex(8)}-01` })),
      );
      await Promise.all(traces.map((traceId) => spanOf(traceId, 'rest-facade', /register/)));
      const isShared = (name: RegExp) => (span: ReceivedSpan) =>
        traces.includes(span.traceId) && name.test(span.name) && span.links.length > 0;
      const sentTogether = collector.spans.find(isShared(/^send orders to core$/));
      const inserted = collector.spans.find(isShared(/^insert orders$/));
      return sentTogether && inserted && { sentTogether, inserted, traces };
    });
    for (const { traceId, spanId, links } of [linked.sentTogether, linked.inserted]) {
      const [other] = links;
      expect(linked.traces.filter((id) => id !== traceId)).toContain(other?.traceId);
      const caller = await waitUntil('the other caller of the batch is sent', () =>
        collector.spans.find((span) => span.spanId === other?.spanId),
      );
      expect(caller.links).toContainEqual({ traceId, spanId });
    }
    const item = await spanOf(linked.sentTogether.links[0]?.traceId ?? '', 'core', / item$/);
    const [batch] = item.links;
    const call = await waitUntil('the batch of the item is sent', () =>
      collector.spans.find(({ spanId }) => spanId === batch?.spanId),
    );
    expect(call).toMatchObject({ traceId: linked.sentTogether.traceId, kind: 'server' });
  });

  test('keeps an order out of the trace of another one that shares its batch', async () => {
    const traceparents = [`00-${randomHex(16)}-${randomHex(8)}-01`, ''];
    const orderNumbers = traceparents.map(() => `t-${randomHex(6)}`);
    const requests = orderNumbers.map((orderNumber) => ({
      merchantId: merchant.id,
      environment: Environment.SANDBOX,
      orderNumber,
      amount: '100.50',
      currency: 'ETB',
      reason: 'Two pairs of shoes',
      customerPhone: '0911223344',
      returnUrl: 'https://shop.example/back',
    }));
    const headers = { traceparent: traceparents[0] ?? '' };
    await stack.client(OrderService, 'facade').batchRegisterOrders({ requests, traceparents }, { headers });
    const [recorded = [], other = []] = await Promise.all(orderNumbers.map(eventsOf));
    expect(recorded.map(({ traceparent }) => traceparent.slice(0, 35))).toEqual([
      headers.traceparent.slice(0, 35),
    ]);
    expect(other.map(({ traceparent }) => traceparent)).toEqual(['']);
  });

  test('follows the sampling of internal callers over Connect, and of no caller without a token', async () => {
    const headers = (traceId: string) => ({ traceparent: `00-${traceId}-${randomHex(8)}-01` });
    const [known, unknown] = [randomHex(16), randomHex(16)];
    const transport = createConnectTransport({ baseUrl: stack.connectUrl, httpVersion: '2' });
    const orders = createClient(OrderService, transport);
    const list = (token: string, traceId: string) =>
      orders
        .listOrders(
          { merchantId: merchant.id, environment: Environment.SANDBOX },
          { headers: { authorization: `Bearer ${token}`, ...headers(traceId) } },
        )
        .catch(() => undefined);
    await list(randomHex(16), unknown);
    await list(stack.tokens.operator, known);
    expect(await spanOf(known, 'core', /ListOrders$/)).toMatchObject({
      kind: 'server',
      attributes: { 'rpc.system.name': 'connectrpc', 'rpc.method': 'gatehouse.v1.OrderService/ListOrders' },
    });
    expect(spansOf(unknown)).toEqual([]);
  });

  test('decides itself which traces it records, and ignores invalid trace headers', async () => {
    const facade = await startInline(
      'rest-facade',
      facadeSettings(tracingTo(collector.url, { OTEL_TRACES_SAMPLER: 'always_off' })),
    );
    const traceId = randomHex(16);
    await register({ traceparent: `00-${traceId}-${randomHex(8)}-01` }, sandboxOf(facade));
    await lineOf(facade, traceId, 'request', false);
    await lineOf(processes().core, traceId, 'rpc', false);
    expect((await register({}, sandboxOf(facade))).status).toBe(201);
    await waitUntil('a trace that nobody names or records has no id', () => {
      const answered = facade.log.filter(({ msg, status }) => msg === 'request' && status === 201);
      const ids = answered.map((line) => line['trace_id']);
      return ids.length === 2 && ids[1] === undefined;
    });
    await facade.stop();
    expect(spansOf(traceId)).toEqual([]);

    const { facade: recording } = processes();
    const idsOf = () =>
      recording.log
        .filter(({ msg, status }) => msg === 'request' && status === 201)
        .map((line) => line['trace_id']);
    const before = idsOf().length;
    for (const traceparent of [`00-${'0'.repeat(32)}-${randomHex(8)}-01`, randomHex(8_000), '00-x'])
      expect((await register({ traceparent })).status).toBe(201);
    await waitUntil('each unusable trace is replaced by a new one', () => {
      const ids = idsOf().slice(before);
      return (
        ids.length === 3 && new Set(ids).size === 3 && !ids.includes('0'.repeat(32)) && ids.every(Boolean)
      );
    });
  });

  // The library of the metrics loads @opentelemetry/api, which has no SDK.
  test('loads nothing and sends nothing while it is off', async () => {
    const watch = `import { registerHooks } from 'node:module';
      registerHooks({ load(url, context, next) {
        if (/@opentelemetry.(?!api.)/.test(url)) console.log(JSON.stringify({ msg: 'loaded', url }));
        return next(url, context);
      } });`;
    const start = (own: Record<string, string>): Promise<GatehouseProcess> =>
      startNode(
        'rest-facade',
        ['--import', `data:text/javascript,${encodeURIComponent(watch)}`, 'src/main/rest-facade.ts'],
        facadeSettings(own),
      );
    const loaded = ({ log }: GatehouseProcess): boolean => log.some(({ msg }) => msg === 'loaded');
    const [off, on] = await Promise.all([
      start({}),
      start(tracingTo(collector.url, { OTEL_BSP_SCHEDULE_DELAY: '3600000' })),
    ]);
    expect({ off: loaded(off), on: loaded(on) }).toEqual({ off: false, on: true });

    const [offTrace, onTrace] = [randomHex(16), randomHex(16)];
    const { orderNumber } = await register(
      { traceparent: `00-${offTrace}-${randomHex(8)}-01` },
      sandboxOf(off),
    );
    await waitUntil('the request is logged', () => off.log.some(({ msg }) => msg === 'request'));
    expect(off.log.filter((line) => 'trace_id' in line)).toEqual([]);
    expect((await eventsOf(orderNumber)).map(({ traceparent }) => traceparent)).toEqual(['']);

    // The other collector keeps its spans for an hour, or until it stops.
    await register({ traceparent: `00-${onTrace}-${randomHex(8)}-00` }, sandboxOf(on));
    await Promise.all([off.stop(), on.stop()]);
    await spanOf(onTrace, 'rest-facade', /register/);
    expect(spansOf(offTrace)).toEqual([]);
  });

  test('continues without its collector, and logs that once', async () => {
    const { port } = new URL(collector.url);
    const before = collector;
    await collector.close();
    const { facade } = processes();
    const lost = (): LogLine[] => facade.log.filter(({ msg }) => /did not accept spans/.test(String(msg)));
    await waitUntil('the facade logs the loss', async () => {
      expect((await register({})).status).toBe(201);
      return lost().length > 0;
    });
    expect((await register({})).status).toBe(201);
    collector = await startSpanCollector(Number(port));
    const traceId = randomHex(16);
    await waitUntil('spans arrive again', async () => {
      await register({ traceparent: `00-${traceId}-${randomHex(8)}-00` });
      return spansOf(traceId).length > 0;
    });
    const recovered = (): LogLine[] =>
      facade.log.filter(({ msg }) => /accepts spans again/.test(String(msg)));
    await waitUntil('the facade logs the end of the loss', () => recovered().length > 0);
    // These lines concern no request, so they name no trace.
    expect([...lost(), ...recovered()].map((line) => 'trace_id' in line)).toEqual([false, false]);

    const exported = Buffer.concat([before.bytes(), collector.bytes()]);
    expect(exported.includes('gatehouse-wallets')).toBe(true);
    const known = [...canaries, ...Object.values(stack.tokens), '251911223344', '911223344', 'http://'];
    expect(known.filter((text) => exported.includes(text))).toEqual([]);
  });
});
