import { once } from 'node:events';
import { mock } from 'node:test';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { InjectOptions } from 'fastify';
import { Code, ConnectError, createClient, createRouterTransport } from '@connectrpc/connect';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import type { HastenRefundRequest } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { readCallback } from '../../../src/wallets/mpesa-daraja/read-callback.ts';
import { buildCallbackApp } from '../../../src/wallets/callback-app.ts';
import type { CallbackAppOptions, CallbackWallet } from '../../../src/wallets/callback-app.ts';
import type { WalletConnector } from '../../../src/wallets/connector/wallet-connector.ts';
import { createCallbackTokens } from '../../../src/wallets/callback-token.ts';
import { keptLog } from '../../support/kept-log.ts';

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
afterEach(() => mock.timers.reset());

/** No callback of an unknown wallet reaches core. */
const core = {} as Pick<
  CallbackAppOptions,
  'payments' | 'strayPayments' | 'refunds' | 'payerPayments'
> as CallbackAppOptions;

function loggedApp(own: Partial<CallbackAppOptions>) {
  const { logger, log: lines } = keptLog({ level: 'info' });
  const app = buildCallbackApp({
    ...core,
    trustedProxies: [],
    logger,
    now: () => new Date(),
    newRequestId: () => 'req_1',
    draining: new AbortController().signal,
    ...own,
  });
  return { app, lines };
}

test('refused callbacks share a log line a minute, and so do invalid requests', async () => {
  const { app, lines } = loggedApp({ wallets: [] });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const sendInvalid = () =>
    new Promise<void>((closed) => {
      const socket = connect(port, '127.0.0.1', () => socket.end('not HTTP\r\n\r\n'));
      socket.resume().on('close', () => closed());
    });

  for (let count = 0; count < 50; count += 1) {
    const { statusCode } = await app.inject({ method: 'POST', url: '/callbacks/walletz/pat_1/guessed' });
    expect(statusCode).toBe(404);
  }
  for (let count = 0; count < 20; count += 1) await sendInvalid();
  mock.timers.tick(60_000);
  await app.close();

  const refused = {
    ...{ level: 'warn', wallet: 'unknown', known_wallet: false },
    msg: expect.stringMatching(/^callback refused\. .+From an unknown sender, ignore it\./),
  };
  const invalid = { level: 'info', msg: 'not a valid HTTP request', status: 404 };
  expect(lines.filter(({ msg }) => !String(msg).startsWith('Server listening'))).toMatchObject([
    { ...refused, count: 1 },
    { ...invalid, count: 1 },
    { ...refused, count: 49 },
    { ...invalid, count: 19 },
  ]);
});

test.each(['/callbacks/walletz/pat_1/guessed', '/another'])(
  'a stranger is refused at %s before the body is read',
  async (path) => {
    const { app } = loggedApp({ wallets: [] });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n{`);
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    await app.close();

    expect(answer.toString()).toMatch(/^HTTP\/1.1 404 /);
  },
);

test('a message to the address for timeouts reaches the connector as one, and a result waits for an unavailable core', async () => {
  const tokens = createCallbackTokens(Buffer.alloc(32), 'mpesa-sandbox');
  const [merchantId, refundId] = ['mer_01m7xpezd5eza9vfaxreydn4e9', 'rfd_01m7xpezgke04r7skj5rcme9ye'];
  const recorded: HastenRefundRequest[] = [];
  let calls = 0;
  const taking = createRouterTransport(({ service }) => {
    service(RefundService, {
      hastenRefund(request) {
        calls += 1;
        // A restart of core must not lose the result, which the wallet does not repeat.
        if (calls === 1) throw new ConnectError('the database does not answer', Code.Unavailable);
        recorded.push(request);
        return {};
      },
    });
  });
  const connector: Pick<WalletConnector, 'parseCallback'> = {
    // inject has no distinct headers.
    parseCallback: (callback) => readCallback({ ...callback, headers: {} }, []),
  };
  const { app } = loggedApp({
    refunds: createClient(RefundService, taking),
    wallets: [
      {
        ...{ name: 'mpesa-sandbox', sources: [], apiKey: undefined, payerStarted: undefined, tokens },
        connector: connector as WalletConnector,
      },
    ],
  });
  const Result = { ResultCode: 1, OriginatorConversationID: '7619-1', ConversationID: 'AG_1' };
  const url = `/callbacks/mpesa-sandbox/${refundId}/${tokens.make(merchantId, refundId)}`;

  for (const address of [url, `${url}/timeout`]) {
    const answer = await app.inject({ method: 'POST', url: address, payload: { Result } });
    expect([answer.statusCode, answer.body]).toEqual([200, '{"ResultCode":0,"ResultDesc":"Accepted"}']);
  }
  const other = await app.inject({ method: 'POST', url: `${url}/another`, payload: { Result } });
  await app.close();

  expect(other.statusCode).toBe(404);
  expect(recorded).toMatchObject([
    { refundId, callbackNote: expect.stringContaining('"code":"1"') },
    { refundId, callbackNote: '', exchange: { url: `/callbacks/mpesa-sandbox/${refundId}/…/timeout` } },
  ]);
});

const tokensOf = (wallet: string) => createCallbackTokens(Buffer.alloc(32), wallet);
const attempt = ['mer_01m7xpezd5eza9vfaxreydn4e9', 'pat_01m7xpezgke04r7skj5rcme9ye'] as const;

/** A wallet whose callbacks only 192.0.2.0/24 may send, and the URL of one. */
function guardedWallet(own: Partial<CallbackWallet> = {}) {
  const tokens = tokensOf('walleta-sandbox');
  const wallet: CallbackWallet = {
    ...{ name: 'walleta-sandbox', sources: ['192.0.2.0/24'], apiKey: undefined, payerStarted: undefined },
    ...{ tokens, connector: {} as WalletConnector, ...own },
  };
  return { wallet, url: `/callbacks/walleta-sandbox/${attempt[1]}/${tokens.make(...attempt)}` };
}

const genuine = (wallet: string, id: string = attempt[1]): string => tokensOf(wallet).make(attempt[0], id);

describe('a callback is refused, and reaches neither connector nor core,', () => {
  const callbackKey = 'what-callbacks-carry';
  const open = { sources: [] };
  const path = (token: string, wallet = 'walleta-sandbox') => `/callbacks/${wallet}/${attempt[1]}/${token}`;
  const url = path(genuine('walleta-sandbox'));

  test.each<[string, number, string, InjectOptions?]>([
    // callback-token.test.ts has all forms of a wrong token.
    ['with a guessed token', 404, path(`${attempt[0]}.${'A'.repeat(43)}`)],
    [
      'with a guessed token and the key',
      404,
      path('A'.repeat(43)),
      { headers: { 'x-api-key': callbackKey } },
    ],
    ['with the token of another payment', 404, path(genuine('walleta-sandbox', 'pat_2'))],
    ['of an unknown wallet', 404, path(genuine('walletc-sandbox'), 'walletc-sandbox')],
    ['of a wallet of the other environment', 404, path(genuine('walleta-sandbox'), 'walleta-production')],
    ['of a wallet named after a property of objects', 404, path(genuine('constructor'), 'constructor')],
    ['with the token of another wallet', 404, path(genuine('walletb-sandbox'))],
    ['with its own token, at another wallet', 404, path(genuine('walleta-sandbox'), 'walletb-sandbox')],
    ['with a token longer than any of ours', 404, path('A'.repeat(4_096))],
    ['without a token', 404, `/callbacks/walleta-sandbox/${attempt[1]}`],
    ['at another path', 404, url.replace('/callbacks/', '/callback/')],
    ['by GET', 404, url, { method: 'GET' }],
    ['by DELETE', 404, url, { method: 'DELETE' }],
    ['by PATCH', 404, url, { method: 'PATCH' }],
    [
      'when it is larger than any genuine one',
      413,
      url,
      { headers: { 'x-api-key': callbackKey }, payload: 'x'.repeat(65 * 1024) },
    ],
    ['with a path that is not valid text', 404, '/callbacks/walleta-sandbox/%ff%fe/%00'],
    ['with a wallet that is not valid text', 404, '/callbacks/%/x/y'],
    ['without the key', 401, url],
    ['with an empty key', 401, url, { headers: { 'x-api-key': '' } }],
    ['with another key', 401, url, { headers: { 'x-api-key': callbackKey.toUpperCase() } }],
    ['with part of the key', 401, url, { headers: { 'x-api-key': callbackKey.slice(0, -1) } }],
    ['with more than the key', 401, url, { headers: { 'x-api-key': `${callbackKey}!` } }],
    ['with the key in another header', 401, url, { headers: { authorization: `Bearer ${callbackKey}` } }],
  ])('%s', async (_name, status, url, init = {}) => {
    const { app, lines } = loggedApp({
      wallets: [
        guardedWallet({ ...open, apiKey: callbackKey }).wallet,
        guardedWallet({ ...open, name: 'walletb-sandbox', tokens: tokensOf('walletb-sandbox') }).wallet,
      ],
    });

    const answer = await app.inject({ method: 'PUT', url, ...init });
    await app.close();

    expect([answer.statusCode, answer.body]).toEqual([status, '']);
    expect(JSON.stringify(lines)).not.toContain(callbackKey);
    if (status === 401)
      expect(lines).toMatchObject([{ wallet: 'walleta-sandbox', about: attempt[1], key_ok: false }]);
  });
});

test('a sender that a trusted balancer does not name by an address is none of the wallet', async () => {
  const { wallet, url } = guardedWallet();
  const { app } = loggedApp({ wallets: [wallet], trustedProxies: ['127.0.0.1'] });

  const answer = await app.inject({ method: 'PUT', url, headers: { 'x-forwarded-for': 'unknown' } });
  await app.close();

  expect(answer.statusCode).toBe(404);
});

test.each<[string, Partial<CallbackWallet>, number, RegExp]>([
  ['from another address', {}, 404, /add it there/],
  ['without the key', { sources: [], apiKey: 'what-callbacks-carry' }, 401, /callbacks\.api_key/],
  ['that meets a defect', { sources: [] }, 500, /^a callback could not be handled.+settlement waiting$/],
])('a genuine callback %s is logged with what to do', async (_name, own, status, action) => {
  const { wallet, url } = guardedWallet(own);
  const { app, lines } = loggedApp({ wallets: [wallet] });

  // Without a trusted proxy, a request cannot choose its own address.
  const claimed = { 'x-forwarded-for': '192.0.2.7', forwarded: 'for=192.0.2.7', 'x-real-ip': '192.0.2.7' };
  const { statusCode } = await app.inject({ method: 'POST', url, headers: claimed });
  await app.close();

  expect(statusCode).toBe(status);
  expect(lines).toMatchObject([{ msg: expect.stringMatching(action), request_id: 'req_1' }]);
});

/** A connector that takes every callback for a hint. */
const hinting = (): WalletConnector => {
  const at = new Date();
  const exchange = {
    ...{ purpose: 'callback' as const, method: 'POST', url: '/', startedAt: at, endedAt: at },
    ...{ requestHeaders: {}, requestBody: '', responseHeaders: {}, responseBody: '' },
  };
  const connector: Pick<WalletConnector, 'parseCallback'> = {
    parseCallback: () => ({
      exchange,
      announced: 'completed',
      queryNow: true,
      reply: { status: 200, body: '' },
    }),
  };
  return connector as WalletConnector;
};

test('callbacks that core does not take are answered 503, and warnings say that no payment is lost, in few lines', async () => {
  const unavailable = createRouterTransport(({ service }) => {
    service(PaymentAttemptService, {
      hastenPaymentAttempt: () => {
        throw new ConnectError('the database does not answer', Code.Unavailable);
      },
    });
  });
  const { wallet, url } = guardedWallet({ sources: [], connector: hinting() });
  const { app, lines } = loggedApp({
    payments: createClient(PaymentAttemptService, unavailable),
    wallets: [wallet],
  });

  for (let count = 0; count < 25; count += 1)
    expect((await app.inject({ method: 'POST', url })).statusCode).toBe(503);
  mock.timers.tick(60_000);
  await app.close();

  const warning = {
    level: 'warn',
    msg: expect.stringMatching(/No payment is lost.+gatehouse doctor$/),
    request_id: 'req_1',
  };
  expect(lines).toMatchObject([...Array.from({ length: 20 }, () => warning), { ...warning, count: 5 }]);
});

test('a callback in progress is answered while the process drains, and its connection ends', async () => {
  const { promise: atCore, resolve: reachedCore } = Promise.withResolvers<undefined>();
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<undefined>();
  const slow = createRouterTransport(({ service }) => {
    service(PaymentAttemptService, {
      async hastenPaymentAttempt() {
        reachedCore(undefined);
        await mayAnswer;
        return {};
      },
    });
  });
  const draining = new AbortController();
  const { wallet, url } = guardedWallet({ sources: [], connector: hinting() });
  const payments = createClient(PaymentAttemptService, slow);
  const { app } = loggedApp({ payments, wallets: [wallet], draining: draining.signal });
  await app.listen({ port: 0, host: '127.0.0.1' });
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(`POST ${url} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}`);
  await atCore;

  draining.abort();
  answer(undefined);
  const [reply] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  await app.close();

  expect(reply.toString()).toMatch(/^HTTP\/1.1 200 [^]+\r\nconnection: close\r\n/i);
});
