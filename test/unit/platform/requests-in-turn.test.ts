import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import fastify from 'fastify';
import { edgeServerOptions, protectEdge } from '../../../src/platform/http/edge-server.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { startConnectServer } from '../../../src/platform/rpc/connect-server.ts';
import { waitUntil } from '../../support/wait-until.ts';

const logger = createLogger({ process: 'test', instance: 'test', level: 'silent' });
const host = '127.0.0.1';
const body = 'x'.repeat(80_000);

interface Listener {
  readonly port: number;
  readonly stop: () => Promise<void>;
}

type Answer = () => Promise<string>;

function createEdge(answer: Answer) {
  const edge = { logger, newRequestId: () => 'id', trustedProxies: [] };
  const options = edgeServerOptions(edge);
  const http = { ...options.http, connectionsCheckingInterval: 1 };
  const app = fastify({ ...options, http, forceCloseConnections: true });
  protectEdge(app, edge, ({ issue }) => new Error(issue));
  app.get('/page', answer);
  app.post('/page', answer);
  return app;
}

async function startEdge(answer: Answer): Promise<Listener> {
  const app = createEdge(answer);
  await app.listen({ host, port: 0 });
  return { port: Number(new URL(app.listeningOrigin).port), stop: () => app.close() };
}

async function startConnect(answer: Answer): Promise<Listener> {
  const page = async () => ({ contentType: 'text/plain', body: await answer() });
  const server = await startConnectServer({ host, port: 0, services: [], pages: { '/page': page }, logger });
  return { port: Number(server.address.split(':')[1]), stop: () => server.stop(0) };
}

const request = 'GET /page HTTP/1.1\r\nHost: a\r\n\r\n';
const listeners = [
  ['an HTTP listener', startEdge],
  ['the Connect port', startConnect],
] as const;

test.each(listeners)(
  '%s handles 16 requests of one connection at a time, and answers all',
  async (_of, start) => {
    let [handled, most] = [0, 0];
    const { port, stop } = await start(async () => {
      most = Math.max(most, (handled += 1));
      // Each turn of the event loop begins another one.
      for (let turns = 0; turns < 20; turns += 1) await new Promise(setImmediate);
      handled -= 1;
      return 'x';
    });
    const socket = connect(port, host);
    let received = '';
    socket.setEncoding('latin1').on('data', (part: string) => (received += part));
    // Several reads of the connection.
    socket.write(request.repeat(5_000));
    await waitUntil('all are answered', () => received.split('HTTP/1.1 200').length === 5_001);
    socket.destroy();
    await stop();

    expect(most).toBe(16);
  },
);

test.each(listeners)('%s handles no request of a connection that has closed', async (_of, start) => {
  let handled = 0;
  const { port, stop } = await start(async () => {
    handled += 1;
    return body;
  });
  const socket = connect(port, host).on('error', () => undefined);
  // They arrive in one read of the connection.
  socket.write(request.repeat(1_000));
  await waitUntil('the first are handled', () => handled >= 16);
  socket.destroy();
  await once(socket, 'close');
  await stop();

  expect(handled).toBeLessThan(1_000);
});

test.each(listeners)('%s answers others while it handles the requests of one read', async (_of, start) => {
  let handled = 0;
  const { port, stop } = await start(async () => String((handled += 1)));
  const [other, many] = [connect(port, host), connect(port, host)];
  await Promise.all([once(other, 'connect'), once(many, 'connect')]);
  many.on('error', () => undefined).write(request.repeat(1_000));
  await waitUntil('the first is handled', () => handled > 0);
  let received = '';
  other.setEncoding('latin1').on('data', (part: string) => (received += part));
  other.write(request);
  const answer = /\r\n\r\n(?:\w+\r\n)?(\d+)/;
  await waitUntil('the other is answered', () => answer.test(received));
  for (const socket of [other, many]) socket.destroy();
  await stop();

  expect(Number(answer.exec(received)?.[1])).toBeLessThan(500);
});

test('few requests of a connection are parsed while earlier ones are handled and many connections are open', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<string>();
  let [parsed, handled] = [0, 0];
  const app = createEdge(() => {
    handled += 1;
    return released;
  });
  app.server.on('request', () => (parsed += 1));
  await app.listen({ host, port: 0 });
  const open = () => connect(Number(new URL(app.listeningOrigin).port), host).on('error', () => undefined);
  const idle = Array.from({ length: 64 }, open);
  await Promise.all(idle.map((socket) => once(socket, 'connect')));
  const socket = open();
  socket.write(request.repeat(1_000));
  await waitUntil('the first are handled', () => handled === 16);
  for (const each of [socket, ...idle]) each.destroy();
  release('x');
  await app.close();

  expect(parsed).toBeLessThan(100);
});

const post = 'POST /page HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n';
test.each([
  ['body', 17, request.repeat(16) + post + '{', '}'],
  ['head', 18, request.repeat(17) + 'GET /page', ' HTTP/1.1\r\nHost: a\r\n\r\n'],
])(
  'a request whose %s was not read in time, because others were handled, is late only if it is missing after their answers',
  async (_, count, first, rest) => {
    for (const isLate of [false, true]) {
      const { promise: released, resolve: release } = Promise.withResolvers<string>();
      let handled = 0;
      const app = createEdge(() => {
        handled += 1;
        return released;
      });
      await app.listen({ host, port: 0 });
      const timedOut = once(app.server, 'clientError');
      const socket = connect(Number(new URL(app.listeningOrigin).port), host);
      let received = '';
      socket.setEncoding('latin1').on('data', (part: string) => (received += part));
      const statuses = () => received.match(/(?<=HTTP\/1.1 )\d+/g) ?? [];

      socket.write(first);
      await waitUntil('the first are handled', () => handled === 16);
      // Nothing else is incomplete at this time.
      Object.assign(app.server, { headersTimeout: 1, requestTimeout: 1 });
      await timedOut;
      Object.assign(app.server, { headersTimeout: 60_000, requestTimeout: 60_000 });
      if (!isLate) socket.write(rest);
      release('x');
      await waitUntil('all are answered', () => statuses().length === count);
      socket.destroy();
      await app.close();

      expect(statuses()).toEqual([...Array<string>(count - 1).fill('200'), isLate ? '408' : '200']);
    }
  },
);
