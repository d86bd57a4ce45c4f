import { fromBinary } from '@bufbuild/protobuf';
import type { PoolClient } from 'pg';
import type { StoredId } from '../../contract/public-id.ts';
import { OrderEventSchema } from '../../gen/gatehouse/v1/order_pb.js';
import { runStatement } from '../../platform/database/run-statement.ts';
import { allowSilence } from '../../platform/database/silent-connections.ts';
import type { Database } from '../database/database.ts';
import { readErasures } from './erasure-seal.ts';
import { commitmentOf, isSame } from './event-commitment.ts';
import type { CommittedEvent } from './event-commitment.ts';
import { orderDifferences } from './order-differences.ts';
import type { OrderDifference } from './order-differences.ts';
import type { Finding, LostTime, VerifySummary } from './audit-finding.ts';
import { openStoredOrders } from './read-stored-orders.sql.ts';
import type { StoredOrders } from './read-stored-orders.sql.ts';
import { committedEventOf } from './seal-events.ts';
import { verifyBlocks } from './verify-blocks.ts';
import { createRootCheck } from './verify-roots.ts';
import type { KeptRoot } from './verify-roots.ts';
import type { RootSigner } from './day-root.ts';

export interface VerifyParts {
  readonly database: Pick<Database, 'pool'>;
  readonly sealKey: Buffer;
  /** The key of the seals of erasures. */
  readonly erasureKey: Buffer;
  readonly signer: RootSigner;
}

export interface VerifyRequest {
  /** Undefined for all merchants. */
  readonly merchantId: StoredId<'mer'> | undefined;
  readonly keptRoots: readonly KeptRoot[];
}

/** How long PostgreSQL may sort, and how long the caller may pause between two findings. */
const silenceMs = 10 * 60_000;

/**
 * Compares everything that is stored with the chains, in one snapshot, so that a gateway under load has no differences. Memory
 * does not grow with the number of events.
 */
export async function* verifyEvents(
  { database, sealKey, erasureKey, signer }: VerifyParts,
  { merchantId, keptRoots }: VerifyRequest,
  summary: VerifySummary,
): AsyncGenerator<Finding> {
  const client = await database.pool.connect();
  // PostgreSQL sorts the events of a merchant before it sends the first one.
  allowSilence(client, silenceMs);
  let failed: Error | undefined;
  try {
    await client.query('begin transaction isolation level repeatable read read only');
    await client.query(
      `set local statement_timeout = 0; set local idle_in_transaction_session_timeout = ${silenceMs}`,
    );
    const lost = await readLostTimes(client);
    const roots = await createRootCheck({ client, signer, keptRoots, lost, merchantId });
    for (const merchant of await readMerchants(client, merchantId)) {
      yield* verifyBlocks(client, { merchantId: merchant, sealKey, roots, summary });
      yield* verifyMerchantEvents(client, { merchantId: merchant, erasureKey, lost, summary });
    }
    yield* roots.finish(summary);
  } catch (error) {
    failed = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    // This also runs if the caller stops before the end. A transaction that only reads has nothing to commit.
    if (failed === undefined) await client.query('rollback').catch(() => undefined);
    client.release(failed);
  }
}

async function readLostTimes(client: PoolClient): Promise<LostTime[]> {
  const rows = await runStatement<{ lost_from: Date; lost_until: Date }>(client, {
    text: 'select lost_from, greatest(lost_until, finished_at) as lost_until from core.recoveries',
  });
  return rows.map((row) => ({ from: row.lost_from, until: row.lost_until }));
}

/** Every merchant with an event, a block or a row, in the order of a root. */
async function readMerchants(
  client: PoolClient,
  only: StoredId<'mer'> | undefined,
): Promise<StoredId<'mer'>[]> {
  if (only !== undefined) return [only];
  const skipScan = (table: string) => `
select merchant_id from (
  with recursive next as (
    (select merchant_id from core.${table} order by merchant_id limit 1)
    union all
    select (select t.merchant_id from core.${table} t where t.merchant_id > next.merchant_id order by t.merchant_id limit 1)
    from next where next.merchant_id is not null
  )
  select merchant_id from next where merchant_id is not null
) ${table}`;
  const rows = await runStatement<{ id: StoredId<'mer'> }>(client, {
    text: `select merchant_id as id from (
select id as merchant_id from core.merchants union ${skipScan('order_events')} union ${skipScan('event_blocks')}
) every order by merchant_id`,
  });
  return rows.map(({ id }) => id);
}

interface Row {
  readonly order_id: StoredId<'ord'>;
  readonly sequence: number;
  readonly id: string | null;
  readonly environment: string;
  readonly type: string;
  readonly occurred_at: Date;
  readonly payload: Buffer;
  readonly number: string | null;
  readonly salt: Buffer | null;
  readonly commitment: Buffer | null;
  /** Whether sealing has passed the event's position, so that a block must have it. */
  readonly is_passed: boolean;
}

const pageSize = 500;

/** Each event with its entry in the chain. PostgreSQL sorts, on disk if need be. */
const eventsText = (merchantId: string): string => `
declare audited_events no scroll cursor for
with sealed as (
  select u.order_id, u.sequence, b.number,
    substr(b.salts, (u.ordinal::integer - 1) * 16 + 1, 16) as salt,
    substr(b.commitments, (u.ordinal::integer - 1) * 32 + 1, 32) as commitment
  from core.event_blocks b
  cross join lateral unnest(b.order_ids, b.sequences) with ordinality u(order_id, sequence, ordinal)
  where b.merchant_id = '${merchantId}' and order_id is not null and sequence is not null
), stored as (
  select e.*, coalesce((e.xid, e.position) <= (s.xid, s.position), false) as is_passed
  from core.order_events e left join core.event_seal s on true
  where e.merchant_id = '${merchantId}'
)
select order_id, sequence, stored.id, stored.environment, stored.type, stored.occurred_at, stored.payload,
  sealed.number::text as number, sealed.salt, sealed.commitment, coalesce(stored.is_passed, true) as is_passed
from stored full join sealed using (order_id, sequence)
order by order_id, sequence, sealed.number`;

interface EventsParts {
  readonly merchantId: StoredId<'mer'>;
  readonly erasureKey: Buffer;
  readonly lost: readonly LostTime[];
  readonly summary: VerifySummary;
}

async function* verifyMerchantEvents(client: PoolClient, parts: EventsParts): AsyncGenerator<Finding> {
  const { merchantId } = parts;
  await client.query(eventsText(merchantId));
  const storedOrders = await openStoredOrders(client, merchantId);
  let open: Row[] = [];
  for (;;) {
    const rows = await runStatement<Row>(client, { text: `fetch ${pageSize} from audited_events` });
    const all = [...open, ...rows];
    const isLast = rows.length < pageSize;
    // The rows of the last order may go on in the next page.
    const unfinished = isLast ? undefined : all.at(-1)?.order_id;
    open = all.filter(({ order_id: orderId }) => orderId === unfinished);
    const complete = Map.groupBy(
      all.filter(({ order_id: orderId }) => orderId !== unfinished),
      ({ order_id: orderId }) => orderId,
    );
    if (complete.size > 0) yield* verifyOrders(client, complete, storedOrders, parts);
    if (isLast) break;
  }
  await client.query('close audited_events');
  await storedOrders.close();
  const ordersWithoutEvents = await runStatement<{ id: StoredId<'ord'>; order_number: string }>(client, {
    text: `
select id, order_number from core.orders o
where merchant_id = $1 and not exists (
  select from core.order_events e where e.merchant_id = $1 and e.order_id = o.id
) and not exists (
  select from core.event_blocks b where b.merchant_id = $1 and b.order_ids @> array[o.id]
) limit 1000`,
    values: [merchantId],
  });
  for (const { id, order_number: orderNumber } of ordersWithoutEvents)
    yield {
      kind: 'ROW_INSERTED',
      merchantId,
      orderId: id,
      orderNumber,
      object: { subject: 'ORDER', id: '' },
    };
}

const rowKinds = { CHANGED: 'ROW_CHANGED', DELETED: 'ROW_DELETED', INSERTED: 'ROW_INSERTED' } as const;

async function* verifyOrders(
  client: PoolClient,
  orders: ReadonlyMap<StoredId<'ord'>, readonly Row[]>,
  storedOrders: StoredOrders,
  { merchantId, erasureKey, lost, summary }: EventsParts,
): AsyncGenerator<Finding> {
  const storedOf = await storedOrders.read([...orders.keys()]);
  const erasedIn = await readErasures(client, erasureKey, merchantId, [...orders.keys()]);
  for (const [orderId, rows] of orders) {
    summary.orders += 1;
    const stored = storedOf(orderId);
    const of = { merchantId, orderId, orderNumber: stored.order?.orderNumber ?? orderNumberIn(rows) };
    const erased = erasedIn(orderId, eventsOf(rows, merchantId));
    const faults = [...eventFaults(rows, { merchantId, erased, lost, summary })];
    for (const fault of faults) yield { ...of, ...fault };
    // A wrong history says nothing about the rows.
    const isTrusted = faults.every(({ isExplained = false }) => isExplained);
    for (const { subject, change, id, fields } of isTrusted ? rowDifferences(rows, stored, summary) : [])
      yield { ...of, kind: rowKinds[change], object: { subject, id }, fields };
  }
}

/** The order number of a deleted order, by its events; '' when they cannot be read. */
function orderNumberIn(rows: readonly Row[]): string {
  try {
    const payload = rows.find(({ id }) => id !== null)?.payload;
    return payload === undefined ? '' : (fromBinary(OrderEventSchema, payload).order?.orderNumber ?? '');
  } catch {
    return '';
  }
}

type EventFault = Pick<Finding, 'kind' | 'sequence' | 'block' | 'isExplained'>;

/** Each stored event once, although a restore may have sealed it twice. */
const eventsOf = (rows: readonly Row[], merchantId: string): CommittedEvent[] =>
  rows.flatMap((row, index) =>
    row.id === null || rows[index - 1]?.sequence === row.sequence ? [] : [eventOf(row, row.id, merchantId)],
  );

const eventOf = (row: Row, id: string, merchantId: string): CommittedEvent =>
  committedEventOf({ ...row, id, merchant_id: merchantId });

interface FaultParts extends Pick<EventsParts, 'merchantId' | 'lost' | 'summary'> {
  /** The events whose erasure is sealed. */
  readonly erased: ReadonlySet<number>;
}

function* eventFaults(
  rows: readonly Row[],
  { merchantId, erased, lost, summary }: FaultParts,
): Generator<EventFault> {
  let next = 1;
  let before: Date | undefined;
  for (const row of rows) {
    const { sequence } = row;
    if (next < sequence) {
      const isExplained = isWithin(lost, before, row.id === null ? undefined : row.occurred_at);
      yield { kind: 'EVENT_DELETED', sequence: next, isExplained };
    }
    next = sequence + 1;
    if (row.id === null) {
      yield { kind: 'EVENT_DELETED', sequence, block: BigInt(row.number ?? 0) };
      continue;
    }
    before = row.occurred_at;
    if (row.number === null || row.salt === null || row.commitment === null) {
      if (row.is_passed) yield { kind: 'EVENT_NOT_SEALED', sequence };
      else summary.waiting += 1;
    } else if (isSame(commitmentOf(row.salt, eventOf(row, row.id, merchantId)), row.commitment))
      summary.events += 1;
    else if (erased.has(sequence)) summary.erased += 1;
    else yield { kind: 'EVENT_CHANGED', sequence, block: BigInt(row.number) };
  }
}

/** Whether events between two others may have been lost with the database. */
const isWithin = (lost: readonly LostTime[], after: Date | undefined, before: Date | undefined): boolean =>
  lost.some(
    ({ from, until }) => (after === undefined || after <= until) && before !== undefined && before >= from,
  );

function rowDifferences(
  rows: readonly Row[],
  stored: Parameters<typeof orderDifferences>[1],
  summary: VerifySummary,
): OrderDifference[] {
  try {
    const events = rows.flatMap(({ id, payload }) =>
      id === null ? [] : [fromBinary(OrderEventSchema, payload)],
    );
    return orderDifferences(events, stored);
  } catch {
    summary.incomparable += 1;
    return [];
  }
}
