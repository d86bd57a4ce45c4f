import type { Pool, PoolClient } from 'pg';
import type { StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Environment } from '../domain/order.ts';
import type { Obstacle } from './obstacles.sql.ts';

/** An order that waits for its erasure. Stored ids. */
export interface WaitingOrder {
  readonly requestId: StoredId<'ers'>;
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  readonly orderId: StoredId<'ord'>;
  readonly obstacle: Obstacle | '';
  readonly dueAt: Date;
}

export interface DueOrder {
  readonly merchantId: StoredId<'mer'>;
  readonly orderId: StoredId<'ord'>;
  readonly dueAt: Date;
  /** Whether an operator requested the erasure. Otherwise the period of the order has ended. */
  readonly isRequested: boolean;
  /** Whether a second search is needed, for copies that were on their way at the first erasure. */
  readonly needsRepeat: boolean;
}

/** Orders whose erasure an operator requested come before those of ended periods, which may be millions. Two large indexes have this order. */
const turn = '(request_id is null), due_at';

/** Due orders of the merchant whose order is next in these environments. */
export function readDue(
  pool: Pool | PoolClient,
  environments: readonly Environment[],
  limit: number,
): Promise<DueOrder[]> {
  return runStatement<DueOrder>(pool, {
    text: `
select merchant_id as "merchantId", order_id as "orderId", due_at as "dueAt", request_id is not null as "isRequested",
  request_id is not null and obstacle <> 'LATE_COPIES' as "needsRepeat"
from core.erasures_due
where due_at <= now() and environment = any($2) and merchant_id = (
  select merchant_id from core.erasures_due where due_at <= now() and environment = any($2) order by ${turn} limit 1
)
order by ${turn} limit $1`,
    values: [limit, environments],
  });
}

/** Removes erased orders from the list. An order that became due again after it was read stays. */
export async function removeDue(
  pool: Pool | PoolClient,
  merchantId: StoredId<'mer'>,
  erased: readonly Pick<DueOrder, 'orderId' | 'dueAt'>[],
): Promise<void> {
  await runStatement(pool, {
    text: `
delete from core.erasures_due due
using unnest($2::uuid[], $3::timestamptz[]) as erased (order_id, due_at)
where due.merchant_id = $1 and due.order_id = erased.order_id and due.due_at = erased.due_at`,
    values: [merchantId, erased.map(({ orderId }) => orderId), erased.map(({ dueAt }) => dueAt)],
  });
}

/** The time until an order is tried again, by its obstacle. */
const delays = `case when obstacle.name = 'LATE_COPIES' then interval '2 minutes' when obstacle.name = 'NOT_SEALED' then interval '3 seconds'
  when obstacle.name = 'BROKER_UNAVAILABLE' then interval '1 minute' else interval '10 minutes' end`;

export async function postponeDue(
  pool: Pool | PoolClient,
  merchantId: StoredId<'mer'>,
  obstacles: ReadonlyMap<StoredId<'ord'>, Obstacle>,
): Promise<void> {
  await runStatement(pool, {
    text: `
update core.erasures_due due set obstacle = obstacle.name, due_at = now() + ${delays}
from unnest($2::uuid[], $3::text[]) as obstacle (order_id, name)
where due.merchant_id = $1 and due.order_id = obstacle.order_id`,
    values: [merchantId, [...obstacles.keys()], [...obstacles.values()]],
  });
}

/** The orders of some requests that wait, at most `maxOrders` of each request. */
export async function readWaiting(
  pool: Pool,
  requestIds: readonly StoredId<'ers'>[],
  maxOrders: number,
): Promise<{ readonly counts: ReadonlyMap<string, bigint>; readonly orders: readonly WaitingOrder[] }> {
  const rows = await runStatement<{
    request_id: StoredId<'ers'>;
    merchant_id: StoredId<'mer'>;
    environment: Environment;
    order_id: StoredId<'ord'>;
    obstacle: Obstacle | '';
    due_at: Date;
    count: string;
  }>(pool, {
    text: `
select * from (
  select request_id, merchant_id, environment, order_id, obstacle, due_at,
    count(*) over (partition by request_id)::text as count,
    row_number() over (partition by request_id order by merchant_id, order_id) as place
  from core.erasures_due where request_id = any($1::uuid[])
) waiting where place <= $2 order by request_id, place`,
    values: [requestIds, maxOrders],
  });
  return {
    counts: new Map(rows.map((row) => [row.request_id, BigInt(row.count)])),
    orders: rows.map((row) => ({
      requestId: row.request_id,
      merchantId: row.merchant_id,
      environment: row.environment,
      orderId: row.order_id,
      obstacle: row.obstacle,
      dueAt: row.due_at,
    })),
  };
}
