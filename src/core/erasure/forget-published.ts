import { publicId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import type { StoredMessage, StoredStream } from '../../platform/nats-stored-events.ts';
import { laterCursor } from '../../contract/event-cursor.ts';
import { parseCursor } from '../events/event-cursor.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';
import type { SealedEvent } from './sealed-events.sql.ts';

/** Removes events from the broker's store. False when the broker is unavailable. */
export type ForgetPublished = (
  events: readonly Pick<SealedEvent, 'id' | 'xid' | 'position' | 'occurredAt'>[],
) => Promise<boolean>;

/** Longer than the broker keeps events. */
const longerThanBrokerKeepsMs = 8 * 24 * 60 * 60_000;
/** How many messages from a number on are searched for one that the broker still has. */
const step = 16;

export function createForgetPublished(
  openStream: () => Promise<StoredStream | undefined>,
  now: () => Date,
): ForgetPublished {
  return async (events) => {
    const kept = events.filter(
      ({ occurredAt }) => now().getTime() - occurredAt.getTime() < longerThanBrokerKeepsMs,
    );
    if (kept.length === 0) return true;
    const stream = await openStream();
    if (stream === undefined) return false;
    for (const { id, ...cursor } of kept) {
      const message = await findMessage(stream, cursor);
      const isSame = message?.header('Nats-Msg-Id') === publicId('evt', id as StoredId<'evt'>);
      if (message !== undefined && isSame) await stream.remove(message.number);
    }
    return true;
  };
}

/** The first message at the position or after it. Messages are in the order of their positions. */
async function findMessage(
  { range, read }: StoredStream,
  wanted: EventCursor,
): Promise<StoredMessage | undefined> {
  if (range === undefined) return undefined;
  const firstFrom = async (number: number): Promise<StoredMessage | undefined> => {
    for (let from = number; from <= range.last; from += step) {
      const [message] = await read(from, Math.min(range.last, from + step - 1));
      if (message !== undefined) return message;
    }
    return undefined;
  };
  let [low, high] = [range.first, range.last + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const message = await firstFrom(middle);
    if (message === undefined || !isBefore(message, wanted)) high = middle;
    else low = message.number + 1;
  }
  return firstFrom(low);
}

function isBefore(message: StoredMessage, wanted: EventCursor): boolean {
  const cursor = parseCursor(message.header('Gatehouse-Cursor'));
  if (!cursor.ok) return true;
  // Of two equal cursors, this is the second.
  return laterCursor(wanted, cursor.value) !== cursor.value;
}
