import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { PoolClient } from 'pg';
import { newRandomId } from '../../../src/contract/public-id.ts';
import {
  Environment,
  OrderEventSchema,
  OrderEventType,
  OrderStatus,
  PaymentType,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import { openReaderPosition, readCursor } from '../../../src/webhooks/intake/reader-position.ts';
import type { EventAtCursor, ReaderPosition } from '../../../src/webhooks/intake/reader-position.ts';
import { createDeliveryWriter } from '../../../src/webhooks/intake/write-deliveries.ts';
import { sharedWebhooksDatabase } from './shared-webhooks-database.ts';

const database = sharedWebhooksDatabase();
const now = (): Date => new Date();
let client: PoolClient;
let position: ReaderPosition;
let reader = 'reader-0';
let readers = 0;
let monotonicMs = 0;

beforeEach(async () => {
  client = await database.pool.connect();
  reader = `reader-${(readers += 1)}`;
  const writer = createDeliveryWriter({
    database,
    retentionDays: 30,
    newId: newRandomId,
    now,
    machineNow: now,
  });
  position = await openReaderPosition(reader, client, writer, { monotonicMs: () => monotonicMs });
});
afterEach(() => client.release());

const none = { created: 0, unleased: 0 };
const stored = (): Promise<string> => readCursor(database.pool, reader);

function eventAt(cursor: string, type: OrderEventType): EventAtCursor {
  const at = new Date();
  const event = create(OrderEventSchema, {
    ...{ eventId: newRandomId('evt', at), type, sequence: 1n, occurTime: timestampFromDate(at) },
    order: {
      orderId: newRandomId('ord', at),
      merchantId: newRandomId('mer', at),
      environment: Environment.SANDBOX,
      orderNumber: 'A',
      status: OrderStatus.EXPIRED,
      paymentType: PaymentType.API,
      webhookUrl: 'https://shop.example/hook',
      amount: '1.00',
      currency: 'ETB',
      createTime: timestampFromDate(at),
      updateTime: timestampFromDate(at),
    },
  });
  return { cursor, event };
}

test('events without deliveries are passed without a write for each', async () => {
  expect(await position.advance([eventAt('1-1', OrderEventType.CREATED)])).toEqual(none);
  expect(await stored()).toBe('1-1');

  // The second one was not even decoded.
  expect(await position.advance([{ cursor: '1-2' }])).toEqual(none);

  expect(position.cursor()).toBe('1-2');
  expect(position.isKnown('1-2')).toBe(true);
  expect(await stored()).toBe('1-1');
  expect(position.storeInMs()).toBe(200);
});

test('the position after events without deliveries is stored when its time has come', async () => {
  await position.advance([eventAt('1-1', OrderEventType.CREATED)]);
  await position.advance([eventAt('1-2', OrderEventType.CREATED)]);
  monotonicMs += 200;
  expect(position.storeInMs()).toBe(0);

  await position.store();

  expect(await stored()).toBe('1-2');
  expect(position.storeInMs()).toBe(Infinity);
});

test('an idle position is written every five seconds', async () => {
  await position.advance([eventAt('1-1', OrderEventType.CREATED)]);
  await position.advance([{ cursor: '1-2' }]);
  await position.touch();
  expect(await stored()).toBe('1-1');

  monotonicMs += 5_000;
  await position.touch();

  expect(await stored()).toBe('1-2');
});

test('a delivery is committed with the position, at once', async () => {
  await position.advance([eventAt('1-1', OrderEventType.CREATED)]);

  const advanced = await position.advance([{ cursor: '1-2' }, eventAt('1-3', OrderEventType.EXPIRED)]);

  expect(advanced).toEqual({ created: 1, unleased: 1 });
  expect(await stored()).toBe('1-3');
  expect(position.storeInMs()).toBe(Infinity);
});

test('a position that was not stored is read again, and creates no second delivery', async () => {
  const expired = eventAt('1-2', OrderEventType.EXPIRED);
  await position.advance([eventAt('1-1', OrderEventType.CREATED)]);
  await position.advance([expired]);
  await position.advance([eventAt('1-3', OrderEventType.CREATED)]);

  const writer = createDeliveryWriter({
    database,
    retentionDays: 30,
    newId: newRandomId,
    now,
    machineNow: now,
  });
  const next = await openReaderPosition(reader, client, writer);

  expect(next.cursor()).toBe('1-2');
  expect(await next.advance([expired, eventAt('1-3', OrderEventType.CREATED)])).toEqual(none);
});
