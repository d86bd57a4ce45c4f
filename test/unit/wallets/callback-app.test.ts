import { mock } from 'node:test';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createLogger } from '../../../src/platform/logger.ts';
import { buildCallbackApp } from '../../../src/wallets/callback-app.ts';
import type { CallbackAppOptions } from '../../../src/wallets/callback-app.ts';

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
afterEach(() => mock.timers.reset());

/** No callback of an unknown wallet reaches core. */
const core = {} as Pick<
  CallbackAppOptions,
  'payments' | 'strayPayments' | 'refunds' | 'payerPayments'
> as CallbackAppOptions;

test('refused callbacks share a log line a minute, and so do invalid requests', async () => {
  const lines: Record<string, unknown>[] = [];
  const app = buildCallbackApp({
    ...core,
    wallets: [],
    trustedProxies: [],
    logger: createLogger(
      { process: 'wallets', instance: 'wallets', level: 'info' },
      { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
    ),
    now: () => new Date(),
    newRequestId: () => 'req_1',
    isDraining: () => false,
  });
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

  const refused = { level: 'warn', msg: 'callback refused', wallet: 'unknown', known_wallet: false };
  const invalid = { level: 'info', msg: 'not a valid HTTP request', status: 404 };
  expect(lines.filter(({ msg }) => !String(msg).startsWith('Server listening'))).toMatchObject([
    { ...refused, count: 1 },
    { ...invalid, count: 1 },
    { ...refused, count: 49 },
    { ...invalid, count: 19 },
  ]);
});
