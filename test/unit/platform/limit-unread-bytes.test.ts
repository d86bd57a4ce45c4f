import { once } from 'node:events';
import { connect, createServer } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { limitUnreadBytes } from '../../../src/platform/rpc/limit-unread-bytes.ts';
import { keptLog } from '../../support/kept-log.ts';

const answerBytes = 1024 * 1024;
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** The URL of a server whose answers have 1 MiB, and may wait for clients up to 4 MiB. */
async function startLimited(): Promise<string> {
  const server = createServer((_request, response) => response.end(Buffer.alloc(answerBytes)));
  limitUnreadBytes(server, { logger: keptLog().logger, listener: 'test', maxBytes: 4 * answerBytes });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function connectTo(url: string, settings = {}): ClientHttp2Session {
  const session = connect(url, { settings }).on('error', () => undefined);
  closers.push(() => session.destroy());
  return session;
}

const call = (session: ClientHttp2Session): ClientHttp2Stream =>
  session.request({ ':path': '/' }).on('error', () => undefined);

test('a client that reads nothing is disconnected when its answers exceed the limit, and others are not', async () => {
  const url = await startLimited();
  const [silent, below, reading] = [
    connectTo(url, { initialWindowSize: 0 }),
    connectTo(url, { initialWindowSize: 0 }),
    connectTo(url),
  ];
  const waiting = call(below);
  await once(waiting, 'response');
  const closed = new Promise((resolve) => silent.once('close', resolve));
  for (let calls = 0; calls < 6; calls += 1) call(silent);

  await closed;
  let received = 0;
  const answer = call(reading).on('data', (bytes: Buffer) => (received += bytes.length));
  await once(answer, 'end');

  expect(received).toBe(answerBytes);
  expect([waiting.closed, below.closed]).toEqual([false, false]);
});
