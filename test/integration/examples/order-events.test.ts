import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { create, toBinary } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import { headers } from 'nats';
import { Environment, OrderEventSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { ownNats } from '../../faults/stoppable-servers.ts';
import type { StoppableServer } from '../../faults/stoppable-servers.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { startInline } from '../../support/inline-process.ts';
import { registration } from '../../support/order-requests.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { insist, waitUntil } from '../../support/wait-until.ts';
import { connectTo, readStream } from '../core/broker-messages.ts';
import { createDataFolder, runExample } from './run-example.ts';
import type { RunningExample } from './run-example.ts';

let broker: StoppableServer;
let stack: Stack;
let core: GatehouseProcess;
let orders: Client<typeof OrderService>;
let merchantId: string;
let data: Awaited<ReturnType<typeof createDataFolder>>;
let examples: RunningExample[] = [];
/** The number of the test. Its order numbers begin with it, and its examples have their own place in the stream. */
let place = 0;

beforeAll(async () => {
  broker = await ownNats();
  await broker.start();
  stack = await startStack({ cores: 1, facades: 0, settings: { GATEHOUSE_NATS_URL: broker.url } });
  [core] = stack.cores as [GatehouseProcess];
  orders = stack.client(OrderService, 'writer');
  merchantId = (await stack.createMerchant()).id;
  data = await createDataFolder(stack);
});

beforeEach(() => {
  place += 1;
});

afterEach(async () => {
  await Promise.all(examples.map((example) => example.kill()));
  examples = [];
});

afterAll(async () => {
  await core.stop();
  await stack.stop();
  await broker.remove();
  await data.close();
});

function run(name: string): RunningExample {
  const settings = {
    GATEHOUSE_DATA_DIR: data.folder,
    GATEHOUSE_NATS_URL: broker.url,
    GATEHOUSE_NATS_CONSUMER: `reader-${place}`,
  };
  const example = runExample(name, [join(data.folder, `${place}.cursor`)], settings);
  examples.push(example);
  return example;
}

/** Starts core again at its addresses, after it was stopped. */
async function startCoreAgain(): Promise<void> {
  const [grpc = '', connect = ''] = [core.ready['grpc'], core.ready['connect']].map((address) =>
    String(address).split(':').at(-1),
  );
  const ports = { GATEHOUSE_CORE_GRPC_PORT: grpc, GATEHOUSE_CORE_CONNECT_PORT: connect };
  core = await startInline('core', { ...stack.coreSettings, ...ports });
}

async function register(...orderNumbers: readonly string[]): Promise<void> {
  for (const orderNumber of orderNumbers)
    await orders.registerOrder(registration({ merchantId, orderNumber: `${place}${orderNumber}` }));
}

/** The lines that the example has printed about this test's orders, without the test's number. */
const linesOf = ({ lines }: RunningExample): string[] =>
  lines.flatMap((line) => (line.startsWith(`${place}`) ? [line.slice(`${place}`.length)] : []));
const orderNumbersIn = (example: RunningExample): string[] =>
  linesOf(example).map((line) => line.split(' ')[0] ?? '');

const untilPrinted = (example: RunningExample, orderNumber: string): Promise<unknown> =>
  waitUntil(`${orderNumber} is printed; complaints: ${example.complaints.join('; ')}`, () =>
    orderNumbersIn(example).includes(orderNumber),
  );

const isInStream = (orderNumber: string): Promise<unknown> =>
  waitUntil(`${orderNumber} is in the stream`, async () =>
    (await readStream(broker.url)).some(({ body }) => body.includes(`${place}${orderNumber}`)),
  );

/** The example does not read events that were published before its consumer existed, because core lists them. */
async function untilConsuming(): Promise<void> {
  const connection = await connectTo(broker.url);
  const manager = await connection.jetstreamManager();
  await insist('the example has a consumer', () => manager.consumers.info('ORDERS', `reader-${place}`));
  await connection.close();
}

describe.each(['follow-order-events.ts', 'consume-order-stream.ts'])('%s', (name) => {
  test('prints what has happened in the sandbox, then what happens, and continues there after a kill', async () => {
    await register('A-1');
    await orders.registerOrder(
      registration({ merchantId, orderNumber: `${place}P-1`, environment: Environment.PRODUCTION }),
    );
    const example = run(name);
    await untilPrinted(example, 'A-1');

    await register('A-2', 'A-3');

    await untilPrinted(example, 'A-3');
    expect(orderNumbersIn(example)).toEqual(['A-1', 'A-2', 'A-3']);
    expect(linesOf(example)[0]).toMatch(/^A-1 1 \w*CREATED \w*PENDING evt_\w+$/);
    await example.kill();
    await register('B-1', 'B-2');

    const second = run(name);

    await untilPrinted(second, 'B-2');
    // The last event may be repeated, because it was printed before its cursor was stored.
    expect(orderNumbersIn(second).filter((number) => number !== 'A-3')).toEqual(['B-1', 'B-2']);
  });

  test('misses nothing when core is restarted', async () => {
    const example = run(name);
    await register('A-1');
    await untilPrinted(example, 'A-1');
    await core.stop();
    await startCoreAgain();

    // Our own client may still be waiting before it tries to connect again.
    await insist('core takes orders again', () => register('A-2'));
    await untilPrinted(example, 'A-2');
    expect(orderNumbersIn(example)).toEqual(['A-1', 'A-2']);
  });
});

describe('consume-order-stream.ts', () => {
  test('prints every event while the broker is unavailable, and after it returns without its store', async () => {
    const example = run('consume-order-stream.ts');
    await register('A-1');
    await untilPrinted(example, 'A-1');
    await broker.stop();
    await register('B-1', 'B-2');
    await untilPrinted(example, 'B-2');
    await broker.wipe();
    await broker.start();
    await register('C-1');
    await isInStream('C-1');
    await untilPrinted(example, 'C-1');

    await register('D-1', 'D-2');

    await untilPrinted(example, 'D-2');
    expect(orderNumbersIn(example)).toEqual(['A-1', 'B-1', 'B-2', 'C-1', 'D-1', 'D-2']);
  });

  test('handles an event of the stream that follows the last one, and reads any other from core', async () => {
    const example = run('consume-order-stream.ts');
    await register('A-1');
    await untilPrinted(example, 'A-1');
    await isInStream('A-1');
    const last = (await readStream(broker.url)).at(-1);
    await untilConsuming();

    // Core does not know this event.
    await publish('follows', { cursor: 'later', previous: last?.cursor ?? '' });
    await untilPrinted(example, 'follows');
    await core.stop();
    await publish('does-not-follow', { cursor: 'much later', previous: 'somewhat later' });

    await waitUntil('it has asked core', () => example.complaints.length > 0);
    expect(orderNumbersIn(example)).toEqual(['A-1', 'follows']);
    await startCoreAgain();
    await insist('core takes orders again', () => register('later'));
  });

  test('prints events that the broker has deleted before it could read them', async () => {
    await register('A-1');
    const first = run('consume-order-stream.ts');
    await untilPrinted(first, 'A-1');
    await first.kill();
    await register('B-1');
    await isInStream('B-1');
    await purgeStream(broker.url);
    await register('C-1');

    const second = run('consume-order-stream.ts');

    await untilPrinted(second, 'C-1');
    expect(orderNumbersIn(second).filter((number) => number !== 'A-1')).toEqual(['B-1', 'C-1']);
  });
});

/** Publishes an event that core does not know. */
async function publish(orderNumber: string, at: { cursor: string; previous: string }): Promise<void> {
  const connection = await connectTo(broker.url);
  const own = headers();
  own.set('Gatehouse-Cursor', at.cursor);
  own.set('Gatehouse-Previous-Cursor', at.previous);
  const event = create(OrderEventSchema, { order: { orderNumber: `${place}${orderNumber}` } });
  const subject = `orders.sandbox.${merchantId}.created`;
  await connection.jetstream().publish(subject, toBinary(OrderEventSchema, event), { headers: own });
  await connection.close();
}

async function purgeStream(url: string): Promise<void> {
  const connection = await connectTo(url);
  await (await connection.jetstreamManager()).streams.purge('ORDERS');
  await connection.close();
}
