import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createMemoryJournal } from '../../../src/wallet-simulator/journal.ts';
import type { JournalFile } from '../../../src/wallet-simulator/journal.ts';
import { createLedger } from '../../../src/wallet-simulator/ledger.ts';
import { startCallbackReceiver } from './callback-receiver.ts';
import { basic, startSimulator } from './simulator-under-test.ts';
import type { Answer, RequestOptions, SimulatorUnderTest } from './simulator-under-test.ts';

const apiUser = '6f1f6a10-3a1c-4c53-9d5a-4f0f7f6f1c11';
let journal: JournalFile;
let simulator: SimulatorUnderTest;

const start = (time?: SimulatorUnderTest['time']): Promise<SimulatorUnderTest> =>
  startSimulator({
    ...(time === undefined ? {} : { time }),
    gsma: [],
    others: [
      {
        id: 'mtn',
        protocol: 'mtn-momo',
        basePath: '/mtn',
        ledger: createLedger(),
        journal,
        credentials: {
          collection_subscription_key: 'collection-key',
          collection_api_user: apiUser,
          collection_api_key: 'api-key',
          disbursement_subscription_key: 'disbursement-key',
          disbursement_api_user: apiUser,
          disbursement_api_key: 'api-key',
          provider_callback_host: '127.0.0.1',
        },
      },
    ],
  });

beforeEach(async () => {
  journal = createMemoryJournal();
  simulator = await start();
});
afterEach(() => simulator.close());

const subscription = (product: string) => ({ 'ocp-apim-subscription-key': `${product}-key` });
const send = (path: string, options: RequestOptions): Promise<Answer> =>
  simulator.send(`/mtn${path}`, options);

async function tokenOf(product: string, user = apiUser, key = 'api-key'): Promise<string> {
  const headers = { ...subscription(product), authorization: basic(user, key) };
  const { json } = await send(`/${product}/token/`, { method: 'POST', headers });
  return String(json['access_token']);
}

async function call(product: string, path: string, options: RequestOptions = {}): Promise<Answer> {
  const headers = {
    ...subscription(product),
    authorization: `Bearer ${await tokenOf(product)}`,
    'x-target-environment': 'sandbox',
    ...options.headers,
  };
  return send(`/${product}/v1_0${path}`, { ...options, headers });
}

const body = (partyId: string, over: object = {}) => ({
  amount: '5.0',
  currency: 'EUR',
  externalId: 'invoice-7',
  payer: { partyIdType: 'MSISDN', partyId },
  payerMessage: 'Coffee',
  payeeNote: 'Coffee',
  ...over,
});

interface PayOptions {
  readonly over?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly id?: string;
}

async function pay(
  partyId: string,
  { over = {}, headers = {}, id = randomUUID() }: PayOptions = {},
): Promise<{ readonly id: string; readonly answer: Answer }> {
  const answer = await call('collection', '/requesttopay', {
    body: body(partyId, over),
    headers: { 'x-reference-id': id, ...headers },
  });
  return { id, answer };
}

const statusOf = async (id: string) => (await call('collection', `/requesttopay/${id}`)).json;

describe('the gateway', () => {
  test('answers 411 without a length', async () => {
    const { hostname, port } = new URL(simulator.origin);
    const socket = connect(Number(port), hostname);
    socket.end('POST /mtn/collection/token/ HTTP/1.1\r\nhost: mtn\r\nconnection: close\r\n\r\n');

    expect(await text(socket)).toMatch(/^HTTP\/1.1 411 /);
  });

  test('answers a form with 200 and a web page, as the live gateway does', async () => {
    const answer = await send('/collection/token/', {
      body: 'grant_type=client_credentials',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });

    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(answer.text).toContain('Request Rejected');
  });

  test('refuses the key of another product, a wrong user, a wrong environment and an expired token', async () => {
    const wrongKey = await call('collection', '/account/balance', { headers: subscription('disbursement') });
    const wrongUser = await tokenOf('collection', apiUser, 'other');
    const wrongEnvironment = await call('collection', '/account/balance', {
      headers: { 'x-target-environment': 'mtnuganda' },
    });
    const otherProduct = await call('collection', '/account/balance', {
      headers: { authorization: `Bearer ${await tokenOf('disbursement')}` },
    });
    const old = await tokenOf('collection');
    simulator.time.pass(300_000);
    const expired = await call('collection', '/account/balance', {
      headers: { authorization: `Bearer ${old}` },
    });

    expect(wrongKey).toMatchObject({ status: 401, json: { statusCode: 401 } });
    expect(wrongUser).toBe('undefined');
    expect(wrongEnvironment).toMatchObject({ status: 500, json: { code: 'NOT_ALLOWED_TARGET_ENVIRONMENT' } });
    expect([otherProduct.status, expired.status]).toEqual([401, 401]);
  });
});

test('an API user is created once, gets a key, and then a token', async () => {
  const id = randomUUID();
  const create = (name: string) =>
    send('/v1_0/apiuser', {
      body: { providerCallbackHost: 'shop.example' },
      headers: { ...subscription('collection'), 'x-reference-id': name },
    });

  const created = await create(id);
  const again = await create(id);
  const notV4 = await create('018f4a54-9b61-7cc1-9a5e-5b1f4b5d2a01');
  const key = await send(`/v1_0/apiuser/${id}/apikey`, {
    method: 'POST',
    headers: subscription('collection'),
  });
  const user = await send(`/v1_0/apiuser/${id}`, { headers: subscription('collection') });
  const token = await tokenOf('collection', id, String(key.json['apiKey']));

  expect([created.status, again.status, notV4.status, key.status]).toEqual([201, 409, 400, 201]);
  expect(user.json).toEqual({ providerCallbackHost: 'shop.example', targetEnvironment: 'sandbox' });
  expect(token.length).toBeGreaterThan(20);
});

describe('a request to pay', () => {
  test('is accepted with an empty body, pending, then successful, and reported by a callback without its id', async () => {
    const receiver = await startCallbackReceiver();
    const { id, answer } = await pay('256774290781', { headers: { 'x-callback-url': receiver.url } });
    const before = await statusOf(id);
    simulator.time.pass(1_000);
    const [callback] = await receiver.wait(1);
    const after = await statusOf(id);
    await receiver.close();

    expect([answer.status, answer.text]).toEqual([202, '']);
    expect(before).toMatchObject({ status: 'PENDING', externalId: 'invoice-7' });
    expect(after).toMatchObject({
      status: 'SUCCESSFUL',
      amount: '5',
      financialTransactionId: expect.stringMatching(/^[0-9]{10}$/),
    });
    expect(callback).toMatchObject({ method: 'POST', json: after });
    expect(callback!.raw).not.toContain(id);
    expect(await simulator.charges()).toMatchObject([{ wallet: 'mtn', correlation_id: id, amount: '5' }]);
  });

  test.each([
    ['a currency that the sandbox does not have', { over: { currency: 'UGX' } }, 500, 'INVALID_CURRENCY'],
    ['too many decimals', { over: { amount: '1.005' } }, 400, 'VALIDATION_ERROR'],
    ['a number for an amount', { over: { amount: 5 } }, 400, 'VALIDATION_ERROR'],
    ['an apostrophe', { over: { payerMessage: "Tom's" } }, 400, 'VALIDATION_ERROR'],
    [
      'a plus',
      { over: { payer: { partyIdType: 'MSISDN', partyId: '+256774290781' } } },
      400,
      'VALIDATION_ERROR',
    ],
    ['an id of version 7', { id: '018f4a54-9b61-7cc1-9a5e-5b1f4b5d2a01' }, 400, 'VALIDATION_ERROR'],
    [
      'another callback host',
      { headers: { 'x-callback-url': 'http://elsewhere.example/' } },
      500,
      'INVALID_CALLBACK_URL_HOST',
    ],
  ])('with %s is refused', async (_what, options, status, code) => {
    const { answer } = await pay('256774290781', options);

    expect(answer).toMatchObject({ status, json: { code } });
  });

  test.each([
    ['50', 'INTERNAL_PROCESSING_ERROR'],
    ['51', 'APPROVAL_REJECTED'],
    ['52', 'EXPIRED'],
    ['55', 'PAYER_NOT_FOUND'],
    ['56', 'PAYEE_NOT_ALLOWED_TO_RECEIVE'],
    ['63', 'COULD_NOT_PERFORM_TRANSACTION'],
  ])('of MTN’s test number 467331234%s fails with %s', async (digits, reason) => {
    const { id } = await pay(`467331234${digits}`);
    simulator.time.pass(120_000);

    expect(await statusOf(id)).toMatchObject({ status: 'FAILED', reason });
  });

  test.each([
    ['57', 500, 'NOT_ALLOWED'],
    ['58', 500, 'NOT_ALLOWED_TARGET_ENVIRONMENT'],
    ['59', 500, 'INVALID_CALLBACK_URL_HOST'],
    ['60', 500, 'INVALID_CURRENCY'],
    ['61', 500, 'INTERNAL_PROCESSING_ERROR'],
    ['62', 503, 'SERVICE_UNAVAILABLE'],
  ])('of MTN’s test number 467331234%s is answered %d %s', async (digits, status, code) => {
    const { id, answer } = await pay(`467331234${digits}`);

    expect(answer).toMatchObject({ status, json: { code } });
    expect(await statusOf(id)).toMatchObject({ code: 'RESOURCE_NOT_FOUND' });
  });

  test('of MTN’s number 53 succeeds after half a minute, and that of 54 never ends', async () => {
    const ongoing = await pay('46733123453');
    const delayed = await pay('46733123454');
    simulator.time.pass(29_000);
    const early = await statusOf(ongoing.id);
    simulator.time.pass(600_000);

    expect(early).toMatchObject({ status: 'PENDING' });
    expect(await statusOf(ongoing.id)).toMatchObject({ status: 'SUCCESSFUL' });
    expect(await statusOf(delayed.id)).toMatchObject({ status: 'PENDING' });
  });

  test('is known after a restart, and ends afterwards', async () => {
    const { id } = await pay('256774290781');
    const { time } = simulator;
    await simulator.close();
    simulator = await start(time);
    const known = await statusOf(id);
    time.pass(1_000);

    expect(known).toMatchObject({ status: 'PENDING' });
    expect(await statusOf(id)).toMatchObject({ status: 'SUCCESSFUL', externalId: 'invoice-7' });
  });
});

describe('Disbursement', () => {
  const post = (path: string, content: object, id = randomUUID()) =>
    call('disbursement', path, { body: content, headers: { 'x-reference-id': id } }).then((answer) => ({
      id,
      answer,
    }));

  test('pays out, and shows the balance', async () => {
    await pay('256774290781');
    simulator.time.pass(1_000);
    const { payer: payee, ...rest } = body('256774290781', { amount: '2' });

    const { id, answer } = await post('/transfer', { ...rest, payee });
    simulator.time.pass(1_000);

    expect(answer.status).toBe(202);
    expect((await call('disbursement', `/transfer/${id}`)).json).toMatchObject({
      status: 'SUCCESSFUL',
      payee,
    });
    expect((await call('disbursement', '/account/balance')).json).toEqual({
      availableBalance: '3',
      currency: 'EUR',
    });
  });
});
