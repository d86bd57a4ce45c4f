import { fromBinary } from '@bufbuild/protobuf';
import type { Client } from '@connectrpc/connect';
import type { PoolClient } from 'pg';
import { OrderEventSchema } from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderService } from '../../gen/gatehouse/v1/order_service_pb.js';
import { withAdvisoryLock } from '../../platform/database/advisory-lock.ts';
import { isDatabaseUnavailable } from '../../platform/database/explain-error.ts';
import { limitFailures } from '../../platform/line-limit.ts';
import type { Logger } from '../../platform/logger.ts';
import type { EventConsumer, ReceivedEvent, ReceivedEvents } from '../../platform/nats/event-consumer.ts';
import { pause } from '../../platform/pause.ts';
import type { Database } from '../database/database.ts';
import { isWithoutWebhook } from './event-body.ts';
import { followChain } from './follow-chain.ts';
import { listEvents, listPageSize } from './list-events.ts';
import type { ListedEvents } from './list-events.ts';
import { intakeReader, openReaderPosition } from './reader-position.ts';
import type { EventAtCursor, SkippedEvent, ReaderPosition } from './reader-position.ts';
import { isRecent } from './write-deliveries.ts';
import type { DeliveryTraces } from '../delivery/delivery-traces.ts';
import type { LaneLeases } from '../delivery/lane-runner.ts';
import type { DeliveryWriter } from './write-deliveries.ts';

export interface IntakeParts {
  readonly database: Database;
  readonly writer: DeliveryWriter;
  readonly consumer: EventConsumer;
  readonly traces?: Pick<DeliveryTraces, 'beginIntake'>;
  /** The dispatcher of this process, which may send new deliveries at once. */
  readonly leases?: LaneLeases;
  readonly orders: Client<typeof OrderService>;
  /** Called when there are new deliveries whose lanes a dispatcher must lease. */
  readonly onDeliveries: () => void;
  readonly logger: Logger;
  readonly now: () => Date;
}

/**
 * Held by the one process that ingests events. PostgreSQL releases it when the connection ends, and another process
 * takes over.
 */
const intakeLock = { key: 7_142_102, silenceMs: 20_000 };
/** How often a standby process tries to get the lock, and how soon a failed one tries again. */
const standbyMs = 1_000;
/** Core's list is read when the broker has delivered nothing for this long. */
const quietMs = 2_000;
/** While the broker delivers, core's list is still read at this interval. */
const listEveryMs = 10_000;
/** Younger events are left to the broker, which is about to deliver them. */
const graceMs = 1_000;
/** How often core's list is read while the broker is unavailable. */
const withoutBrokerMs = 300;

/**
 * Creates deliveries of committed events until `stop` aborts. One process at a time ingests events. The broker delivers
 * most events, each with the cursor of the event before it. When this chain has a gap, or the broker is silent or
 * unavailable, core's own list is read. So no event is missed, even if the broker loses, repeats or reorders events.
 */
export async function ingestEvents(parts: IntakeParts, stop: AbortSignal): Promise<void> {
  const { logger } = parts;
  const limited = {
    ...parts,
    logFailed: limitFailures((error) => {
      const level = isDatabaseUnavailable(error) ? 'warn' : 'error';
      logger[level]({ err: error }, 'ingesting events failed; core keeps them, and the intake tries again');
    }),
    logUnlisted: limitFailures((error) =>
      logger.warn({ err: error }, 'the event list of core could not be read; trying again'),
    ),
  };
  while (!stop.aborted) await ingestOrStandBy(limited, stop);
}

/** The parts, with the log lines of failures that repeat. */
interface LimitedParts extends IntakeParts {
  readonly logFailed: (error: unknown) => void;
  readonly logUnlisted: (error: unknown) => void;
}

async function ingestOrStandBy(parts: LimitedParts, stop: AbortSignal): Promise<void> {
  const { database, logFailed } = parts;
  try {
    await withAdvisoryLock(database.pool, intakeLock, (client, lost) =>
      ingestUntilStopped(client, parts, stop, lost),
    );
  } catch (error) {
    if (stop.aborted) return;
    logFailed(error);
  }
  await pause(standbyMs, stop);
}

async function ingestUntilStopped(
  client: PoolClient,
  parts: LimitedParts,
  stop: AbortSignal,
  lost: AbortSignal,
): Promise<void> {
  const { writer, leases, consumer, logger } = parts;
  const leaving = new AbortController();
  const ended = AbortSignal.any([stop, lost, leaving.signal]);
  const position = await openReaderPosition(intakeReader, client, writer, { leases });
  logger.info('ingesting events');
  const inbox = consumer.listen(ended);
  let listedAtMs = -Infinity;
  try {
    while (!ended.aborted) {
      const isOpen = inbox.isOpen();
      const quiet = isOpen ? quietMs : withoutBrokerMs;
      const storeInMs = position.storeInMs();
      const received = await inbox.take(listPageSize, Math.min(quiet, storeInMs));
      if (received.events.length > 0) await ingestBatch(received, position, parts, ended);
      else if (storeInMs <= quiet) {
        await position.store();
        continue;
      }
      if (received.events.length > 0 && performance.now() - listedAtMs < listEveryMs) continue;
      await checkList(isOpen ? graceMs : 0, position, parts, ended);
      listedAtMs = performance.now();
    }
  } finally {
    leaving.abort();
  }
}

/** An event is acknowledged to the broker only after its deliveries are written. */
async function ingestBatch(
  received: ReceivedEvents,
  position: ReaderPosition,
  parts: LimitedParts,
  stop: AbortSignal,
): Promise<void> {
  const links = received.events.map(linkOf);
  const { next, isWhole } = followChain(position.cursor(), links, position.isKnown);
  const events = isWhole ? next.map(eventAtCursor).filter((event) => event !== undefined) : [];
  if (isWhole && events.length === next.length) await advancePosition(events, 'the broker', position, parts);
  else if (await catchUp(0, position, parts, stop)) await ingestUnlisted(links, position, parts);
  else return;
  received.acknowledge();
}

/**
 * Every published event can be listed, but not always after the reader's cursor. When core's database loses its latest
 * transactions (a restore, a lagging replica after failover), new events reuse earlier cursors.
 */
async function ingestUnlisted(
  links: readonly ReturnType<typeof linkOf>[],
  position: ReaderPosition,
  { onDeliveries, logger }: IntakeParts,
): Promise<void> {
  const unlisted = links
    .filter(({ cursor }) => cursor !== '' && !position.isKnown(cursor))
    .map(eventAtCursor)
    .filter((event) => event !== undefined);
  const { created: deliveries } = await position.add(unlisted);
  if (deliveries === 0) return;
  logger.error(
    { events: unlisted.length, deliveries },
    "the broker sent events that core does not list at their position; check whether core's database was restored",
  );
  onDeliveries();
}

const linkOf = (received: ReceivedEvent) => ({
  received,
  cursor: received.header('Gatehouse-Cursor'),
  previous: received.header('Gatehouse-Previous-Cursor'),
});

/** Undefined for bytes that are not an event. The event is then read from core's list. */
function eventAtCursor({
  cursor,
  received,
}: ReturnType<typeof linkOf>): EventAtCursor | SkippedEvent | undefined {
  const published = received.header('traceparent');
  // A traced event is decoded even without a webhook, because its span contains facts of the event.
  if (published === '' && isWithoutWebhook(received.subject, received.body)) return { cursor };
  try {
    return { cursor, event: fromBinary(OrderEventSchema, received.body), published };
  } catch {
    return undefined;
  }
}

async function checkList(
  recentAgeMs: number,
  position: ReaderPosition,
  parts: LimitedParts,
  stop: AbortSignal,
): Promise<void> {
  if (await catchUp(recentAgeMs, position, parts, stop)) return position.touch();
  await position.keepAlive();
  await pause(standbyMs, stop);
}

/** Reads core's list to its end, or to the first event that is too recent. Returns false when it did not get there. */
async function catchUp(
  recentAgeMs: number,
  position: ReaderPosition,
  parts: LimitedParts,
  stop: AbortSignal,
): Promise<boolean> {
  for (;;) {
    const page = await askCore(position.cursor(), parts, stop);
    if (page === 'no such cursor') {
      parts.logger.error(
        "core does not know the cursor of the last event, as after a restore; reading core's events from the start",
      );
      await position.restart();
      continue;
    }
    if (page === undefined) return false;
    const firstRecent = page.events.findIndex(({ event }) => isRecent(event, parts.now(), recentAgeMs));
    const events = firstRecent === -1 ? page.events : page.events.slice(0, firstRecent);
    await advancePosition(events, "core's list", position, parts);
    if (!page.hasMore || firstRecent !== -1) return true;
    if (stop.aborted) return false;
  }
}

async function advancePosition(
  events: readonly (EventAtCursor | SkippedEvent)[],
  source: 'the broker' | "core's list",
  position: ReaderPosition,
  { traces, onDeliveries, logger }: IntakeParts,
): Promise<void> {
  if (events.length === 0) return;
  const spans = events.map((each) =>
    each.event === undefined ? undefined : traces?.beginIntake(each.event, each.published),
  );
  const advanced = await position.advance(events).finally(() => spans.forEach((span) => span?.end()));
  logger.debug({ events: events.length, deliveries: advanced.created, source }, 'ingested events');
  if (advanced.unleased > 0) onDeliveries();
}

/** Undefined when core does not answer. The broker may still deliver the next events. */
async function askCore(
  afterCursor: string,
  { orders, logUnlisted }: LimitedParts,
  signal: AbortSignal,
): Promise<ListedEvents | 'no such cursor' | undefined> {
  try {
    return await listEvents(orders, afterCursor, signal);
  } catch (error) {
    if (!signal.aborted) logUnlisted(error);
    return undefined;
  }
}
