import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { create, toBinary } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import { headers } from 'nats';
import { Environment, OrderEventSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { ownNats } from '../../faults/stoppable-servers.ts';
import type { StoppableServer } from '../../faults/stoppable-servers.ts';
import { startInline } from '../../support/inline-process.ts';
import { registration } from '../../support/order-requests.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { insist, waitUntil } from '../../support/wait-until.ts';
import { connectTo, readStream } from '../core/broker-messages.ts';
import { runExample } from './run-example.ts';
import type { RunningExample } from './run-example.ts';

let broker: StoppableServer;
let stack: Stack;
let orders: Client<typeof OrderService>;
let merchantId: string;
let folder: string;
let examples: RunningExample[] = [];

beforeEach(async () => {
  broker = await ownNats();
  await broker.start();
  stack = await startStack({ cores: 1, facades: 0, settings: { GATEHOUSE_NATS_URL: broker.url } });
  orders = stack.client(OrderService, 'writer');
  merchantId = (await stack.createMerchant()).id;
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-examples-'));
  const demo = {
    grpc: stack.addresses[0],
    connect: stack.connectUrl,
    tokens: { reader: stack.tokens.reader },
  };
  await writeFile(join(folder, 'demo.json'), JSON.stringify(demo));
});

afterEach(async () => {
  await Promise.all(examples.map((example) => example.kill()));
  examples = [];
  await stack.stop();
  await broker.remove();
  await rm(folder, { recursive: true });
});

function run(name: string): RunningExample {
  const settings = { GATEHOUSE_DATA_DIR: folder, GATEHOUSE_NATS_URL: broker.url };
  const example = runExample(name, [join(folder, `${name}.cursor`)], settings);
  examples.push(example);
  return example;
}

async function register(...orderNumbers: readonly string[]): Promise<void> {
  for (const orderNumber of orderNumbers)
    await orders.registerOrder(registration({ merchantId, orderNumber }));
}

const orderNumbersIn = ({ lines }: RunningExample): string[] => lines.map((line) => line.split(' ')[0] ?? '');

const untilPrinted = (example: RunningExample, orderNumber: string): Promise<unknown> =>
  waitUntil(`${orderNumber} is printed; complaints: ${example.complaints.join('; ')}`, () =>
    orderNumbersIn(example).includes(orderNumber),
  );

const isInStream = (orderNumber: string): Promise<unknown> =>
  waitUntil(`${orderNumber} is in the stream`, async () =>
    (await readStream(broker.url)).some(({ body }) => body.includes(orderNumber)),
  );

/** What is published before its consumer is made is not for the example: core lists what there was. */
async function untilConsuming(): Promise<void> {
  const connection = await connectTo(broker.url);
  const manager = await connection.jetstreamManager();
  await insist('the example has a consumer', () => manager.consumers.info('ORDERS', 'sandbox-reader'));
  await connection.close();
}

describe.each(['follow-order-events.ts', 'consume-order-stream.ts'])('%s', (name) => {
  test('prints what has happened in the sandbox, then what happens, and goes on from there after a kill', async () => {
    await register('A-1');
    await orders.registerOrder(
      registration({ merchantId, orderNumber: 'P-1', environment: Environment.PRODUCTION }),
    );
    const example = run(name);
    await untilPrinted(example, 'A-1');

    await register('A-2', 'A-3');

    await untilPrinted(example, 'A-3');
    expect(orderNumbersIn(example)).toEqual(['A-1', 'A-2', 'A-3']);
    expect(example.lines[0]).toMatch(/^A-1 1 \w*CREATED \w*PENDING evt_\w+$/);
    await example.kill();
    await register('B-1', 'B-2');

    const second = run(name);

    await untilPrinted(second, 'B-2');
    // The very last one may come again: it was printed before its cursor was kept.
    expect(orderNumbersIn(second).filter((number) => number !== 'A-3')).toEqual(['B-1', 'B-2']);
  });

  test('misses nothing when core is restarted', async () => {
    const example = run(name);
    await register('A-1');
    await untilPrinted(example, 'A-1');
    const [core] = stack.cores;
    const [grpc, connect] = [core?.ready['grpc'], core?.ready['connect']].map(
      (address) => String(address).split(':')[1] ?? '',
    );
    await core?.stop();

    const settings = { GATEHOUSE_CORE_GRPC_PORT: grpc ?? '', GATEHOUSE_CORE_CONNECT_PORT: connect ?? '' };
    const restarted = await startInline('core', { ...stack.coreSettings, ...settings });
    try {
      // Our own client may still be waiting before it tries to connect again.
      await insist('core takes orders again', () => register('A-2'));
      await untilPrinted(example, 'A-2');
      expect(orderNumbersIn(example)).toEqual(['A-1', 'A-2']);
    } finally {
      await restarted.stop();
    }
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

  test('takes an event that follows the last one from the stream, and asks core about any other', async () => {
    const example = run('consume-order-stream.ts');
    await register('A-1');
    await untilPrinted(example, 'A-1');
    await isInStream('A-1');
    const [last] = await readStream(broker.url);
    await untilConsuming();

    // Core knows nothing of it.
    await publish('follows', { cursor: 'later', previous: last?.cursor ?? '' });
    await untilPrinted(example, 'follows');
    await stack.cores[0]?.stop();
    await publish('does-not-follow', { cursor: 'much later', previous: 'somewhat later' });

    await waitUntil('it has asked core', () => example.complaints.length > 0);
    expect(orderNumbersIn(example)).toEqual(['A-1', 'follows']);
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
async function publish(orderNumber: string, place: { cursor: string; previous: string }): Promise<void> {
  const connection = await connectTo(broker.url);
  const own = headers();
  own.set('Gatehouse-Cursor', place.cursor);
  own.set('Gatehouse-Previous-Cursor', place.previous);
  const event = create(OrderEventSchema, { order: { orderNumber } });
  const subject = `orders.sandbox.${merchantId}.created`;
  await connection.jetstream().publish(subject, toBinary(OrderEventSchema, event), { headers: own });
  await connection.close();
}

async function purgeStream(url: string): Promise<void> {
  const connection = await connectTo(url);
  await (await connection.jetstreamManager()).streams.purge('ORDERS');
  await connection.close();
}
