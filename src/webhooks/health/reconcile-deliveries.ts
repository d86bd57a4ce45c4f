import type { Client } from '@connectrpc/connect';
import type { PoolClient } from 'pg';
import { CheckResult } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { DiagnosticsService } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderService } from '../../gen/gatehouse/v1/order_service_pb.js';
import { withAdvisoryLock } from '../../platform/database/advisory-lock.ts';
import type { Logger } from '../../platform/logger.ts';
import type { NewId } from '../../contract/public-id.ts';
import type { Database } from '../database/database.ts';
import { listEvents, listPageSize } from '../intake/list-events.ts';
import { intakeReader, readCursor, reconcileReader } from '../intake/reader-position.ts';
import { isTold, occurredAt } from '../intake/write-deliveries.ts';
import type { DeliveryWriter } from '../intake/write-deliveries.ts';
import { forgetFindings, hasFinding, insertFindings } from './findings.sql.ts';
import { withoutDelivery } from './missing-deliveries.sql.ts';
import { createOrderSequences, missingNumbers } from './order-sequences.ts';
import type { OrderSequences } from './order-sequences.ts';

export interface ReconcileParts {
  readonly database: Database;
  readonly writer: DeliveryWriter;
  readonly orders: Client<typeof OrderService>;
  readonly diagnostics: Client<typeof DiagnosticsService>;
  /** Deliveries and findings that are older may be gone, and are not missed. */
  readonly retentionDays: number;
  /** There are new deliveries to send. */
  readonly onDeliveries: () => void;
  readonly newId: NewId;
  readonly logger: Logger;
  readonly now: () => Date;
}

/** Held by the one process that reconciles. */
const reconcileLock = { key: 7_142_103, silenceMs: 60_000 };
const callTimeoutMs = 10_000;
const behindMs = 60_000;
const dayMs = 24 * 60 * 60_000;
const hourMs = 60 * 60_000;
/** Each costs a call; more than these in one page say the same once more. */
const maxSuspicions = 20;
const examples = 20;

interface Round extends ReconcileParts {
  readonly client: PoolClient;
  readonly sequences: OrderSequences;
  readonly stop: AbortSignal;
}

/**
 * A round compares what core's list of events has gained since the last one, up to what the intake says it has read and
 * a minute behind the clock, with the deliveries: what is missing is created, and written down as repaired. Orders with
 * gaps between their events, and orders that core finds at odds with their events, are written down as they are. One
 * process at a time does it; in the others a round does nothing.
 */
export function createReconcileDeliveries(parts: ReconcileParts): (stop: AbortSignal) => Promise<void> {
  const sequences = createOrderSequences();
  return async (stop) => {
    await withAdvisoryLock(parts.database.pool, reconcileLock, async (client, lost) => {
      const round = { ...parts, client, sequences, stop: AbortSignal.any([stop, lost]) };
      await walkList(round);
      await askCore(round);
      await forgetFindings(client, daysAgo(round));
    });
  };
}

const daysAgo = ({ now, retentionDays }: ReconcileParts): Date =>
  new Date(now().getTime() - retentionDays * dayMs);

async function walkList(round: Round): Promise<void> {
  const { client, orders, writer, now, stop } = round;
  const end = await readCursor(client, intakeReader);
  let cursor = await readCursor(client, reconcileReader);
  let isDone = cursor === end;
  while (!isDone && !stop.aborted) {
    const page = await listEvents(orders, cursor, stop);
    if (page === 'no such place') {
      cursor = '';
      continue;
    }
    const last = page.events.findIndex((entry) => entry.cursor === end);
    const young = page.events.findIndex(({ event }) => occurredAt(event) > now().getTime() - behindMs);
    const known = last === -1 ? page.events : page.events.slice(0, last + 1);
    const read = young === -1 ? known : known.slice(0, young);
    cursor = read.at(-1)?.cursor ?? cursor;
    await comparePage(
      read.map(({ event }) => event),
      { reader: reconcileReader, cursor },
      round,
    );
    isDone = !page.hasMore || last !== -1 || young !== -1;
  }
  await writer.write([], { reader: reconcileReader, cursor }, client);
}

async function comparePage(
  events: readonly OrderEvent[],
  move: { readonly reader: string; readonly cursor: string },
  round: Round,
): Promise<void> {
  // What is older may have been delivered and forgotten; an hour for clocks that differ.
  const since = daysAgo(round).getTime() + hourMs;
  const told = events.filter((event) => isTold(event) && occurredAt(event) > since);
  const missing = await withoutDelivery(round.client, told);
  const gaps = await findGaps(events, round);
  await inTransactionOf(round.client, async () => {
    const { created } = await round.writer.write(missing, move, round.client);
    const repaired = missing.filter(({ eventId }) => created.has(eventId));
    await insertFindings(round.client, [...repaired.map((event) => repairOf(event, round)), ...gaps]);
    reportRepairs(repaired, round);
  });
  if (missing.length > 0) round.onDeliveries();
}

const repairOf = (event: OrderEvent, { newId, now }: Round) => ({
  id: newId('whf', now()),
  merchantId: event.order?.merchantId ?? '',
  orderId: event.order?.orderId ?? '',
  isRepaired: true,
  detail: `event ${event.eventId} had no delivery; it has one now`,
});

function reportRepairs(repaired: readonly OrderEvent[], { logger }: Round): void {
  if (repaired.length === 0) return;
  const eventIds = repaired.slice(0, examples).map(({ eventId }) => eventId);
  logger.error(
    { deliveries: repaired.length, event_ids: eventIds },
    'deliveries were missing and have been created; look for what deleted them, or for a fault in the intake',
  );
}

/** Orders whose events do not count 1, 2, 3…, confirmed by the order's own list. */
async function findGaps(events: readonly OrderEvent[], round: Round) {
  const { sequences, orders, newId, now, logger, stop } = round;
  const suspicious = events.filter((event) => !sequences.isNext(event));
  const suspects = new Map(suspicious.map(({ order }) => [order?.orderId ?? '', order?.merchantId ?? '']));
  const findings = [];
  for (const [orderId, merchantId] of [...suspects].slice(0, maxSuspicions)) {
    const options = { signal: stop, timeoutMs: callTimeoutMs };
    const { entries } = await orders.listOrderEvents(
      { merchantId, orderId, pageSize: listPageSize },
      options,
    );
    const missing = missingNumbers(entries.flatMap(({ event }) => event?.sequence ?? []));
    if (missing.length === 0) continue;
    const detail = `core's list of events of the order lacks number ${missing.join(', ')}`;
    logger.error({ order_id: orderId, merchant_id: merchantId, detail }, 'an order has a gap in its events');
    findings.push({ id: newId('whf', now()), merchantId, orderId, isRepaired: false, detail });
  }
  return findings;
}

const corePrefix = 'core says: ';

/** What core finds stays so for a while: it is written down once an hour. */
async function askCore({ diagnostics, client, newId, now, logger, stop }: Round): Promise<void> {
  const { checks } = await diagnostics.diagnose({}, { signal: stop, timeoutMs: callTimeoutMs });
  const histories = checks.find(({ name }) => name === 'order histories');
  if (histories?.result !== CheckResult.FAILED) return;
  if (await hasFinding(client, corePrefix, new Date(now().getTime() - hourMs))) return;
  const detail = corePrefix + histories.detail;
  logger.error({ detail }, 'orders and events differ');
  await insertFindings(client, [
    { id: newId('whf', now()), merchantId: '', orderId: '', isRepaired: false, detail },
  ]);
}

/** Over the connection that holds the lock: who has lost the lock writes nothing. */
async function inTransactionOf(client: PoolClient, work: () => Promise<void>): Promise<void> {
  await client.query('begin');
  try {
    await work();
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}
