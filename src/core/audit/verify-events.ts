import type { PoolClient } from 'pg';
import type { StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { allowSilence } from '../../platform/database/silent-connections.ts';
import type { Database } from '../database/database.ts';
import type { Finding, LostTime, VerifySummary } from './audit-finding.ts';
import { pageSize, readAuditedEvents } from './audited-events.sql.ts';
import type { AuditedRow } from './audited-events.sql.ts';
import { openStoredOrders } from './read-stored-orders.sql.ts';
import type { RootSigner } from './day-root.ts';
import { verifyBlocks } from './verify-blocks.ts';
import { verifyLargeOrder } from './verify-large-order.ts';
import { verifyOrders } from './verify-orders.ts';
import type { OrdersParts } from './verify-orders.ts';
import { createRootCheck } from './verify-roots.ts';
import type { KeptRoot } from './verify-roots.ts';

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
 * does not grow with the number of events, except for the ids of the refunds and payments of one order.
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

async function* verifyMerchantEvents(
  client: PoolClient,
  merchant: Omit<OrdersParts, 'client' | 'storedOrders'>,
): AsyncGenerator<Finding> {
  const { merchantId } = merchant;
  const pages = readAuditedEvents(client, merchantId);
  const storedOrders = await openStoredOrders(client, merchantId);
  const parts = { ...merchant, client, storedOrders };
  let open: AuditedRow[] = [];
  for (;;) {
    const { value: rows = [], done: isOver = false } = await pages.next();
    const all = [...open, ...rows];
    // The events of the last order may go on in the next page.
    const unfinished = isOver ? undefined : all.at(-1)?.order_id;
    open = all.filter(({ order_id: orderId }) => orderId === unfinished);
    const complete = Map.groupBy(
      all.filter(({ order_id: orderId }) => orderId !== unfinished),
      ({ order_id: orderId }) => orderId,
    );
    if (complete.size > 0) yield* verifyOrders(parts, complete);
    if (isOver) break;
    const [firstRow, ...others] = open;
    if (firstRow !== undefined && open.length >= pageSize)
      open = yield* verifyLargeOrder(parts, [firstRow, ...others], pages);
  }
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
