import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { beforeAll, expect, test } from '@jest/globals';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { RequestLogService } from '../../src/gen/gatehouse/v1/request_log_service_pb.js';
import { maskSensitive } from '../../src/platform/mask-sensitive.ts';
import { plainGrpcClient } from '../integration/core/rpc-clients.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { sharedConnection, sharedStack } from '../support/shared-stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';

// Texts that no log may contain, in every field that a caller can fill, of every process.

const digits = (count: number): string =>
  Array.from(randomBytes(count), (byte) => String(byte % 10)).join('');
const base64url = (length: number): string =>
  `aB1-${randomBytes(length).toString('base64url')}`.slice(0, length);

interface Canary {
  /** The text to send. */
  readonly text: string;
  /** The parts of it that must not appear anywhere. */
  readonly secret: string;
}

const canaryOf = (text: string, secret = text): Canary => ({ text, secret });
const phone = (prefix: string): Canary => {
  const number = `9${digits(8)}`;
  return canaryOf(prefix + number, number);
};
const key = (prefix: string, length: number): Canary => {
  const secret = base64url(length);
  return canaryOf(prefix + secret, secret);
};

const canaries: Readonly<Record<string, () => Canary>> = {
  'a phone in E.164 form': () => phone('+251'),
  'a phone without its plus': () => phone('251'),
  'a local phone': () => phone('0'),
  'a phone without any prefix': () => phone(''),
  'a phone in a reference': () => phone('INV-0'),
  'an API key': () => key('svc_live_', 50),
  'a key of the sandbox': () => key('svc_test_', 50),
  'a signing secret': () => key('whsec_', 44),
  'a checkout token': () => canaryOf(base64url(87)),
  'a callback token': () => canaryOf(base64url(43)),
  'a service token': () => canaryOf(randomBytes(32).toString('hex')),
  'an e-mail address': () => canaryOf(`a${digits(6)}@shop.example`),
};

const stack = sharedStack({
  // Within the test's process, what gRPC itself reports is not logged.
  ownProcesses: ['core', 'rest-facade'],
  ...{ wallets: 1, checkouts: 1, dashboards: 1, webhooks: 1 },
  settings: { GATEHOUSE_LOG_LEVEL: 'debug' },
});
const database = sharedConnection(() => stack.databaseUrl);
let merchantId: string;
let apiKey: string;

beforeAll(async () => {
  ({ id: merchantId, testKey: apiKey } = await stack.createMerchant({ signsWebhooks: true }));
});

/** Every header that names a request or a caller, besides those that the call needs. */
const headersWith = (text: string): Record<string, string> => ({
  'x-request-id': text,
  'x-correlation-id': text,
  'x-correlationid': text,
  traceparent: text,
  'user-agent': text,
  referer: `https://shop.example/${text}`,
  'x-forwarded-for': text,
});

const processesOf = ({
  cores,
  facades,
  wallets,
  checkouts,
  dashboards,
  webhooks,
}: Stack): GatehouseProcess[] => [
  ...cores,
  ...wallets,
  ...webhooks,
  ...[facades, checkouts, dashboards].flat().map(({ process }) => process),
];

async function sendEverywhere(text: string): Promise<void> {
  const headers = headersWith(text);
  const inPath = encodeURIComponent(text);
  const json = { 'content-type': 'application/json' };
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const facade = stack.facades[0]!.sandbox;
  const send = (url: string, own: Record<string, string>, body?: string, method = 'POST') =>
    fetch(url, {
      method,
      headers: { ...headers, ...own },
      redirect: 'manual',
      ...(body === undefined ? {} : { body }),
    }).then((response) => response.arrayBuffer());
  const rest = (path: string, body: object, own: Record<string, string> = {}) =>
    send(facade + path, { ...json, apiKey, ...own }, JSON.stringify(body));
  const order = {
    order_number: text,
    return_url: `https://shop.example/${inPath}`,
    amount: '7.25',
    currency: 'ETB',
    reason: text,
    customer_phone: '+251911223344',
  };
  await rest('/api/v1/register', order);
  await rest('/api/v1/register', { ...order, currency: text, customer_phone: text, amount: text });
  await rest('/api/v1/register', order, { apiKey: text });
  await rest('/api/v1/verify', { order_number: text });
  await rest('/api/v1/verify', { [text]: text });
  await rest(`/api/v1/${inPath}/${text}`, {});
  await rest(`/api/v1/direct?payment_option=${inPath}&x=${text}`, { ...order, phone: text });
  await send(`${facade}/api/v1/register`, { ...json, apiKey }, `{${text}`);

  const callConnect = (base: string, method: string, body: object) =>
    send(
      `${base}/${method}`,
      { ...json, authorization: `Bearer ${stack.tokens.operator}`, 'x-gatehouse-actor': text },
      JSON.stringify(body),
    );
  const webhooks = stack.webhooks[0]!;
  await callConnect(stack.connectUrl, 'gatehouse.v1.OrderService/GetOrder', {
    merchantId: text,
    orderId: text,
  });
  await callConnect(stack.connectUrl, 'gatehouse.v1.OrderService/RegisterOrder', { orderNumber: text });
  await callConnect(stack.connectUrl, `gatehouse.v1.OrderService/${inPath}`, { [text]: text });
  await callConnect(
    `http://${String(webhooks.ready['connect'])}`,
    'gatehouse.v1.WebhookService/ListDeliveries',
    {
      merchantId: text,
      orderNumber: text,
    },
  );
  for (const [address, service, method] of [
    [stack.addresses[0]!, 'gatehouse.v1.OrderService', 'GetOrder'],
    [stack.addresses[0]!, 'gatehouse.v1.OrderService', 'StartDirectPayment'],
    [stack.addresses[0]!, 'gatehouse.v1.MerchantService', 'GetMerchant'],
  ] as const) {
    const grpc = plainGrpcClient(address, stack.tokens.operator);
    const request = { merchant_id: text, order_id: text, order_number: text, phone: text };
    const own = { 'x-request-id': text, 'x-gatehouse-actor': text, traceparent: text };
    await grpc.call(service, method, request, { headers: own });
    grpc.close();
  }

  const checkout = stack.checkouts[0]!.origin;
  await send(`${checkout}/c/${inPath}`, {}, undefined, 'GET');
  await send(`${checkout}/c/${inPath}`, form, `phone=${inPath}&payment_option=${inPath}`);
  await send(`${checkout}/${inPath}`, {}, undefined, 'GET');
  const dashboard = stack.dashboards[0]!.origin;
  await send(`${dashboard}/sign-in`, form, `email=${inPath}&password=${inPath}`);
  await send(`${dashboard}/${inPath}?q=${inPath}`, { cookie: `session=${inPath}` }, undefined, 'GET');
  const callbacks = String(stack.wallets[0]!.ready['callbacks']);
  await send(`${callbacks}/callbacks/${inPath}/${inPath}/${inPath}`, json, `{"reference":"${text}"}`);
  await send(`${callbacks}/callbacks/walleta/${inPath}/${inPath}`, json, `{"reference":"${text}"}`);
  await send(`${stack.simulatorUrl}/walleta/${inPath}`, json, JSON.stringify({ reference: text }));
}

test.each(Object.entries(canaries))('%s is in no log and not in the request log', async (_what, make) => {
  const { text, secret } = make();
  await sendEverywhere(text);
  // The last line of each process shows that the lines before it were read too.
  const last = `last-${digits(6)}`;
  const facade = stack.facades[0]!.sandbox;
  await fetch(`${facade}/api/v1/verify`, { method: 'POST', headers: { apiKey, 'x-request-id': last } });
  await waitUntil('the facade has written what it was asked', () =>
    stack.facades[0]!.process.log.some(({ request_id }) => request_id === last),
  );

  const requests = stack.client(RequestLogService, 'operator');
  const list = (orderNumber: string) =>
    requests.listApiRequests({ merchantId, environment: Environment.SANDBOX, orderNumber, pageSize: 100 });
  const kept = await waitUntil('core has the last request in its log', async () => {
    const { rows } = await database.query<{ row: string }>(`
      select each::text as row from core.api_requests each`);
    return rows.some(({ row }) => row.includes(last)) && rows.map(({ row }) => row);
  });
  const logs = processesOf(stack).flatMap(({ log }) => log.map((line) => JSON.stringify(line)));

  expect(logs.filter((line) => line.includes(secret))).toEqual([]);
  expect(kept.filter((row) => row.includes(secret))).toEqual([]);
  // The log contains it, masked.
  expect(maskSensitive(text)).not.toContain(secret);
  expect(logs.filter((line) => line.includes(maskSensitive(text)))).not.toEqual([]);
  if (text.length <= 64)
    expect((await list(text)).requests.map(({ orderNumber }) => orderNumber)).toContain(maskSensitive(text));
});

test('an invalid request id is replaced, in the answer and in every log', async () => {
  const { text } = phone('0');
  const response = await fetch(`${stack.facades[0]!.sandbox}/api/v1/verify`, {
    method: 'POST',
    headers: { 'x-request-id': text, 'content-type': 'application/json', apiKey },
    body: JSON.stringify({ order_number: 'none' }),
  });
  const requestId = response.headers.get('x-request-id');
  expect(requestId).toMatch(/^[\w.-]{1,64}$/);
  expect(requestId).not.toBe(text);
  await waitUntil('facade and core have written their lines', () =>
    [stack.facades[0]!.process, stack.cores[0]!].every(({ log }) =>
      log.some(({ request_id }) => request_id === requestId),
    ),
  );
});

test('the names and values of headers that gRPC refuses are in no log, whatever their form', async () => {
  const [name, value] = [`name${digits(6)}`, `value${digits(6)}`];
  const core = stack.cores[0]!;
  const complaints = () => core.log.filter(({ msg }) => msg === 'grpc-js reported an error');
  const before = complaints().length;
  const session = connect(`http://${stack.addresses[0]!}`);
  const request = session.request({
    ':method': 'POST',
    ':path': '/gatehouse.v1.OrderService/GetOrder',
    'content-type': 'application/grpc',
    te: 'trailers',
    [`${name}!`]: 'an exclamation mark is no letter of a name',
    'x-value': `${value} \u{e9}`,
  });
  request.resume().end();
  await once(request, 'close');
  session.close();
  const lines = await waitUntil('core has logged what gRPC reports about both', () => {
    const found = complaints().slice(before);
    return found.length === 2 && found;
  });

  expect(lines.map(({ complaint }) => complaint)).toEqual(Array(2).fill('Failed to add metadata'));
  const logs = JSON.stringify(processesOf(stack).map(({ log }) => log));
  expect(logs).not.toContain(name);
  expect(logs).not.toContain(value);
});
