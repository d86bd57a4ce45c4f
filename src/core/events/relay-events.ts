import type { PoolClient } from 'pg';
import type { EventPublisher } from '../../platform/nats-event-bus.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Database } from '../database/database.ts';
import { pause } from '../../platform/pause.ts';
import { publicId } from '../../contract/public-id.ts';
import { withAdvisoryLock } from '../../platform/database/advisory-lock.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { beginning, formatCursor } from './event-cursor.ts';
import type { EventCursor } from './event-cursor.ts';
import type { WakeSignal } from '../../platform/wake-signal.ts';
import { readEvents } from './read-events.sql.ts';
import type { StoredEvent } from './read-events.sql.ts';

export interface RelayOptions {
  readonly database: Database;
  readonly publisher: EventPublisher;
  readonly signal: WakeSignal;
  readonly logger: Logger;
}

const batchSize = 500;
/** How soon events are seen that no signal announced: those of other cores while the broker is down. */
const idleMs = 250;
/**
 * Held by the one core that relays. PostgreSQL drops it with the session, so another core takes over when this one dies,
 * or is silent for longer than the broker may take to confirm a batch.
 */
const relayLock = { key: 7_142_002, silenceMs: 20_000 };
/** While events keep coming they are fetched this often: a few at a time, they would cost several times as much. */
const restMs = 10;
/** While events keep coming the cursor is kept this often: after a crash, what was published since is published again. */
const keepCursorMs = 100;
/** How soon a core that does not relay asks whether it may, and a relay that failed tries again. */
const standbyMs = 2_000;

/**
 * Publishes committed events to the broker, in commit order, at least once, until `stop` aborts. One core relays at a
 * time; the cursor in the database says how far it got, and never runs ahead of what the broker has confirmed.
 */
export async function relayEvents(options: RelayOptions, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) await relayOrStandBy(options, stop);
}

async function relayOrStandBy(options: RelayOptions, stop: AbortSignal): Promise<void> {
  try {
    const held = await withAdvisoryLock(options.database.pool, relayLock, (client, lost) =>
      relayUntilStopped(client, options, AbortSignal.any([stop, lost])),
    );
    if (!held) await pause(standbyMs, stop);
  } catch (error) {
    if (stop.aborted) return;
    options.logger.warn(
      { err: error },
      'relaying events failed; they stay in the database and are tried again',
    );
    await pause(standbyMs, stop);
  }
}

async function relayUntilStopped(
  client: PoolClient,
  options: RelayOptions,
  stop: AbortSignal,
): Promise<void> {
  const { publisher, signal, logger } = options;
  logger.info('relaying events');
  await keepToTheIndex(client);
  let cursor = await readRelayCursor(client, publisher.stream);
  let kept = cursor;
  let keptAt = performance.now();
  const keep = async (): Promise<void> => {
    if (kept !== cursor) await writeRelayCursor(client, publisher.stream, cursor);
    kept = cursor;
    keptAt = performance.now();
  };
  while (!stop.aborted) {
    const readAt = performance.now();
    const { events } = await readEvents(client, cursor, batchSize, {}, 'relay-events');
    const last = events.at(-1);
    if (last === undefined) {
      await keep();
      await signal.wait(idleMs, stop);
      continue;
    }
    const before = [cursor, ...events.map((event) => event.cursor)];
    await publisher.publish(events.map((event, index) => messageOf(event, before[index] ?? cursor)));
    cursor = last.cursor;
    if (performance.now() - keptAt >= keepCursorMs) await keep();
    const restLeftMs = restMs - (performance.now() - readAt);
    if (events.length < batchSize && restLeftMs > 0) await pause(restLeftMs, stop);
  }
  await keep();
  await client.query('reset enable_sort');
}

/**
 * The statement is planned once, perhaps while the table is so small that sorting it is cheap, and then used while it
 * grows: only the index, which has the events in order, is good for both.
 */
async function keepToTheIndex(client: PoolClient): Promise<void> {
  await client.query('set enable_sort = off');
}

const subjectWord = { SANDBOX: 'sandbox', PRODUCTION: 'production' } as const;

/** With the event's place, and that of the one published before it: so a reader knows whether it has seen everything. */
function messageOf(event: StoredEvent, previous: EventCursor) {
  return {
    subject: `orders.${subjectWord[event.environment]}.${publicId('mer', event.merchantId)}.${event.type.toLowerCase()}`,
    id: publicId('evt', event.id),
    headers: {
      'Gatehouse-Cursor': formatCursor(event.cursor),
      'Gatehouse-Previous-Cursor': formatCursor(previous),
    },
    body: event.payload,
  };
}

async function readRelayCursor(client: PoolClient, stream: string): Promise<EventCursor> {
  const text = 'select xid::text as xid, position::text as position from core.event_relay where stream = $1';
  const rows = await runStatement<EventCursor>(client, { text, values: [stream] });
  return rows[0] ?? beginning;
}

async function writeRelayCursor(
  client: PoolClient,
  stream: string,
  { xid, position }: EventCursor,
): Promise<void> {
  await client.query(
    `insert into core.event_relay (stream, xid, position) values ($1, $2::xid8, $3)
     on conflict (stream) do update set xid = excluded.xid, position = excluded.position`,
    [stream, xid, position],
  );
}
