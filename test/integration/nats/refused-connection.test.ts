import { connect } from 'node:net';
import { beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { openEventBus } from '../../../src/contract/event-bus.ts';
import type { EventBus } from '../../../src/contract/event-bus.ts';
import { sharedServers } from '../../support/servers.ts';
import { startTcpServer } from '../webhooks/receivers.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';

const broker = new URL(sharedServers().natsUrl);
/** The error with which the broker ends connections; empty while it accepts them. */
let refusal: string;
let refusals: number;
/** Whether the broker accepts connections and says nothing, and how many of these connections the process has closed. */
let isSilent: boolean;
let closed: number;
let lines: string[];
let server: Awaited<ReturnType<typeof startTcpServer>>;
const closers = closersOfEachTest();

beforeEach(async () => {
  refusal = '';
  refusals = 0;
  isSilent = false;
  closed = 0;
  lines = [];
  server = await startTcpServer((client) => {
    if (isSilent) {
      client.on('close', () => (closed += 1)).resume();
      return;
    }
    if (refusal !== '') {
      client.write(
        'INFO {"server_id":"T","version":"2.10.0","proto":1,"headers":true,"auth_required":true,"max_payload":1048576}\r\n',
      );
      client.once('data', () => {
        refusals += 1;
        client.end(`-ERR '${refusal}'\r\n`);
      });
      return;
    }
    const far = connect({ host: broker.hostname, port: Number(broker.port) });
    far.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.on('close', () => far.destroy());
    client.pipe(far).pipe(client);
  });
  closers.push(server.close);
});

function openBus(): EventBus {
  const url = new URL(broker);
  url.host = `127.0.0.1:${server.port}`;
  const logger = pino({}, { write: (line) => void lines.push(line) });
  const bus = openEventBus({ url: url.href, name: 'refused', logger });
  closers.push(bus.close);
  return bus;
}

const linesWith = (text: string): number => lines.filter((line) => line.includes(text)).length;

const warning = '"level":40';
const failure = '"level":50';

test.each([
  ['no broker listens', 'CONNECTION_REFUSED'],
  ['the broker accepts the connection and says nothing', 'TIMEOUT'],
])('a process that starts while %s warns once, with the reason', async (_, reason) => {
  isSilent = reason === 'TIMEOUT';
  if (!isSilent) await server.close();
  const bus = openBus();
  await waitUntil('it is logged', () => linesWith('cannot connect to the broker') === 1);
  expect([linesWith(reason), linesWith(warning), linesWith(failure)]).toEqual([1, 1, 0]);
  expect(bus.isConnected()).toBe(false);
  if (isSilent) await waitUntil('the silent connection is closed', () => closed > 0);
});

test('a process closes each connection at which the broker says nothing, until the broker answers again', async () => {
  const bus = openBus();
  await waitUntil('it is connected', bus.isConnected);
  isSilent = true;
  server.disconnect();
  await waitUntil('a silent connection is closed', () => closed > 0);
  isSilent = false;
  await waitUntil('it is connected again', bus.isConnected);
});

test('a process that loses its broker logs that once, although the broker refuses each further connection', async () => {
  const bus = openBus();
  await waitUntil('it is connected', bus.isConnected);
  refusal = 'maximum connections exceeded';
  server.disconnect();
  await waitUntil('it was refused again and again', () => refusals > 1);
  expect(linesWith('disconnected from the broker')).toBe(1);
  refusal = '';
  await waitUntil('it is connected again', bus.isConnected);
  expect(linesWith('disconnected from the broker')).toBe(1);
});

test.each(['from the start', 'after it was connected'])(
  'a process whose password the broker refuses %s connects and subscribes again by itself',
  async (when) => {
    const password = 'Authorization Violation';
    refusal = when === 'from the start' ? password : '';
    const bus = openBus();
    let rings = 0;
    bus.onWake('order_events', () => (rings += 1));
    if (refusal === '') {
      await waitUntil('it is connected', bus.isConnected);
      refusal = password;
      server.disconnect();
    }
    // By default the client stops at the second refusal.
    await waitUntil('it was refused again and again', () => refusals > 4);
    expect(bus.isConnected()).toBe(false);
    expect(linesWith('cannot connect to the broker')).toBe(1);
    expect(linesWith(failure)).toBe(1);
    refusal = '';

    await waitUntil('it is connected again', bus.isConnected);
    const other = openBus();
    await waitUntil('another process is connected', other.isConnected);
    await waitUntil('it hears the other', () => {
      other.wake('order_events');
      return rings > 0;
    });
  },
);
