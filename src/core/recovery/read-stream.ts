import { setTimeout as delay } from 'node:timers/promises';
import { fromBinary } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Pool } from 'pg';
import { uuidOfId } from '../../contract/public-id.ts';
import { OrderEventSchema } from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import type { StoredMessage, StoredStream } from '../../platform/nats/stored-events.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { laterCursor } from '../../contract/event-cursor.ts';
import { accountChangeIn } from '../events/account-changes.ts';
import type { AccountChange } from '../events/account-changes.ts';
import { parseCursor } from '../events/event-cursor.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';

/** An event of this database in the broker's stream. */
export interface StreamEvent {
  readonly event: OrderEvent;
  readonly payload: Uint8Array;
  readonly cursor: EventCursor;
  readonly previous: EventCursor;
  readonly storedAt: Date;
}

/** How many messages are read at once. */
export const chunkSize = 500;

/** The stream's events that carry the database's lineage. The other events belong to other databases, or to earlier versions. */
export function eventsOf(messages: readonly StoredMessage[], lineage: string): StreamEvent[] {
  return messages.flatMap(({ body, header, storedAt }) => {
    if (header('Gatehouse-Lineage') !== lineage) return [];
    const cursor = parseCursor(header('Gatehouse-Cursor'));
    const previous = parseCursor(header('Gatehouse-Previous-Cursor'));
    if (!cursor.ok || !previous.ok) return [];
    const event = fromBinary(OrderEventSchema, body);
    return [{ event, payload: body, cursor: cursor.value, previous: previous.value, storedAt }];
  });
}

/** The contents of a part of the stream. */
export interface StreamPart {
  /** The events of orders of which the database lacks an event of this part. */
  readonly events: readonly StreamEvent[];
  readonly accountChanges: readonly AccountChange[];
  /** When the part's last event was stored. */
  readonly until: Date | undefined;
}

/** The changes of accounts in the messages; undefined when this version cannot read one of them. */
function accountChangesOf(messages: readonly StoredMessage[], lineage: string): AccountChange[] | undefined {
  const changes = messages.map((message) => accountChangeIn(message, lineage));
  if (changes.includes('unreadable')) return undefined;
  return changes.filter((change) => change !== undefined && change !== 'unreadable');
}

/** Whether the database has each event, with the same id. */
export async function areKnown(pool: Pool, events: readonly StreamEvent[]): Promise<boolean[]> {
  const uuid = (id: string | undefined): string =>
    uuidOfId(id ?? '') ?? '00000000-0000-0000-0000-000000000000';
  const rows = await runStatement<{ known: boolean }>(pool, {
    text: `
select exists (
  select from core.order_events e
  where e.merchant_id = asked.merchant_id and e.order_id = asked.order_id and e.sequence = asked.sequence and e.id = asked.id
) as known
from unnest($1::uuid[], $2::uuid[], $3::integer[], $4::uuid[])
  with ordinality as asked (merchant_id, order_id, sequence, id, place)
order by place`,
    values: [
      events.map(({ event }) => uuid(event.order?.merchantId)),
      events.map(({ event }) => uuid(event.order?.orderId)),
      events.map(({ event }) => Number(event.sequence)),
      events.map(({ event }) => uuid(event.eventId)),
    ],
  });
  return rows.map(({ known }) => known);
}

/**
 * The events of orders of which the database lacks one of these events. After a failover, almost every order of the part is complete, and
 * payments wait. Looking at these orders one by one would take minutes.
 */
async function ofIncompleteOrders(pool: Pool, events: readonly StreamEvent[]): Promise<StreamEvent[]> {
  const known = await areKnown(pool, events);
  const orderOf = ({ event }: StreamEvent) => event.order?.orderId;
  const incomplete = new Set(events.filter((_, index) => known[index] !== true).map(orderOf));
  return events.filter((each) => incomplete.has(orderOf(each)));
}

/**
 * Whether the database has the event with this cursor, and the event is from before `since`. Then the events that the stream lacks before
 * it were committed before the loss. An erasure of personal data removes such events.
 */
async function isFromBeforeLoss(pool: Pool, { xid, position }: EventCursor, since: Date): Promise<boolean> {
  const rows = await runStatement(pool, {
    // Events that a restore adopted have the transaction 1.
    text: `select from core.order_events where xid in ($1::xid8, '1') and position = $2::bigint and occurred_at < $3`,
    values: [xid, position, since],
  });
  return rows.length > 0;
}

export interface LostTime {
  readonly lineage: string;
  /** A little before `lostFrom`, because the order of the stream differs a little from that of the commits. */
  readonly since: Date;
  readonly lostFrom: Date;
  /** When a core first noticed the loss, even in a recovery that this one has replaced. */
  readonly noticedAt: Date;
}

/** A chunk of the stream could not be read, even after several tries. */
export class StreamUnreadableError extends Error {}

/**
 * The number of tries to read a chunk. It is large, because a failed search begins again at the end of the stream. With timeouts, all tries
 * take a minute.
 */
const tries = 10;

export interface FollowedStream {
  readonly beginsInDatabase: boolean;
  readonly isContinuous: boolean;
  readonly messages: number;
  readonly until: Date | undefined;
}

/**
 * Finds the part of the stream that the database may lack, and passes it on in order, in chunks. The part begins with
 * a chunk of known events from before `since`. If there is none, it begins at the start of the stream.
 *
 * A broker that was set up after the restore also has known events, so a known event alone proves nothing. It even has events from before the
 * lost time: the relay continues at its position in the backup, which is a little behind. So the stream has the whole lost time only if
 * its first event was stored before the restore was noticed. Also, this event must be known and from before the lost time, or be the very
 * first event of the database (`previous.xid` is 0).
 *
 * `pauseMs` is the time before a chunk that could not be read is read again.
 * @throws StreamUnreadableError
 */
export async function followStream(
  pool: Pool,
  stream: StoredStream,
  lostTime: LostTime & { readonly pauseMs: number },
  use: (part: StreamPart) => Promise<void>,
): Promise<FollowedStream> {
  const { lineage, since } = lostTime;
  const { range } = stream;
  if (range === undefined)
    return { beginsInDatabase: false, isContinuous: false, messages: 0, until: undefined };
  const readMessages: ReadChunk = (from) =>
    readChunk(stream, from, Math.min(range.last, from + chunkSize - 1), lostTime.pauseMs);
  const { start, beginsInDatabase } = await findStart(pool, range, readMessages, lostTime);
  let latest: EventCursor | undefined;
  let isContinuous = true;
  let messages = 0;
  let until: Date | undefined;
  for (let from = start; from <= range.last; from += chunkSize) {
    const messagesHere = await readMessages(from);
    const events = eventsOf(messagesHere, lineage);
    const accountChanges = accountChangesOf(messagesHere, lineage);
    // An account that this version cannot read is as unknown as one whose message is missing.
    if (accountChanges === undefined) isContinuous = false;
    for (const { cursor, previous, storedAt } of events) {
      // A relay that starts again repeats events, so a predecessor may be earlier than the latest one.
      if (isContinuous && latest !== undefined && !isSame(laterCursor(latest, previous), latest))
        isContinuous = await isFromBeforeLoss(pool, previous, since);
      latest = latest === undefined ? cursor : laterCursor(latest, cursor);
      until = storedAt;
    }
    messages += events.length;
    await use({
      events: await ofIncompleteOrders(pool, events),
      accountChanges: accountChanges ?? [],
      until: events.at(-1)?.storedAt,
    });
  }
  return { beginsInDatabase, isContinuous, messages, until };
}

/** Reads the messages of a chunk, which begins at this sequence. */
type ReadChunk = (from: number) => Promise<StoredMessage[]>;

/** Reads a chunk, again after a pause if it could not be read. @throws StreamUnreadableError */
async function readChunk(
  { read }: StoredStream,
  from: number,
  to: number,
  pauseMs: number,
): Promise<StoredMessage[]> {
  for (let tried = 1; ; tried += 1)
    try {
      return await read(from, to);
    } catch (cause) {
      if (tried === tries) throw new StreamUnreadableError('the stream cannot be read', { cause });
      await delay(pauseMs);
    }
}

/** Searches backwards for the chunk with which the part begins: see `followStream`. */
async function findStart(
  pool: Pool,
  range: NonNullable<StoredStream['range']>,
  readMessages: ReadChunk,
  { lineage, since, lostFrom, noticedAt }: LostTime,
): Promise<{ readonly start: number; readonly beginsInDatabase: boolean }> {
  let start = Math.max(range.first, range.last - chunkSize + 1);
  let beginsInDatabase = false;
  for (;;) {
    const events = eventsOf(await readMessages(start), lineage);
    const [first] = events;
    // A chunk may have events of other databases only. The oldest event of this one is then in a later chunk.
    if (first !== undefined) {
      const known = await areKnown(pool, events);
      const { occurTime } = first.event;
      const isFromBefore = occurTime !== undefined && timestampDate(occurTime) <= lostFrom;
      beginsInDatabase =
        first.storedAt <= noticedAt && ((known[0] === true && isFromBefore) || first.previous.xid === '0');
      if (first.storedAt < since && known.every(Boolean)) break;
    }
    if (start === range.first) break;
    start = Math.max(range.first, start - chunkSize);
  }
  return { start, beginsInDatabase };
}

const isSame = (a: EventCursor, b: EventCursor): boolean => a.xid === b.xid && a.position === b.position;
