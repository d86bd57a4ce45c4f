import { create, toBinary } from '@bufbuild/protobuf';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { beginning, formatCursor } from '../../../src/contract/event-cursor.ts';
import type { EventCursor } from '../../../src/contract/event-cursor.ts';
import { OrderEventSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { StoredMessage, StoredStream } from '../../../src/platform/nats/stored-events.ts';

/** A message with an event of a database, by default its first one. */
export function eventOf(
  lineage: string,
  number: number,
  occurredAt: Date,
  cursor: EventCursor = { xid: '700', position: '1' },
  previous: EventCursor = beginning,
  fields: MessageInitShape<typeof OrderEventSchema> = {},
): StoredMessage {
  const headers = new Map([
    ['Gatehouse-Lineage', lineage],
    ['Gatehouse-Cursor', formatCursor(cursor)],
    ['Gatehouse-Previous-Cursor', formatCursor(previous)],
  ]);
  const event = create(OrderEventSchema, { ...fields, occurTime: timestampFromDate(occurredAt) });
  return {
    number,
    storedAt: occurredAt,
    body: toBinary(OrderEventSchema, event),
    header: (name) => headers.get(name) ?? '',
  };
}

export const streamOf = (messages: readonly StoredMessage[]): StoredStream => ({
  created: '2026-01-31T12:00:00Z',
  get range() {
    return { first: 1, last: messages.length };
  },
  read: (from, to) => Promise.resolve(messages.filter(({ number }) => number >= from && number <= to)),
  next: () => Promise.resolve(undefined),
  remove: () => Promise.resolve(),
});
