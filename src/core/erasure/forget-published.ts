import type { Pool } from 'pg';
import type { EventBus } from '../../contract/event-bus.ts';
import { laterCursor } from '../../contract/event-cursor.ts';
import { publicId } from '../../contract/public-id.ts';
import type { StoredRange, StoredStream } from '../../platform/nats/stored-events.ts';
import { eventSubject } from '../events/event-subject.ts';
import { readRelayCursor } from '../events/relay-cursor.sql.ts';
import type { SealedEvent } from './sealed-events.sql.ts';

/** An event that the broker may have. */
export type PublishedEvent = Pick<
  SealedEvent,
  'id' | 'merchantId' | 'environment' | 'type' | 'xid' | 'position' | 'occurredAt'
>;

/** Removes every copy of the events from the broker's store. False while the broker is unavailable or has not confirmed all of them. */
export type ForgetPublished = (events: readonly PublishedEvent[]) => Promise<boolean>;

export interface ForgetParts {
  readonly database: { readonly pool: Pool };
  readonly bus: Pick<EventBus, 'stream' | 'storedStream'>;
  readonly now: () => Date;
}

const dayMs = 24 * 60 * 60_000;
/** The broker keeps events for seven days, and may have received them some days late. */
const mayBeStoredMs = 14 * dayMs;
/** How much the clocks of core and the broker may differ. */
const clocksDifferMs = 60 * 60_000;

/** The parts of the stream that are read at once. A busy merchant has millions of messages with one subject, each of which is a request. */
const partsAtOnce = 32;

/**
 * The order of the stream does not tell where an event is. Databases share a stream, and a batch that failed or that a restore brought back
 * is published again. So all messages with the event's subject are read, from the time of the event on.
 *
 * A relay that read the events before the erasure may still publish them. It has done so when its stored cursor is past them. The broker
 * drops a later copy as a repeat.
 */
export function createForgetPublished({ database, bus, now }: ForgetParts): ForgetPublished {
  return async (events) => {
    const since = now().getTime() - mayBeStoredMs;
    const published = events.filter(({ occurredAt }) => occurredAt.getTime() > since);
    if (published.length === 0) return true;
    const relayed = await readRelayCursor(database.pool, bus.stream);
    if (published.some((event) => laterCursor(event, relayed) !== relayed)) return false;
    // The stream is read after the cursor, so that it has every event before the cursor.
    const stream = await bus.storedStream();
    if (stream === undefined) return false;
    const bySubject = [...Map.groupBy(published, eventSubject)];
    await Promise.all(
      bySubject.map(([subject, eventsOfSubject]) => removeAll(stream, subject, eventsOfSubject)),
    );
    return true;
  };
}

async function removeAll(
  stream: StoredStream,
  subject: string,
  events: readonly PublishedEvent[],
): Promise<void> {
  const { range, next, remove } = stream;
  if (range === undefined) return;
  const ids = new Set<string>(events.map(({ id }) => publicId('evt', id)));
  const occurredAt = Math.min(...events.map((event) => event.occurredAt.getTime()));
  const first = await firstSince(stream, range, new Date(occurredAt - clocksDifferMs));
  const size = Math.ceil((range.last - first + 1) / partsAtOnce);
  const removeIn = async (from: number, to: number): Promise<void> => {
    for (let number = from; number <= to; number += 1) {
      const message = await next(subject, number);
      if (message === undefined || message.number > to) return;
      if (ids.has(message.header('Nats-Msg-Id'))) await remove(message.number);
      number = message.number;
    }
  };
  await Promise.all(
    Array.from({ length: partsAtOnce }, (_, part) => {
      const from = first + part * size;
      return removeIn(from, Math.min(from + size - 1, range.last));
    }),
  );
}

/** The number from which on messages were stored at this time or later. */
async function firstSince({ next }: StoredStream, range: StoredRange, time: Date): Promise<number> {
  let [low, high] = [range.first, range.last + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const message = await next('>', middle);
    if (message === undefined || message.storedAt >= time) high = middle;
    else low = message.number + 1;
  }
  return low;
}
