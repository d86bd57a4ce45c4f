import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:http2';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { expect, test } from '@jest/globals';
import { Health } from '../../../src/gen/health/v1/health_pb.js';
import { createLogger } from '../../../src/platform/logger.ts';
import { startConnectServer } from '../../../src/platform/rpc/connect-server.ts';
import type { ConnectServer, ConnectServerOptions } from '../../../src/platform/rpc/connect-server.ts';
import { rpcService } from '../../../src/platform/rpc/rpc-service.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';

const closers = closersOfEachTest();

/** A server whose Health.Check reports its handler's deadline to the test. */
async function start(
  seen: (timeoutMs: number | undefined) => void,
  port = 0,
  pages: ConnectServerOptions['pages'] = {},
): Promise<ConnectServer> {
  const { spec } = rpcService(
    Health,
    {
      check: (_request, context) => {
        seen(context.timeoutMs());
        return {};
      },
      list: () => ({}),
      watch: async function* () {},
    },
    { check: 'anyone', list: 'anyone', watch: 'anyone' },
  );
  const logger = createLogger({ process: 'test', instance: 'test', level: 'silent' });
  const server = await startConnectServer({ host: '127.0.0.1', port, services: [spec], pages, logger });
  closers.push(() => server.stop(1_000));
  return server;
}

test.each([
  ['without a deadline gets 30 seconds', undefined, 29_000, 30_000],
  ['keeps the deadline it came with', 5_000, 4_000, 5_000],
])('a unary call %s', async (_what, timeoutMs, atLeast, atMost) => {
  const seen: (number | undefined)[] = [];
  const server = await start((deadline) => seen.push(deadline));
  const transport = createConnectTransport({
    baseUrl: `http://${server.address}`,
    httpVersion: '1.1',
    nodeOptions: { agent: false },
  });
  await createClient(Health, transport).check({}, timeoutMs === undefined ? {} : { timeoutMs });
  expect(seen).toHaveLength(1);
  expect(seen[0]).toBeGreaterThan(atLeast);
  expect(seen[0]).toBeLessThanOrEqual(atMost);
});

test('a port in use is an error of the start', async () => {
  const server = await start(() => undefined);
  const port = Number(server.address.split(':')[1]);
  await expect(start(() => undefined, port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

test('a page answers GET requests to its path, and no other request', async () => {
  const hello = () => Promise.resolve({ contentType: 'text/plain', body: 'hello' });
  const server = await start(() => undefined, 0, { '/hello': hello });
  const ask = async (path: string, method = 'GET') => {
    const answer = await fetch(`http://${server.address}${path}`, { method });
    return [answer.status, await answer.text()];
  };
  expect([await ask('/hello'), await ask('/hello?a=b'), await ask('/hello', 'POST'), await ask('/')]).toEqual(
    [
      [200, 'hello'],
      [200, 'hello'],
      [404, expect.stringContaining('the server does not implement the method /hello')],
      [404, expect.stringContaining('the server does not implement the method /')],
    ],
  );
});

test.each([
  ['GET', '/hello'],
  ['POST', `/${Health.typeName}/Check`],
])('%s of a whole URL, as it is sent to a proxy, reaches %s', async (method, path) => {
  const hello = () => Promise.resolve({ contentType: 'text/plain', body: 'hello' });
  const server = await start(() => undefined, 0, { '/hello': hello });
  const [host, port] = server.address.split(':');
  const headers = { 'content-type': 'application/json', connection: 'close' };
  const sent = request({ host, port, method, path: `http://gateway.example${path}`, headers });
  sent.end(method === 'GET' ? undefined : '{}');
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  answer.resume();
  expect(answer.statusCode).toBe(200);
});

test('a page that fails is answered with 500', async () => {
  const server = await start(() => undefined, 0, { '/broken': () => Promise.reject(new Error('broken')) });
  const { status } = await fetch(`http://${server.address}/broken`);
  expect(status).toBe(500);
});

test('a client that leaves 65 pages unread is disconnected, and others get theirs', async () => {
  const body = 'x'.repeat(1_000);
  const hello = () => Promise.resolve({ contentType: 'text/plain', body });
  const server = await start(() => undefined, 0, { '/hello': hello });
  const url = `http://${server.address}`;
  const reader = connect(url, { settings: { initialWindowSize: 0 } }).on('error', () => undefined);
  const left = once(reader, 'close');
  for (let unread = 0; unread < 65; unread += 1) {
    reader.request({ ':path': '/hello' }).on('error', () => undefined);
  }
  await left;
  expect(await (await fetch(`${url}/hello`)).text()).toBe(body);
});
