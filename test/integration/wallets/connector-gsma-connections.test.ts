import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { expect, test } from '@jest/globals';
import { createSharedLookup } from '../../../src/wallets/connector/shared-lookup.ts';
import { GsmaConnector } from '../../../src/wallets/gsma/gsma-connector.ts';
import type { GsmaSettings } from '../../../src/wallets/gsma/gsma-settings.ts';
import type { FaultySubject } from './faulty-subject.ts';
import { attemptId, buildPayment, gsmaSettings, routes, startGsma } from './gsma-subject.ts';
import { byteByByte, relentless, startTcpServer } from '../webhooks/receivers.ts';
import { json } from './scripted-wallet.ts';
import { listenLocally } from '../../support/listen-locally.ts';
import { createPrivateAuthority } from '../../support/private-authority.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';

const options = { signal: new AbortController().signal };
const closing = closersOfEachTest();

async function start(over: Partial<GsmaSettings> = {}): Promise<FaultySubject> {
  const subject = await startGsma(over);
  closing.push(() => subject.close());
  return subject;
}

function connect(over: Partial<GsmaSettings>): GsmaConnector {
  const connector = new GsmaConnector(gsmaSettings('http://127.0.0.1:9', over), () => new Date());
  closing.push(() => connector.close());
  return connector;
}

test.each([
  ['a name that does not resolve', 'http://wallet.invalid/mm'],
  ['a port without a listener', 'http://127.0.0.1:9/mm'],
])('nothing is sent to %s, and the exchange has the reason', async (_what, baseUrl) => {
  const { result, exchanges } = await connect({ baseUrl }).initiate(buildPayment(), options);

  expect(result.kind).toBe('not_sent');
  expect(exchanges[0]!.problem).toMatch(
    /^no_connection: (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|UND_ERR_CONNECT_TIMEOUT)/,
  );
});

test('a wallet whose name servers are silent causes one lookup, and another wallet is found', async () => {
  const { wallet } = await start();
  const asked: string[] = [];
  const silent = new Promise<never>(() => {});
  const lookup = createSharedLookup((name) => {
    asked.push(name);
    return name === 'found.example' ? Promise.resolve(['127.0.0.1']) : silent;
  });
  const timeouts = { connectMs: 5_000, callMs: 1_000 };
  const [ofOneAccount, ofAnother] = [1, 2].map(() =>
    connect({ baseUrl: 'http://silent.example/mm', lookup, timeouts }).initiate(buildPayment(), options),
  );
  const baseUrl = `${wallet.origin.replace('127.0.0.1', 'found.example')}/mm`;

  await connect({ baseUrl, lookup }).initiate(buildPayment(), options);

  expect((await ofOneAccount)?.result.kind).toBe('not_sent');
  expect((await ofAnother)?.result.kind).toBe('not_sent');
  expect(wallet.requests).not.toEqual([]);
  expect(asked.filter((name) => name === 'silent.example')).toHaveLength(1);
});

test('a wallet that speaks no TLS gets nothing', async () => {
  const { wallet } = await start();
  const baseUrl = `${wallet.origin.replace('http:', 'https:')}/mm`;

  const { result } = await connect({ baseUrl }).initiate(buildPayment(), options);

  expect(result.kind).toBe('not_sent');
  expect(wallet.requests).toEqual([]);
});

test('a server whose certificate is not accepted gets nothing, and the exchange says what to check', async () => {
  const { own } = await (await createPrivateAuthority()).issue('wallet', 'IP:127.0.0.1');
  const requests: unknown[] = [];
  const tls = { key: readFileSync(own.key), cert: readFileSync(own.certificate) };
  const server = createServer(tls, (request) => requests.push(request.url));
  const { origin, close } = await listenLocally(server);
  closing.push(close);

  const connector = connect({ baseUrl: `${origin.replace('http:', 'https:')}/mm` });
  const { result, exchanges } = await connector.initiate(buildPayment(), options);

  expect(result.kind).toBe('not_sent');
  expect(requests).toEqual([]);
  expect(exchanges[0]!.problem).toMatch(
    /^no_connection: UNABLE_TO_\w+: the certificate of the wallet's server is not accepted: check .*clock.* \(unable to verify the first certificate\)$/,
  );
});

test('a server that disconnects during the TLS handshake gets nothing', async () => {
  const { port, close } = await startTcpServer((socket) => socket.destroy());
  closing.push(close);
  const token = await start();

  const connector = connect({
    baseUrl: `https://127.0.0.1:${port}/mm`,
    tokenPath: `${token.wallet.origin}/mm/v1/oauth/accesstoken`,
  });
  const { result, exchanges } = await connector.initiate(buildPayment(), options);

  expect(result).toMatchObject({ kind: 'not_sent', why: 'no_connection' });
  expect(exchanges.map(({ purpose }) => purpose)).toEqual(['token', 'initiate']);
});

test('a payment that is cancelled while it waits for a connection is never sent', async () => {
  const { connector, wallet } = await start({ maxConnections: 1 });
  let release = (): void => {};
  wallet.on(routes.initiate, (reply) => {
    release = () => json(202, {})(reply);
  });
  const arrived = wallet.nextRequest(routes.initiate);
  const slow = connector.initiate(buildPayment(), options);
  await arrived;
  const controller = new AbortController();
  const waiting = connector.initiate(buildPayment(), { signal: controller.signal });
  // The token is cached, so after a turn of the event loop the call waits for its connection.
  await new Promise((resolve) => setImmediate(resolve));

  controller.abort();
  const { result } = await waiting;
  release();
  await slow;
  await connector.health(options);

  expect(result).toMatchObject({ kind: 'not_sent', why: 'aborted' });
  expect(wallet.requestsTo(routes.initiate)).toHaveLength(1);
});

test.each([
  ['sends nothing', () => {}],
  ['sends its answer byte by byte', byteByByte],
])('a call ends by itself when the wallet %s', async (_what, behave) => {
  const { connector, wallet } = await start({ timeouts: { connectMs: 5_000, callMs: 1_000 } });
  await connector.recover(attemptId, options);
  wallet.on(routes.initiate, behave);

  const { result, exchanges } = await connector.initiate(buildPayment(), options);

  expect(result).toMatchObject({ kind: 'unknown', why: 'timeout' });
  expect(exchanges.at(-1)!.problem).toMatch(/^timeout: /);
});

test.each([
  ['blank lines', '', '\r\n'],
  ['the zeros of a chunk size', 'HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\n', '0'],
])('%s without end are read up to a limit', async (_what, begin, more) => {
  const { connector, wallet } = await start();
  await connector.recover(attemptId, options);
  wallet.on(routes.initiate, relentless(begin, more, { bytes: 0 }));

  const { result, exchanges } = await connector.initiate(buildPayment(), options);

  expect(result).toMatchObject({ kind: 'unknown', why: 'answer_too_large' });
  expect(exchanges.at(-1)!.problem).toMatch(/^answer_too_large: /);
});

test('connections are kept and reused', async () => {
  const { connector, wallet } = await start({ maxConnections: 1 });
  const sockets = new Set<unknown>();
  wallet.on(routes.responses, (reply) => {
    sockets.add(reply.socket);
    json(200, { link: '/transactions/REF-1' })(reply);
  });

  for (let call = 0; call < 5; call += 1) await connector.recover(attemptId, options);

  expect(sockets.size).toBe(1);
});
