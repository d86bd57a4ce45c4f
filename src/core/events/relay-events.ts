import type { PoolClient } from 'pg';
import type { EventPublisher } from '../../platform/nats/nats-event-bus.ts';
import type { EventMessage } from '../../platform/nats/publish-stored.ts';
import { limitFailures } from '../../platform/line-limit.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Database } from '../database/database.ts';
import { pause } from '../../platform/pause.ts';
import { publicId } from '../../contract/public-id.ts';
import { withAdvisoryLock } from '../../platform/database/advisory-lock.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { formatCursor } from '../../contract/event-cursor.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';
import type { WakeSignal } from '../../platform/wake-signal.ts';
import { formatTraceparent } from '../../platform/tracing/trace-context.ts';
import type { Span } from '../../platform/tracing/span.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';
import { errorType } from '../../platform/tracing/span.ts';
import { beginPublishing } from './trace-published.ts';
import { eventSubject } from './event-subject.ts';
import { publishAccountChanges } from './publish-account-changes.ts';
import { heldBackMs, readEvents } from './read-events.sql.ts';
import type { StoredEvent } from './read-events.sql.ts';
import { readRelayCursor, writeRelayCursor } from './relay-cursor.sql.ts';

export interface RelayOptions {
  readonly database: Database;
  readonly publisher: EventPublisher;
  readonly signal: WakeSignal;
  /** Undefined when tracing is off. */
  readonly tracing?: Tracing | undefined;
  readonly logger: Logger;
  /** False while a restored database is compared with the stream, which therefore must not grow. */
  readonly mayRelay: () => boolean;
  /**
   * Whether the database has the newest event of the broker's stream. A restored database that published an event first would hide that it
   * lacks others.
   */
  readonly continuesStream: () => Promise<boolean>;
}

const batchSize = 500;
/** How soon events without a signal are found, such as those of other cores while the broker is unavailable. */
const idleMs = 250;
/**
 * The lock of the core that relays. PostgreSQL releases it with the session. So another core takes over when this one exits,
 * or sends nothing for longer than the broker may take to confirm a batch.
 */
const relayLock = { key: 7_142_002, silenceMs: 20_000 };
/**
 * How often events are read, counted from the beginning of one reading to that of the next. After a reading with many events,
 * smaller batches would cost several times as much. Few events do not wait for a batch. A limit of 25 events instead of 10 did not
 * bring the webhooks of 500 orders a second sooner.
 */
const pauseMs = { afterFew: 2, afterMany: 10 };
const manyEvents = 10;
/** The delay of the next reading when a running transaction holds events back. It doubles up to `heldBackMs`. */
const firstHeldBackMs = 1;
/** How often the cursor is stored. After a crash, events published since then are published again. */
const storeEveryMs = 100;
/** How often a core without the lock tries to get it, and a failed relay tries again. */
const standbyMs = 2_000;

/**
 * Publishes committed events to the broker, in commit order, at least once, until `stop` aborts. One core relays at a time.
 * The cursor in the database stores its position, and is never ahead of the events that the broker has confirmed.
 */
export async function relayEvents(options: RelayOptions, stop: AbortSignal): Promise<void> {
  const logFailed = limitFailures((error) =>
    options.logger.warn(
      { err: error },
      'publishing events failed; they stay in the database, and core tries again',
    ),
  );
  while (!stop.aborted) await relayOrStandBy(options, stop, logFailed);
}

async function relayOrStandBy(
  options: RelayOptions,
  stop: AbortSignal,
  logFailed: (error: unknown) => void,
): Promise<void> {
  if (!options.mayRelay()) return pause(idleMs, stop);
  try {
    const held = await withAdvisoryLock(options.database.pool, relayLock, (client, lost) =>
      relayUntilStopped(client, options, AbortSignal.any([stop, lost])),
    );
    if (!held) await pause(standbyMs, stop);
  } catch (error) {
    if (stop.aborted) return;
    logFailed(error);
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
  await planOnce(client);
  const lineage = await readLineage(client);
  let cursor = await readRelayCursor(client, publisher.stream);
  /** When the cursor is stored next; infinite when it is stored already. */
  let storeAtMs = Infinity;
  const storeCursor = async (): Promise<void> => {
    if (storeAtMs < Infinity) await writeRelayCursor(client, publisher.stream, cursor);
    storeAtMs = Infinity;
  };
  let isCompared = false;
  let heldBackReadings = 0;
  while (!stop.aborted && options.mayRelay()) {
    const rings = signal.rings();
    const readAt = performance.now();
    const reading = await readEvents(client, cursor, batchSize, {}, 'relay-events');
    const { events, holdsBack } = reading;
    // Without an answer for so long, another core may relay by now, and an erasure may have changed these events.
    if (performance.now() - readAt >= relayLock.silenceMs) continue;
    // In each session, because the loss of the database ends the session.
    if (!isCompared && (events.length > 0 || reading.hasAccountChanges)) {
      if (!(await options.continuesStream()))
        throw new Error('the broker has events that the database does not have');
      isCompared = true;
      continue;
    }
    // First, so that the stream names the account of every payment that it has.
    if (reading.hasAccountChanges) await publishAccountChanges(client, publisher, lineage);
    const last = events.at(-1);
    const pauseSinceRead = (ms: number) => pause(Math.max(0, ms - (performance.now() - readAt)), stop);
    if (last === undefined) {
      const heldForMs = Math.min(firstHeldBackMs * 2 ** heldBackReadings, heldBackMs);
      heldBackReadings = holdsBack ? heldBackReadings + 1 : 0;
      if (performance.now() >= storeAtMs) await storeCursor();
      // A running transaction may hold events back while others commit, and each commit rings.
      if (signal.rings() !== rings) await pauseSinceRead(Math.min(heldForMs, pauseMs.afterMany));
      const untilStoreMs = Math.max(0, storeAtMs - performance.now());
      await signal.wait(Math.min(holdsBack ? heldForMs : idleMs, untilStoreMs), stop, rings);
      continue;
    }
    heldBackReadings = 0;
    const before = [cursor, ...events.map((event) => event.cursor)];
    const from = cursor;
    await publishTraced(options, events, (event, index, span) =>
      messageOf(event, before[index] ?? from, lineage, span),
    );
    cursor = last.cursor;
    storeAtMs = Math.min(storeAtMs, performance.now() + storeEveryMs);
    if (performance.now() >= storeAtMs) await storeCursor();
    if (events.length < batchSize)
      await pauseSinceRead(events.length < manyEvents ? pauseMs.afterFew : pauseMs.afterMany);
  }
  await storeCursor();
  await client.query('reset enable_sort; reset plan_cache_mode');
}

/**
 * The statement is planned once, because planning takes longer than reading a few events. The table may be small then, so that a
 * sort is cheap. Only the plan with the ordered index stays good while the table grows.
 */
async function planOnce(client: PoolClient): Promise<void> {
  await client.query('set enable_sort = off; set plan_cache_mode = force_generic_plan');
}

/** Publishes events. Each event of a recorded trace gets a span, whose traceparent is a header of the message. */
async function publishTraced(
  { publisher, tracing }: RelayOptions,
  events: readonly StoredEvent[],
  messageOf: (event: StoredEvent, index: number, span: Span | undefined) => EventMessage,
): Promise<void> {
  const spans = events.map((event) => beginPublishing(tracing, event, publisher.stream));
  const end = (error?: string): void => spans.forEach((span) => span?.end(error));
  try {
    await publisher.publish(events.map((event, index) => messageOf(event, index, spans[index])));
    end();
  } catch (error) {
    end(errorType(error));
    throw error;
  }
}

/**
 * The message of an event. It has the positions of the event and of its predecessor, so that a reader can detect a gap. It names the
 * database of the event, so that a restored database finds its own events.
 */
function messageOf(
  event: StoredEvent,
  previous: EventCursor,
  lineage: string,
  span: Span | undefined,
): EventMessage {
  return {
    subject: eventSubject(event),
    id: publicId('evt', event.id),
    headers: {
      'Gatehouse-Cursor': formatCursor(event.cursor),
      'Gatehouse-Previous-Cursor': formatCursor(previous),
      ...(span === undefined ? {} : { traceparent: formatTraceparent(span.context) }),
      ...(lineage === '' ? {} : { 'Gatehouse-Lineage': lineage }),
    },
    body: event.payload,
  };
}

/** The lineage that this database's events carry; '' before the first core has written it. */
async function readLineage(client: PoolClient): Promise<string> {
  const rows = await runStatement<{ lineage: string }>(client, {
    text: 'select lineage::text as lineage from core.database_life',
  });
  return rows[0]?.lineage ?? '';
}
