import type { EntityManager } from '@mikro-orm/postgresql';
import type { StoredId } from '../../../contract/public-id.ts';
import { bulkStatement, plainColumn, rowList } from '../../../platform/database/bulk-statement.ts';
import type { BulkStatement } from '../../../platform/database/bulk-statement.ts';
import type { Statement } from '../../../platform/database/run-statement.ts';
import { runInTransaction } from '../../../platform/database/transaction-statement.ts';
import { OrderRow } from '../../database/order-entities.ts';
import type { Environment } from '../../domain/order.ts';

type OrderKey = Pick<OrderRow, 'merchantId' | 'environment'> &
  (Pick<OrderRow, 'id'> | Pick<OrderRow, 'orderNumber'>);

// Columns are listed, because a prepared `*` fails after a migration has added one.
const orderColumns = `
o.merchant_id, o.environment, o.id, o.order_number, o.status, o.payment_type, o.amount_text, o.amount_minor_units,
o.deducted_minor_units, o.refunded_minor_units, o.currency, o.customer_phone, o.customer_phone_e164, o.reason,
o.business_name, o.return_url, o.webhook_url, o.last_event_sequence, o.attempt_count, o.latest_attempt_id, o.created_at,
o.updated_at, o.expires_at, o.sweep_at, o.checkout_browser_hash`;

/**
 * Events are read in the order of transaction ids, and PostgreSQL may give a transaction its id while it waits for a row. So
 * changes of one order wait with an advisory lock, which gives no id, and then lock the row (ADR 4).
 */
const lockStatement = (where: string): string => `
select ${orderColumns}
from core.orders o
where ${where} and pg_advisory_xact_lock(hashtextextended(o.id::text, 0))::text = ''
for update`;

const ofMerchant = 'o.merchant_id = $1::uuid and o.environment = $2::core.environment';
const byId: Statement = {
  name: 'lock-order-by-id',
  text: lockStatement(`${ofMerchant} and o.id = $3::uuid`),
};
const byNumber: Statement = {
  name: 'lock-order-by-number',
  text: lockStatement(`${ofMerchant} and o.order_number = $3`),
};

/**
 * Locks the row of an order until the transaction ends; undefined when there is none. The statements `first` run before it, in the same
 * round trip.
 */
export function lockOrder(
  em: EntityManager,
  key: OrderKey,
  first: readonly Statement[] = [],
): Promise<OrderRow | undefined> {
  const { merchantId, environment } = key;
  const [statement, name] = 'id' in key ? [byId, key.id] : [byNumber, key.orderNumber];
  return lockOne(em, { ...statement, values: [merchantId, environment, name] }, first);
}

/** The tables whose rows belong to an order. A row never moves to another order. */
export type PartOfOrder = 'payment_attempts' | 'refunds' | 'stray_payments';

// The order is found by sub-selects. In a join, the planner could lock each order that it compares.
const lockingOf = (table: PartOfOrder): Statement => {
  const ofPart = (column: string): string =>
    `(select part.${column} from core.${table} part where part.merchant_id = $1::uuid and part.id = $2::uuid)`;
  return {
    name: `lock-order-of-${table}`,
    text: lockStatement(
      `o.merchant_id = $1::uuid and o.environment = ${ofPart('environment')} and o.id = ${ofPart('order_id')}`,
    ),
  };
};
const byPart: Readonly<Record<PartOfOrder, Statement>> = {
  payment_attempts: lockingOf('payment_attempts'),
  refunds: lockingOf('refunds'),
  stray_payments: lockingOf('stray_payments'),
};

/** Locks the order that a row of another table belongs to; undefined without the row, or without an order. */
export const lockOrderOf = (
  em: EntityManager,
  table: PartOfOrder,
  { merchantId, id }: { readonly merchantId: StoredId<'mer'>; readonly id: string },
): Promise<OrderRow | undefined> => lockOne(em, { ...byPart[table], values: [merchantId, id] });

async function lockOne(
  em: EntityManager,
  statement: Statement,
  first: readonly Statement[] = [],
): Promise<OrderRow | undefined> {
  const [row] = await runInTransaction(em, statement, first);
  return row === undefined ? undefined : em.map(OrderRow, row);
}

/*
 * Several orders are locked without waiting. An order that another transaction holds is left out, so transactions that lock
 * several orders never wait for each other in a circle.
 *
 * All advisory locks are taken before the first row is locked: `array_agg` reads its whole input first. The first locked row
 * gives the transaction its id, and events are read in the order of these ids (ADR 4). If the locks were taken row by row, another
 * transaction could get a later id, change an order, and commit. This one would then change that order again under its earlier id.
 */
const lockingFree = (candidates: string, condition = 'true'): string => `
with held as materialized (
  select array_agg(c.ordinal) as ordinals, array_agg(c.merchant_id) as merchants, array_agg(c.environment) as environments,
    array_agg(c.id) as ids
  from (${candidates}) c
)
select t.ordinal, ${orderColumns}
from held cross join lateral unnest(held.ordinals, held.merchants, held.environments, held.ids) t (ordinal, merchant_id, environment, id)
join core.orders o on o.merchant_id = t.merchant_id and o.environment = t.environment and o.id = t.id
where ${condition}
for update of o skip locked`;

/** Takes the advisory locks of the rows that are free. `offset 0` keeps the planner from trying them on other rows. */
const heldOf = (rows: string): string => `
select * from (${rows} offset 0) found where pg_try_advisory_xact_lock(hashtextextended(found.id::text, 0))`;

const lockFreeNamed = (source: string, where: string): string =>
  lockingFree(
    heldOf(
      `select name.ordinal::integer - 1 as ordinal, o.merchant_id, o.environment, o.id from ${source} join core.orders o on ${where}`,
    ),
  );

type IdKey = Extract<OrderKey, Pick<OrderRow, 'id'>>;
type PartKey = { readonly merchantId: StoredId<'mer'>; readonly id: string };

const freeById = bulkStatement(
  'lock-free-orders',
  {
    name: rowList<IdKey>(
      {
        merchant_id: plainColumn('uuid', (key) => key.merchantId),
        environment: plainColumn('core.environment', (key) => key.environment),
        id: plainColumn('uuid', (key) => key.id),
      },
      { hidesLength: true, ordinal: 'ordinal' },
    ),
  },
  (sql) =>
    lockFreeNamed(
      sql.name,
      'o.merchant_id = name.merchant_id and o.environment = name.environment and o.id = name.id',
    ),
);

const freeByAttempt = bulkStatement(
  'lock-free-orders-of-attempts',
  {
    name: rowList<PartKey>(
      {
        merchant_id: plainColumn('uuid', (key) => key.merchantId),
        id: plainColumn('uuid', (key) => key.id),
      },
      { hidesLength: true, ordinal: 'ordinal' },
    ),
  },
  (sql) =>
    lockFreeNamed(
      `${sql.name} join core.payment_attempts part on part.merchant_id = name.merchant_id and part.id = name.id`,
      'o.merchant_id = part.merchant_id and o.environment = part.environment and o.id = part.order_id',
    ),
);

/** Locks the orders that are free, until the transaction ends. Undefined for the others, and for those that do not exist. */
export const lockFreeOrders = (
  em: EntityManager,
  keys: readonly IdKey[],
): Promise<(OrderRow | undefined)[]> => lockFree(em, freeById, keys);

/** The same for the orders of payment attempts. */
export const lockFreeOrdersOfAttempts = (
  em: EntityManager,
  keys: readonly PartKey[],
): Promise<(OrderRow | undefined)[]> => lockFree(em, freeByAttempt, keys);

const dueStatement: Statement = {
  name: 'lock-due-orders',
  text: lockingFree(
    `${heldOf(`
select 0 as ordinal, o.merchant_id, o.environment, o.id from core.orders o
where o.sweep_at <= least(now(), $4::timestamptz) and o.environment = any($2::core.environment[]) and o.id <> all($3::uuid[]) order by o.sweep_at`)}
limit $1`,
    'o.sweep_at <= now()',
  ),
};

/** Locks orders of these environments whose expiry check is due by the database's clock and at `machineNow`, and that are free. */
export async function lockDueOrders(
  em: EntityManager,
  {
    environments,
    exceptIds,
    machineNow,
    limit,
  }: {
    readonly environments: readonly Environment[];
    readonly exceptIds: readonly StoredId<'ord'>[];
    readonly machineNow: Date;
    readonly limit: number;
  },
): Promise<OrderRow[]> {
  const values = [limit, environments, exceptIds, machineNow];
  const rows = await runInTransaction(em, { ...dueStatement, values });
  return rows.map(({ ordinal: _, ...row }) => em.map(OrderRow, row));
}

async function lockFree<Key>(
  em: EntityManager,
  statement: BulkStatement<{ readonly name: readonly Key[] }>,
  keys: readonly Key[],
): Promise<(OrderRow | undefined)[]> {
  const locked: (OrderRow | undefined)[] = keys.map(() => undefined);
  for (const { ordinal, ...row } of await runInTransaction<{ ordinal: number }>(
    em,
    statement.with({ name: keys }),
  ))
    locked[ordinal] = em.map(OrderRow, row);
  return locked;
}
