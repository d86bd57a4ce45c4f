import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { openPaymentDesk, outcomes } from '../integration/core/payment-desk.ts';
import { startProcess } from '../support/gatehouse-process.ts';
import { publicId } from '../support/ids.ts';
import { startInline } from '../support/inline-process.ts';
import { startStack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { closersOfEachTest } from '../support/shared-stack.ts';

const cleanUps = closersOfEachTest();
/** A part of PostgreSQL's message Bind: the empty name of a portal, and the name of the statement that adds orders with keys. */
const insert = '\0insert-keyed-orders\0';

/** A network between core and PostgreSQL. It delivers the statement that adds orders with keys, and never its answer. */
async function startAnswerSilencer(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let silenced = 0;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  };
  const server = createServer((near) => {
    const far = connect({ host: target.hostname, port: Number(target.port) });
    keep(near);
    keep(far);
    let isSilent = false;
    near.on('data', (chunk: Buffer) => {
      if (chunk.includes(insert) && !isSilent) {
        isSilent = true;
        silenced += 1;
      }
      far.write(chunk);
    });
    far.on('data', (chunk: Buffer) => isSilent || near.write(chunk));
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    silenced: () => silenced,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test('a keyed request whose core was killed after the commit gets the stored answer when it is repeated', async () => {
  const stack = await startStack({ cores: 1, facades: 1 });
  cleanUps.push(() => stack.stop());
  const { id: merchantId, testKey } = await stack.createMerchant();
  const desk = await openPaymentDesk(stack);
  cleanUps.push(() => desk.close());
  const silencer = await startAnswerSilencer(stack.databaseUrl);
  cleanUps.push(() => silencer.close());
  const startInPlace = async (
    start: typeof startProcess,
    settings: Readonly<Record<string, string>> = {},
  ) => {
    const port = stack.addresses[0]?.split(':').at(-1) ?? '';
    const core = await start('core', {
      ...stack.coreSettings,
      GATEHOUSE_CORE_GRPC_PORT: port,
      ...settings,
    });
    cleanUps.push(() => core.stop());
    return core;
  };
  const untilReached = () =>
    waitUntil(
      'the facade reaches the new core',
      async () => (await fetch(`${stack.facades[0]?.sandbox}/readyz`)).ok,
    );
  const order_number = 'KEYED-1';
  const payment = { order_number, amount: '100.50', currency: 'ETB', phone: '0911223344' };
  const pay = async (headers: Readonly<Record<string, string>> = { 'idempotency-key': 'once' }) => {
    const url = `${stack.facades[0]?.sandbox}/api/v1/direct?payment_option=walleta_ussd`;
    const response = await fetch(url, {
      method: 'POST',
      headers: { apiKey: testKey, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(payment),
    });
    const { payment_status } = (await response.json()) as { payment_status?: string };
    return [response.status, payment_status];
  };
  const rows = () =>
    desk.query<{ id: string; latest_attempt_id: string }>(
      'select id, latest_attempt_id from core.orders where order_number = $1',
      [order_number],
    );
  await stack.cores[0]?.stop();
  const core = await startInPlace(startProcess, { GATEHOUSE_DATABASE_URL: silencer.url });
  await untilReached();

  const unanswered = pay();
  await waitUntil('the order is committed', async () => (await rows()).length === 1);
  expect(silencer.silenced()).toBe(1);
  await core.stop('SIGKILL');
  expect(await unanswered).toEqual([500, undefined]);
  await startInPlace(startInline);
  const [order] = await rows();
  const attemptId = publicId('pat', order?.latest_attempt_id ?? '');
  const started = { merchantId, orderId: publicId('ord', order?.id ?? ''), attemptId };
  await waitUntil('the new core records the outcome', () =>
    desk.settle(started, outcomes.completed('t-1')).then(
      () => true,
      () => false,
    ),
  );
  await untilReached();

  // The order is paid, so PENDING can only be the answer that was stored with the commit.
  expect(await pay()).toEqual([201, 'PENDING']);
  expect(await pay({})).toEqual([201, 'COMPLETED']);
  expect(await rows()).toEqual([order]);
  expect(await desk.history(started)).toHaveLength(3);
});
