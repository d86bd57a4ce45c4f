import { connect } from 'node:net';
import { Code, ConnectError } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import {
  ApiEndpoint,
  ApiRequestOutcome,
  RequestLogService,
} from '../../../src/gen/gatehouse/v1/request_log_service_pb.js';
import type { ApiRequest } from '../../../src/gen/gatehouse/v1/request_log_service_pb.js';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import type { TestMerchant } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { startFacadeOverRpc, post as postTo } from './facade-over-rpc.ts';
import { rpcError } from '../../../src/contract/error-reason.ts';
import { queryOnce } from '../../support/database-connections.ts';
import { postJson } from '../../support/post-json.ts';

const stack = sharedStack();
const log = sharedClient(stack, RequestLogService, 'dashboard');

const environment = Environment.SANDBOX;
const phone = '0911223344';

const body = (own: Record<string, unknown> = {}) => ({
  order_number: 'L-1',
  amount: '100.50',
  currency: 'ETB',
  reason: 'Shoes',
  customer_phone: phone,
  return_url: 'https://shop.example/return',
  ...own,
});

function post(path: string, apiKey: string | undefined, sent: object, headers: Record<string, string> = {}) {
  return postJson(`${stack.facades[0]?.sandbox}${path}`, sent, {
    ...(apiKey === undefined ? {} : { apiKey }),
    ...headers,
  });
}

const listed = async (merchant: TestMerchant, own: object = {}): Promise<ApiRequest[]> =>
  (await log.listApiRequests({ merchantId: merchant.id, environment, ...own })).requests;

const until = (merchant: TestMerchant, count: number): Promise<ApiRequest[]> =>
  waitUntil(`${count} requests are in the log`, async () => {
    const requests = await listed(merchant);
    return requests.length >= count && requests;
  });

const read = async (merchant: TestMerchant, apiRequestId: string): Promise<ApiRequest> => {
  const { request } = await log.getApiRequest({ merchantId: merchant.id, environment, apiRequestId });
  if (request === undefined) throw new Error('no request');
  return request;
};

test('a request is logged with its answer, its reason and its bodies', async () => {
  const merchant = await stack.createMerchant();
  await post('/api/v1/register', merchant.testKey, body({ amount: '1.005' }), { 'x-request-id': 'mine-1' });

  const [entry] = await until(merchant, 1);
  const whole = await read(merchant, entry!.apiRequestId);

  expect(entry).toMatchObject({
    merchantId: merchant.id,
    environment,
    endpoint: ApiEndpoint.REGISTER,
    method: 'POST',
    path: '/api/v1/register',
    status: 400,
    reason: 'INVALID_FIELDS',
    requestId: 'mine-1',
    orderNumber: 'L-1',
    requestBody: '',
    responseBody: '',
  });
  expect(entry!.apiKeyId).toMatch(/^key_/);
  expect(Number(entry!.durationMicros)).toBeGreaterThan(0);
  expect(JSON.parse(whole.requestBody)).toEqual(body({ amount: '1.005', customer_phone: '09112**344' }));
  expect(JSON.parse(whole.responseBody)).toEqual({
    code: 400,
    message: 'Bad request',
    details: [{ field: 'amount', issue: expect.any(String) }],
  });
});

test('a successful request is logged without the link that the customer pays by', async () => {
  const merchant = await stack.createMerchant();
  await post('/api/v1/register', merchant.testKey, body());
  const [entry] = await until(merchant, 1);

  const { responseBody, reason, status } = await read(merchant, entry!.apiRequestId);

  expect({ status, reason }).toEqual({ status: 201, reason: '' });
  expect(JSON.parse(responseBody)).toMatchObject({
    code: 1,
    data: { checkout_url: expect.stringMatching(/\/c\/\[masked\]$/) },
  });
});

test('the log has no phone, no key and no checkout link that went through a facade', async () => {
  const merchant = await stack.createMerchant();
  const phones = ['0944556677', '+251 944-55 66 77', '251944556677', '+44 20 7946 0958', '٠٩٤٤٥٥٦٦٧٧'];
  const answers: string[] = [];
  for (const [index, number] of phones.entries()) {
    const sent = {
      ...body({ order_number: `L-${index}`, customer_phone: number }),
      reason: `call ${number} or use ${merchant.testKey}`,
      return_url: `https://shop.example/${encodeURIComponent(number)}?apiKey=${merchant.testKey}`,
      [`also ${number}`]: { nested: [number, Number(number.replace(/[^0-9]/g, '')), merchant.testKey] },
      api_key: 'a secret of another kind',
      password: 12345678,
    };
    const query = `?apiKey=${merchant.testKey}&phone=${encodeURIComponent(number)}&payment_option=walleta_ussd`;
    answers.push(await (await post('/api/v1/register', merchant.testKey, sent)).text());
    await post('/api/v1/verify', merchant.testKey, { order_number: `L-${index}` });
    await post(`/api/v1/direct${query}`, merchant.testKey, { ...sent, phone: number });
  }
  await post(
    '/api/v1/register',
    merchant.testKey,
    body({ order_number: 'L-paid', customer_phone: phones[0] }),
  );
  await post('/api/v1/verify', merchant.testKey, { order_number: 'L-paid' });
  await until(merchant, 3 * phones.length + 2);

  const rows = await queryOnce<{ text: string }>(
    stack.databaseUrl,
    'select r::text as text from core.api_requests r',
  );
  const stored = rows.map(({ text }) => text).join('\n');

  expect(rows.length).toBeGreaterThan(3 * phones.length);
  const digits = stored.replace(/[\s()%.-]|%20/g, '');
  expect(digits).not.toMatch(/944556677|2079460958|٩٤٤٥٥٦٦٧٧/);
  expect(stored).not.toContain(merchant.testKey.slice(9, 24));
  expect(stored).not.toMatch(/a secret of another kind|12345678/);
  expect(stored).not.toMatch(/\/c\/[\w-]{20}/);
  expect(answers.join('\n')).not.toBe('');
});

test('the log has filters for outcome, endpoint, order and request', async () => {
  const merchant = await stack.createMerchant();
  await post('/api/v1/register', merchant.testKey, body({ order_number: 'F-1' }), { 'x-request-id': 'r-1' });
  await post('/api/v1/verify', merchant.testKey, { order_number: 'F-1' }, { 'x-request-id': 'r-2' });
  await post('/api/v1/verify', merchant.testKey, { order_number: 'F-2' }, { 'x-request-id': 'r-3' });
  await until(merchant, 3);
  const ids = async (own: object): Promise<string[]> =>
    (await listed(merchant, own)).map(({ requestId }) => requestId);

  expect(await ids({})).toEqual(['r-3', 'r-2', 'r-1']);
  expect(await ids({ outcome: ApiRequestOutcome.SUCCEEDED })).toEqual(['r-2', 'r-1']);
  expect(await ids({ outcome: ApiRequestOutcome.REFUSED })).toEqual(['r-3']);
  expect(await ids({ outcome: ApiRequestOutcome.FAILED })).toEqual([]);
  expect(await ids({ endpoint: ApiEndpoint.VERIFY })).toEqual(['r-3', 'r-2']);
  expect(await ids({ orderNumber: 'F-1' })).toEqual(['r-2', 'r-1']);
  expect(await ids({ requestId: 'r-2' })).toEqual(['r-2']);
});

test('pages follow each other without a gap', async () => {
  const merchant = await stack.createMerchant();
  for (let index = 0; index < 5; index += 1)
    await post('/api/v1/verify', merchant.testKey, { order_number: `P-${index}` });
  const all = await until(merchant, 5);

  const ask = (pageToken: string) =>
    log.listApiRequests({ merchantId: merchant.id, environment, pageSize: 2, pageToken });
  const first = await ask('');
  const second = await ask(first.nextPageToken);
  const third = await ask(second.nextPageToken);

  expect(
    [first, second, third].flatMap(({ requests }) => requests.map(({ orderNumber }) => orderNumber)),
  ).toEqual(all.map(({ orderNumber }) => orderNumber));
  expect(third.nextPageToken).toBe('');
});

test('another merchant and the other environment see none of it', async () => {
  const merchant = await stack.createMerchant();
  const other = await stack.createMerchant();
  await post('/api/v1/verify', merchant.testKey, { order_number: 'X-1' });
  await until(merchant, 1);

  expect(await listed(other)).toEqual([]);
  expect(await listed(merchant, { environment: Environment.PRODUCTION })).toEqual([]);
});

test("a suspended merchant's 403 is in its log, and a 401 is in no log", async () => {
  const merchant = await stack.createMerchant();
  await stack.client(MerchantService, 'operator').suspendMerchant({ merchantId: merchant.id });
  await post('/api/v1/verify', merchant.testKey, { order_number: 'S-1' });
  await post('/api/v1/verify', `${merchant.testKey}x`, { order_number: 'S-2' });
  await post('/api/v1/verify', undefined, { order_number: 'S-3' });

  const [entry] = await until(merchant, 1);

  expect(entry).toMatchObject({ status: 403, reason: 'MERCHANT_SUSPENDED', orderNumber: '' });
  expect(await listed(merchant)).toHaveLength(1);
  const counted = await waitUntil('both are counted', async () => {
    const page = await (await fetch(`${stack.connectUrl}/metrics`)).text();
    const count = /^gatehouse_api_requests_unauthenticated_total (\d+)$/m.exec(page)?.[1];
    return Number(count) >= 2 && count;
  });
  expect(counted).toBe('2');
});

test('fifty requests of a busy merchant are kept per second, and the rest is counted', async () => {
  const logged = { kept: 0, unkept: 0 };
  const facade = await startFacadeOverRpc(
    {
      requestLog: {
        recordApiRequests({ requests, unkept }) {
          logged.kept += requests.length;
          logged.unkept += unkept.reduce((sum, { count }) => sum + Number(count), 0);
          return {};
        },
      },
    },
    // All requests arrive in the same second, however slow the machine is.
    { nowMs: () => 0 },
  );
  await Promise.all(
    Array.from({ length: 300 }, (_, index) =>
      postTo(`${facade.url}/api/v1/verify`, { order_number: `B-${index}` }),
    ),
  );

  await waitUntil('all are kept or counted', () => logged.kept + logged.unkept === 300);
  await facade.close();

  expect(logged).toEqual({ kept: 50, unkept: 250 });
});

test('entries that core refuses are counted together, and refused counts are no lost entries', async () => {
  let batches = 0;
  const facade = await startFacadeOverRpc({
    requestLog: {
      recordApiRequests() {
        batches += 1;
        throw rpcError('ROLE_NOT_ALLOWED', 'another role');
      },
    },
  });
  for (const [index, key] of ['known', 'known', undefined, undefined].entries()) {
    const headers = key === undefined ? {} : { apiKey: key };
    await postJson(`${facade.url}/api/v1/verify`, { order_number: `R-${index}` }, headers);
    await waitUntil('the batch is refused', () => batches === index + 1);
  }
  await facade.close();

  const about = facade.log.filter(({ msg }) => String(msg).includes('request log'));
  expect(about.map(({ level, msg, refused }) => ({ level, msg, refused }))).toEqual([
    { level: 50, msg: expect.stringContaining('core refuses entries'), refused: undefined },
    { level: 40, msg: expect.stringContaining('left out'), refused: 1 },
    { level: 40, msg: expect.stringContaining('these counts are lost'), refused: undefined },
    { level: 40, msg: expect.stringContaining('left out'), refused: 1 },
  ]);
});

test('entries are sent again when the connection to core breaks', async () => {
  const sent: string[][] = [];
  const facade = await startFacadeOverRpc({
    requestLog: {
      recordApiRequests({ requests }) {
        sent.push(requests.map(({ apiRequestId }) => apiRequestId));
        // As grpc-js reports a broken frame.
        if (sent.length === 1) throw new ConnectError('Received RST_STREAM with code 2', Code.Internal);
        return {};
      },
    },
  });
  await postTo(`${facade.url}/api/v1/verify`, { order_number: 'B-1' });
  await waitUntil('they are sent again', () => sent.length === 2);
  await facade.close();

  expect(sent[1]).toEqual(sent[0]);
  expect(sent[0]).toHaveLength(1);
});

test('a huge Content-Length takes no room from the entries of other merchants', async () => {
  const logged: string[] = [];
  const sent = Promise.withResolvers<undefined>();
  const facade = await startFacadeOverRpc({
    apiKeys: { authenticateApiKey: ({ apiKey }) => ({ merchantId: `mer_${apiKey}`, apiKeyId: 'key_1' }) },
    requestLog: {
      async recordApiRequests({ requests }) {
        logged.push(...requests.map(({ merchantId }) => merchantId));
        // The first batch is in progress until all requests were sent.
        await sent.promise;
        return {};
      },
    },
  });
  await postTo(`${facade.url}/api/v1/verify`, {}, { apiKey: 'first' });
  await waitUntil('the first batch is sent', () => logged.length === 1);

  const socket = connect(Number(new URL(facade.url).port), '127.0.0.1');
  const head = 'Host: x\r\napiKey: hostile\r\nContent-Type: application/json\r\nContent-Length: 16776000';
  socket.write(`POST /api/v1/verify HTTP/1.1\r\n${head}\r\n\r\n`);
  const answer = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
  await postTo(
    `${facade.url}/api/v1/verify`,
    { order_number: 1, note: 'x'.repeat(2_000) },
    { apiKey: 'other' },
  );
  socket.destroy();
  sent.resolve(undefined);
  await waitUntil('the rest is sent', () => logged.length >= 2);
  await facade.close();

  expect(answer).toContain('must be at most 32768 bytes');
  expect(logged).toEqual(['mer_first', 'mer_hostile', 'mer_other']);
});
