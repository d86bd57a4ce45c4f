import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect, test } from '@jest/globals';
import { beginning, formatCursor } from '../../../src/contract/event-cursor.ts';
import { followStream } from '../../../src/core/recovery/read-stream.ts';
import { OrderEventSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { StoredMessage, StoredStream } from '../../../src/platform/nats-stored-events.ts';
import { sharedCoreDatabase, sharedTestDatabase } from '../../support/shared-stack.ts';

const testDatabase = sharedTestDatabase();
const database = sharedCoreDatabase('read stream', () => testDatabase.url, 2);

const lostFrom = new Date('2026-03-10T10:00:00Z');
const occurredAt = new Date('2026-03-10T10:00:05Z');
const noticedAt = new Date('2026-03-10T12:00:00Z');

/** A message with the first event of a database. */
function firstOf(lineage: string, number: number): StoredMessage {
  const headers = new Map([
    ['Gatehouse-Lineage', lineage],
    ['Gatehouse-Cursor', formatCursor({ xid: '700', position: '1' })],
    ['Gatehouse-Previous-Cursor', formatCursor(beginning)],
  ]);
  const event = create(OrderEventSchema, { occurTime: timestampFromDate(occurredAt) });
  return {
    number,
    storedAt: occurredAt,
    body: toBinary(OrderEventSchema, event),
    header: (name) => headers.get(name) ?? '',
  };
}

const streamOf = (messages: readonly StoredMessage[]): StoredStream => ({
  range: { first: 1, last: messages.length },
  read: (from, to) => Promise.resolve(messages.filter(({ number }) => number >= from && number <= to)),
  next: () => Promise.resolve(undefined),
  remove: () => Promise.resolve(),
});

test('a stream begins with the first event of the database, however many events of other databases come before it', async () => {
  const others = Array.from({ length: 1_200 }, (_, index) => firstOf('another database', index + 1));
  const stream = streamOf([...others, firstOf('this database', others.length + 1)]);
  const parts: number[] = [];
  const followed = await followStream(
    database.pool,
    stream,
    { lineage: 'this database', since: lostFrom, lostFrom, noticedAt },
    ({ events }) => Promise.resolve(void parts.push(events.length)),
  );
  expect(followed).toMatchObject({ beginsInDatabase: true, isContinuous: true, messages: 1 });
  expect(parts.reduce((sum, events) => sum + events, 0)).toBe(1);
});
