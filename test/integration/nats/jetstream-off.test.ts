import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect } from 'nats';
import { pino } from 'pino';
import { openEventBus } from '../../../src/contract/event-bus.ts';
import type { EventBus } from '../../../src/contract/event-bus.ts';
import { CheckResult, CheckSubject } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { exitWithParent } from '../../../src/main/local/exit-with-parent.ts';
import { choosePorts } from '../../../src/main/local/free-port.ts';
import { findOrInstallNatsServer } from '../../../src/main/local/nats-binary.ts';
import { natsProcess } from '../../../src/main/local/nats.ts';
import { publishStored } from '../../../src/platform/nats/publish-stored.ts';
import { stoppableProcess } from '../../../src/main/prove/stoppable-process.ts';
import { sharedCoreDatabase, sharedTestDatabase } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { checksOfCore } from '../core/doctor-checks.ts';

const host = '127.0.0.1';
const reason = 'nats-server answers, but has no JetStream: turn JetStream on';
const ignore = (): undefined => undefined;
const lines: string[] = [];
let bus: EventBus;
let brokerUrl: string;
let stop: () => Promise<void>;

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-no-jetstream-'));
  const program = await findOrInstallNatsServer({ report: ignore, signal: new AbortController().signal });
  const [port = 0] = await choosePorts([{ setting: 'a free port', host, port: 0 }]);
  const server = await stoppableProcess(
    {
      ...natsProcess({ program, folder, port, password: '', marker: {} }),
      ...exitWithParent('SIGTERM', program, ['--addr', host, '--port', `${port}`]),
    },
    { logFolder: folder, warn: ignore },
  );
  await server.start();
  const logger = pino({}, { write: (line) => void lines.push(line) });
  brokerUrl = `nats://${host}:${port}`;
  bus = openEventBus({ url: brokerUrl, name: 'test', logger });
  stop = async () => {
    await bus.close();
    await server.stop();
    await rm(folder, { recursive: true });
  };
  await waitUntil('it is connected', bus.isConnected);
});
afterAll(() => stop());

const testDatabase = sharedTestDatabase();
const database = sharedCoreDatabase('jetstream off', () => testDatabase.url, 2);

test('doctor fails at a broker without JetStream, although no event waits', async () => {
  const checks = await checksOfCore(database, { broker: bus });

  expect(checks.find(({ subject }) => subject === CheckSubject.BROKER)).toMatchObject({
    result: CheckResult.FAILED,
    detail: expect.stringContaining(reason),
  });
});

const message = {
  subject: 'orders.sandbox.mer_1.order.created',
  id: 'evt_1',
  headers: {},
  body: Buffer.from('x'),
};

test('publishing to a broker without JetStream fails with a message that says what to do', async () => {
  await expect(bus.publish([message])).rejects.toThrow(reason);
});

test('publishing on a connection that was closed fails at once, and its time limit does not end the process', async () => {
  const connection = await connect({ servers: brokerUrl });
  await connection.close();
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    await expect(publishStored(connection, [message], { stream: 'ORDERS', timeoutMs: 1 })).rejects.toThrow(
      'CONNECTION_CLOSED',
    );
    mock.timers.tick(1);
  } finally {
    mock.timers.reset();
  }
});

test('a consumer at a broker without JetStream logs what to do, and tries again', async () => {
  const stopped = new AbortController();
  const inbox = bus.eventConsumer({ name: 'test', ackWaitMs: 30_000 }).listen(stopped.signal);

  await waitUntil('it has logged the reason', () => lines.some((line) => line.includes(reason)));

  expect(inbox.isOpen()).toBe(false);
  stopped.abort();
});
