import type { Client } from '@connectrpc/connect';
import type { PoolClient } from 'pg';
import { CheckResult, CheckSubject } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { DiagnosticsService } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderService } from '../../gen/gatehouse/v1/order_service_pb.js';
import { withAdvisoryLock } from '../../platform/database/advisory-lock.ts';
import { retentionStart } from '../../platform/database/retention-start.ts';
import type { TwoClocks } from '../../platform/database/retention-start.ts';
import type { Logger } from '../../platform/logger.ts';
import type { NewId } from '../../contract/public-id.ts';
import type { Database } from '../database/database.ts';
import { listEvents, listPageSize } from '../intake/list-events.ts';
import { intakeReader, readCursor, reconcileReader } from '../intake/reader-position.ts';
import { isRecent, occurredAt } from '../intake/write-deliveries.ts';
import type { DeliveryWriter, OwedDelivery } from '../intake/write-deliveries.ts';
import { findingText } from '../../contract/finding-text.ts';
import { findingMessage, forgetFindings, recordFindings } from './findings.sql.ts';
import type { Finding } from './findings.sql.ts';
import { missingDeliveries } from './missing-deliveries.sql.ts';
import { createOrderSequences, missingNumbers } from './order-sequences.ts';
import type { OrderSequences } from './order-sequences.ts';

export interface ReconcileParts extends TwoClocks {
  readonly database: Database;
  readonly writer: DeliveryWriter;
  readonly orders: Client<typeof OrderService>;
  readonly diagnostics: Client<typeof DiagnosticsService>;
  /** Older deliveries and findings may be deleted already, so they are not reported as missing. */
  readonly retentionDays: number;
  /** Called when there are new deliveries to send. */
  readonly onDeliveries: () => void;
  readonly newId: NewId;
  readonly logger: Logger;
}

/** Held by the one process that reconciles. */
const reconcileLock = { key: 7_142_103, silenceMs: 60_000 };
const callTimeoutMs = 10_000;
/** The intake may not have read events of this age or less yet. */
const recentAgeMs = 60_000;
const hourMs = 60 * 60_000;
/** The most possible gaps to check per page. Each check is a call to core, and more would show nothing new. */
const maxGapChecks = 20;
/** The most event ids in a log line. */
const maxLoggedIds = 20;

interface Round extends ReconcileParts {
  readonly client: PoolClient;
  readonly sequences: OrderSequences;
  readonly stop: AbortSignal;
}

/**
 * A round compares the new events in core's list with the deliveries to each receiver. It reads up to the intake's position, and never
 * events of the last minute. It creates missing deliveries and records each as repaired. It also records orders with gaps
 * between their events, and core's finding that orders disagree with their events. One process at a time does this. In the
 * others a round does nothing.
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

const daysAgo = (parts: ReconcileParts): Date => retentionStart(parts, parts.retentionDays);

async function walkList(round: Round): Promise<void> {
  const { client, orders, writer, now, stop } = round;
  const end = await readCursor(client, intakeReader);
  let cursor = await readCursor(client, reconcileReader);
  let isDone = cursor === end;
  while (!isDone && !stop.aborted) {
    const page = await listEvents(orders, cursor, stop);
    if (page === 'no such cursor') {
      cursor = '';
      continue;
    }
    const last = page.events.findIndex((entry) => entry.cursor === end);
    const firstRecent = page.events.findIndex(({ event }) => isRecent(event, now(), recentAgeMs));
    const known = last === -1 ? page.events : page.events.slice(0, last + 1);
    const read = firstRecent === -1 ? known : known.slice(0, firstRecent);
    cursor = read.at(-1)?.cursor ?? cursor;
    await comparePage(
      read.map(({ event }) => event),
      { reader: reconcileReader, cursor },
      round,
    );
    isDone = !page.hasMore || last !== -1 || firstRecent !== -1;
  }
  await writer.write([], { reader: reconcileReader, cursor }, client);
}

async function comparePage(
  events: readonly OrderEvent[],
  move: { readonly reader: string; readonly cursor: string },
  round: Round,
): Promise<void> {
  // Deliveries of older events may be deleted already. The hour covers clocks that differ.
  const since = daysAgo(round).getTime() + hourMs;
  const recent = events.filter((event) => occurredAt(event) > since);
  const owed = await round.writer.owed(recent, 'certain', round.client);
  const missing = await missingDeliveries(round.client, owed);
  const { suspicious, remember } = round.sequences.examine(events);
  const gaps = await findGaps(suspicious, round);
  await inTransactionOf(round.client, async () => {
    const { created } = await round.writer.write(missing, move, round.client);
    const repaired = missing.filter((each) =>
      created.some(({ eventId, endpoint }) => each.eventId === eventId && each.endpoint === endpoint),
    );
    const repairs = [...new Set(repaired.map(({ event }) => event))].map((event) => repairOf(event, round));
    const recorded = await recordFindings(round.client, [...repairs, ...gaps]);
    reportRepairs(repaired, round);
    for (const gap of gaps) if (recorded.has(gap.id)) reportGap(gap, round);
  });
  // Only now, because a page that failed is examined again.
  remember();
  if (missing.length > 0) round.onDeliveries();
}

const repairOf = (event: OrderEvent, { newId, now }: Round): Finding => ({
  id: newId('whf', now()),
  code: 'DELIVERY_CREATED',
  merchantId: event.order?.merchantId ?? '',
  orderId: event.order?.orderId ?? '',
  eventId: event.eventId,
  isRepaired: true,
  facts: {},
});

function reportRepairs(repaired: readonly OwedDelivery[], { logger }: Round): void {
  if (repaired.length === 0) return;
  const eventIds = repaired.slice(0, maxLoggedIds).map(({ eventId }) => eventId);
  logger.error(
    { deliveries: repaired.length, event_ids: eventIds },
    'missing deliveries were created, so their webhooks are sent late; find out what deleted them, or why the intake did not create them',
  );
}

function reportGap(gap: Finding, { logger }: Round): void {
  const { code, merchantId, orderId } = gap;
  const detail = findingText(findingMessage(gap));
  logger.error(
    { finding: code, order_id: orderId, merchant_id: merchantId, detail },
    'events of an order are missing in core, so their webhooks are not sent; run gatehouse doctor',
  );
}

/** Orders whose events do not count 1, 2, 3…, confirmed by the order's own list. */
async function findGaps(
  suspicious: readonly OrderEvent[],
  { orders, newId, now, stop }: Round,
): Promise<readonly Finding[]> {
  const suspects = new Map(suspicious.map(({ order }) => [order?.orderId ?? '', order?.merchantId ?? '']));
  const findings: Finding[] = [];
  for (const [orderId, merchantId] of [...suspects].slice(0, maxGapChecks)) {
    const options = { signal: stop, timeoutMs: callTimeoutMs };
    const { entries } = await orders.listOrderEvents(
      { merchantId, orderId, pageSize: listPageSize },
      options,
    );
    const missing = missingNumbers(entries.flatMap(({ event }) => event?.sequence ?? []));
    if (missing.length === 0) continue;
    findings.push({
      id: newId('whf', now()),
      code: 'EVENTS_MISSING',
      merchantId,
      orderId,
      eventId: '',
      isRepaired: false,
      facts: { missingSequences: missing.map(String) },
    });
  }
  return findings;
}

/** The disagreement persists, so it is recorded and logged only once an hour. */
async function askCore({ diagnostics, client, newId, now, logger, stop }: Round): Promise<void> {
  const { checks } = await diagnostics.diagnose({}, { signal: stop, timeoutMs: callTimeoutMs });
  const histories = checks.find(({ subject }) => subject === CheckSubject.ORDER_HISTORIES);
  if (histories?.result !== CheckResult.FAILED) return;
  const found = histories.facts.case === 'orderHistories' ? histories.facts.value : undefined;
  const finding: Finding = {
    id: newId('whf', now()),
    code: 'HISTORIES_DISAGREE',
    merchantId: '',
    orderId: '',
    eventId: '',
    isRepaired: false,
    facts: found
      ? {
          orderHistories: {
            orderCount: String(found.orderCount),
            differingCount: String(found.differingCount),
            orderIds: found.orderIds,
          },
        }
      : {},
  };
  const recorded = await recordFindings(client, [finding]);
  if (!recorded.has(finding.id)) return;
  const detail = findingText(findingMessage(finding));
  logger.error(
    { finding: finding.code, detail },
    'orders in core disagree with their events; run gatehouse doctor',
  );
}

/** Uses the connection that holds the lock, so that a process that has lost the lock writes nothing. */
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
