import { randomInt, randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { followStream } from '../../../src/core/recovery/read-stream.ts';
import { storedId } from '../../support/ids.ts';
import { sharedCoreDatabase, sharedTestDatabase } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';
import type { StoredStream } from '../../../src/platform/nats/stored-events.ts';
import { eventOf, streamOf } from './stored-events.ts';

const testDatabase = sharedTestDatabase();
const database = sharedCoreDatabase('read stream', () => testDatabase.url, 2);

const lostFrom = new Date('2026-03-10T10:00:00Z');
const occurredAt = new Date('2026-03-10T10:00:05Z');
const noticedAt = new Date('2026-03-10T12:00:00Z');

test('a stream begins with the first event of the database, however many events of other databases come before it, and although a part is read late', async () => {
  const others = Array.from({ length: 1_200 }, (_, index) =>
    eventOf('another database', index + 1, occurredAt),
  );
  const stored = streamOf([...others, eventOf('this database', others.length + 1, occurredAt)]);
  let failures = 3;
  const stream: StoredStream = {
    ...stored,
    read: (from, to) =>
      from < 600 && failures-- > 0 ? Promise.reject(new Error('timeout')) : stored.read(from, to),
  };
  const parts: number[] = [];
  const followed = await followStream(
    database.pool,
    stream,
    { lineage: 'this database', since: lostFrom, lostFrom, noticedAt, pauseMs: 0 },
    ({ events }) => Promise.resolve(void parts.push(events.length)),
  );
  expect(followed).toMatchObject({ beginsInDatabase: true, isContinuous: true, messages: 1 });
  expect(parts.reduce((sum, events) => sum + events, 0)).toBe(1);
});

test.each([
  ['before the restore was noticed', noticedAt, true],
  ['afterwards, because the broker is a new one', new Date(noticedAt.getTime() + 1), false],
])(
  'a stream with the first event of the database that was stored %s',
  async (_, storedAt, beginsInDatabase) => {
    const stream = streamOf([{ ...eventOf('this database', 1, occurredAt), storedAt }]);

    const followed = await followStream(
      database.pool,
      stream,
      { lineage: 'this database', since: lostFrom, lostFrom, noticedAt, pauseMs: 0 },
      () => Promise.resolve(),
    );

    expect(followed).toMatchObject({ beginsInDatabase, messages: 1 });
  },
);

const minutesBefore = (minutes: number): Date => new Date(lostFrom.getTime() - minutes * 60_000);

test.each([
  ['that the database has from before the loss', '710', 11, true],
  ['that the database has from before the loss, and adopted', '1', 11, true],
  ['that the database has from a time that may be lost', '710', 9, false],
  ['that the database has with another transaction', '709', 11, false],
])('a stream without erased events after one %s', async (_, xid, minutes, isContinuous) => {
  const position = String(randomInt(1_000, 1_000_000_000));
  await database.pool.query(
    `insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload, xid, position)
     overriding system value values ($1, 'SANDBOX', $1, 1, $1, 'CREATED', $2, '', $3::xid8, $4::bigint)`,
    [randomUUID(), minutesBefore(minutes), xid, position],
  );
  const erased = { xid: '710', position };
  const stream = streamOf([
    eventOf('this database', 1, minutesBefore(60)),
    eventOf('this database', 2, occurredAt, { xid: '720', position: '99' }, erased),
  ]);

  const followed = await followStream(
    database.pool,
    stream,
    { lineage: 'this database', since: minutesBefore(10), lostFrom, noticedAt, pauseMs: 0 },
    () => Promise.resolve(),
  );

  expect(followed).toMatchObject({ isContinuous, messages: 2 });
});

test('only orders with an event that the database lacks are examined one by one', async () => {
  const merchantId = newRandomId('mer', occurredAt);
  const eventsOfOrder = (first: number, storedEvents: number) => {
    const order = { orderId: newRandomId('ord', occurredAt), merchantId };
    return [1, 2].map((sequence) => ({
      order,
      sequence,
      eventId: newRandomId('evt', occurredAt),
      number: first + sequence,
      storedEvents,
    }));
  };
  const all = [eventsOfOrder(0, 2), eventsOfOrder(2, 1), eventsOfOrder(4, 0)].flat();
  for (const { order, sequence, eventId } of all.filter((each) => each.sequence <= each.storedEvents))
    await database.pool.query(sql`
      insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
      values (${storedId('mer', merchantId)}, 'SANDBOX', ${storedId('ord', order.orderId)}, ${sequence},
        ${storedId('evt', eventId)}, 'CREATED', ${occurredAt}, '')`);
  const stream = streamOf(
    all.map(({ order, sequence, eventId, number }) =>
      eventOf('this database', number, occurredAt, undefined, undefined, {
        ...{ order, sequence: BigInt(sequence), eventId },
      }),
    ),
  );
  const seen: (string | undefined)[] = [];

  await followStream(
    database.pool,
    stream,
    { lineage: 'this database', since: lostFrom, lostFrom, noticedAt, pauseMs: 0 },
    ({ events }) => Promise.resolve(void seen.push(...events.map(({ event }) => event.eventId))),
  );

  expect(seen).toEqual(all.slice(2).map(({ eventId }) => eventId));
});
