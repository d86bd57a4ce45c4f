import { LRUCache } from 'lru-cache';
import type { PoolClient } from 'pg';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { DeliveryWriter } from './write-deliveries.ts';

/** An event and its place in core's list. */
export interface PlacedEvent {
  readonly cursor: string;
  readonly event: OrderEvent;
}

/** How far a reader of core's list has got, in memory as in the database. */
export interface ReaderPosition {
  /** Of the last event that was read; empty before the first. */
  readonly cursor: () => string;
  /** Whether the event there is surely among those that were read. Only the latest are remembered. */
  readonly isKnown: (cursor: string) => boolean;
  /** Writes the deliveries of the events that come next in the list, and moves behind them. Gives how many are new. */
  readonly advance: (events: readonly PlacedEvent[]) => Promise<number>;
  /** Writes the deliveries of events that are elsewhere in the list, and stays where it is. Gives how many are new. */
  readonly add: (events: readonly PlacedEvent[]) => Promise<number>;
  /** Goes back to before the first event. What was read before makes no second delivery. */
  readonly restart: () => Promise<void>;
  /** Says that there was nothing more to read just now. */
  readonly touch: () => Promise<void>;
  /** Keeps the connection, and the lock with it, while there is nothing to write or to say. */
  readonly keep: () => Promise<void>;
}

/** What all readers are called by, in the table that keeps their positions. */
export const intakeReader = 'intake';
export const reconcileReader = 'reconcile';

/** Half a minute of a busy system: what the broker brings after core's list did is recognised without asking again. */
const remembered = 50_000;

/** How often it is written down that there is nothing new: twice as often as anybody relies on. */
const touchEveryMs = 5_000;

/** Reads and writes over the connection that holds the reader's lock: who has lost the lock can move nothing. */
export async function openReaderPosition(
  reader: string,
  client: PoolClient,
  writer: DeliveryWriter,
  now: () => Date,
): Promise<ReaderPosition> {
  const known = new LRUCache<string, true>({ max: remembered });
  let cursor = await readCursor(client, reader);
  let movedAt = 0;
  const move = async (events: readonly PlacedEvent[], to: string): Promise<number> => {
    const { created } = await writer.write(
      events.map(({ event }) => event),
      { reader, cursor: to },
      client,
    );
    cursor = to;
    movedAt = now().getTime();
    for (const { cursor: each } of events) known.set(each, true);
    return created.size;
  };
  if (cursor !== '') known.set(cursor, true);
  return {
    cursor: () => cursor,
    isKnown: (other) => known.has(other),
    advance: (events) => move(events, events.at(-1)?.cursor ?? cursor),
    async add(events) {
      const told = events.map(({ event }) => event);
      const { created } = await writer.write(told, undefined, client);
      for (const { cursor: each } of events) known.set(each, true);
      return created.size;
    },
    async restart() {
      known.clear();
      await move([], '');
    },
    async touch() {
      if (now().getTime() - movedAt >= touchEveryMs) await move([], cursor);
    },
    async keep() {
      await client.query('select 1');
    },
  };
}

/** Empty for a reader that has never read. */
export async function readCursor(client: PoolClient, reader: string): Promise<string> {
  const rows = await runStatement<{ cursor: string }>(client, {
    text: 'select cursor from webhooks.event_readers where reader = $1',
    values: [reader],
  });
  return rows[0]?.cursor ?? '';
}
