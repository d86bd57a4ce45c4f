import { LRUCache } from 'lru-cache';
import type { Pool, PoolClient } from 'pg';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { LaneLeases, LaneLease } from '../delivery/lane-runner.ts';
import type { WrittenDeliveries } from './insert-with-lease.ts';
import type { DeliveryWriter, OwedDelivery } from './write-deliveries.ts';
import { atMost } from '../../platform/at-most.ts';

/** An event and its cursor in core's list. */
export interface EventAtCursor {
  readonly cursor: string;
  readonly event: OrderEvent;
  /** The traceparent of the span that published the event, if the event came by the broker and has a recorded trace. */
  readonly published?: string;
}

/** An event in core's list that certainly has no deliveries, and was not decoded. */
export interface SkippedEvent {
  readonly cursor: string;
  readonly event?: undefined;
}

/** The numbers of new deliveries. */
export interface Advanced {
  readonly created: number;
  /** The new deliveries whose lanes a dispatcher must lease. */
  readonly unleased: number;
}

/** The position of a reader of core's list, in memory and in the database. */
export interface ReaderPosition {
  /** The cursor of the last read event; empty before the first. The database may have an earlier one for a fifth of a second. */
  readonly cursor: () => string;
  /** Whether the event at this cursor was certainly read. Only the latest cursors are remembered. */
  readonly isKnown: (cursor: string) => boolean;
  /**
   * Writes the deliveries of the next events in the list, and moves past them. Events without deliveries may move the position in memory
   * only, until `storeInMs` is 0.
   */
  readonly advance: (events: readonly (EventAtCursor | SkippedEvent)[]) => Promise<Advanced>;
  /** Writes the deliveries of events elsewhere in the list, without moving. */
  readonly add: (events: readonly (EventAtCursor | SkippedEvent)[]) => Promise<Advanced>;
  /** Returns to the start of the list. Events that were read before create no second delivery. */
  readonly restart: () => Promise<void>;
  /** How soon `store` must be called; infinite when the database has the position. */
  readonly storeInMs: () => number;
  /** Writes the position. */
  readonly store: () => Promise<void>;
  /** Records that the list had no more events. */
  readonly touch: () => Promise<void>;
  /** Keeps the connection and its lock alive while there is nothing to write. */
  readonly keepAlive: () => Promise<void>;
}

/** The names of the readers in the table of positions. */
export const intakeReader = 'intake';
export const reconcileReader = 'reconcile';

/** Covers half a minute of a busy system. Events that the broker brings after core's list are recognised without a query. */
const remembered = 50_000;

/**
 * How often the position is written while events have no deliveries. Most events have none. Each write is a commit. After a crash, these
 * events are read again from core's list.
 */
const storeEveryMs = 200;

/** How often an idle reader records that it is alive. After 30 s without a record it is reported as stopped (pipeline-status.ts). */
const touchEveryMs = 5_000;

export interface PositionOptions {
  /** The dispatcher of this process. */
  readonly leases?: LaneLeases | undefined;
  readonly monotonicMs?: () => number;
}

/**
 * Reads and writes over the connection that holds the reader's lock. So a process that lost the lock cannot move the
 * reader.
 */
export async function openReaderPosition(
  reader: string,
  client: PoolClient,
  writer: DeliveryWriter,
  { leases, monotonicMs = () => performance.now() }: PositionOptions = {},
): Promise<ReaderPosition> {
  const known = new LRUCache<string, true>(atMost(remembered));
  let cursor = await readCursor(client, reader);
  let isStored = true;
  let storedAtMs = -Infinity;
  const owedOf = (events: readonly (EventAtCursor | SkippedEvent)[]): Promise<readonly OwedDelivery[]> =>
    writer.owed(
      events.flatMap(({ event }) => event ?? []),
      // Also endpoints that may have been created just before the event, so that none is left out.
      'possible',
      client,
    );
  const isStoreDue = (): boolean => monotonicMs() - storedAtMs >= storeEveryMs;
  /** Writes deliveries, and moves, in one transaction. */
  const write = async (owed: readonly OwedDelivery[], to: string): Promise<Advanced> => {
    const writeWith = (lease?: LaneLease) => writer.write(owed, { reader, cursor: to }, client, lease);
    const written = await (owed.length === 0 || leases === undefined
      ? writeWith()
      : leases.writeWithLease(writeWith));
    cursor = to;
    isStored = true;
    storedAtMs = monotonicMs();
    return advancedBy(written);
  };
  if (cursor !== '') known.set(cursor, true);
  return {
    cursor: () => cursor,
    isKnown: (other) => known.has(other),
    async advance(events) {
      const to = events.at(-1)?.cursor ?? cursor;
      const owed = await owedOf(events);
      let advanced: Advanced = { created: 0, unleased: 0 };
      if (owed.length > 0 || isStoreDue()) advanced = await write(owed, to);
      else {
        cursor = to;
        isStored = false;
      }
      for (const { cursor: each } of events) known.set(each, true);
      return advanced;
    },
    async add(events) {
      const written = await writer.write(await owedOf(events), undefined, client);
      for (const { cursor: each } of events) known.set(each, true);
      return advancedBy(written);
    },
    async restart() {
      known.clear();
      await write([], '');
    },
    storeInMs: () => (isStored ? Infinity : Math.max(0, storedAtMs + storeEveryMs - monotonicMs())),
    async store() {
      await write([], cursor);
    },
    async touch() {
      if (monotonicMs() - storedAtMs >= touchEveryMs) await write([], cursor);
    },
    async keepAlive() {
      await client.query('select 1');
    },
  };
}

const advancedBy = ({ created, unleased }: WrittenDeliveries): Advanced => ({
  created: created.length,
  unleased,
});

/** Empty for a reader that has never read. */
export async function readCursor(client: Pool | PoolClient, reader: string): Promise<string> {
  const rows = await runStatement<{ cursor: string }>(client, {
    text: 'select cursor from webhooks.event_readers where reader = $1',
    values: [reader],
  });
  return rows[0]?.cursor ?? '';
}
