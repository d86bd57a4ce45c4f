import type { PoolClient } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import { comparedColumns } from './order-differences.ts';
import type { RowValues, StoredOrder } from './order-differences.ts';

const selectedColumns = (columns: Readonly<Record<string, string>>): string =>
  Object.entries(columns)
    .map(([name, column]) =>
      column.endsWith('_at')
        ? `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "${name}"`
        : `coalesce(${column}::text, '') as "${name}"`,
    )
    .join(', ');

interface KeyedRow extends Record<string, string> {
  readonly key: string;
  readonly order: string;
}

/** The rows of an order with more attempts or refunds than fit into memory. Each list is read once, in pages. */
export interface LargeStoredOrder {
  readonly order: RowValues | undefined;
  readonly attempts: AsyncIterable<ReadonlyMap<string, RowValues>>;
  readonly refunds: AsyncIterable<ReadonlyMap<string, RowValues>>;
}

/** The rows of some orders, by stored id. The ids ascend, also from call to call. */
export interface StoredOrders {
  readonly read: (orderIds: readonly string[]) => Promise<(orderId: string) => StoredOrder>;
  readonly readLarge: (orderId: string) => Promise<LargeStoredOrder>;
  readonly close: () => Promise<void>;
}

const pageSize = 500;
const lowestId = '00000000-0000-0000-0000-000000000000';

const keyed = (rows: readonly KeyedRow[] = []): ReadonlyMap<string, RowValues> =>
  new Map(rows.map((row) => [row.key, row]));

/**
 * Reads the rows of one merchant's orders, within a transaction. Most attempts have no index by their order. So PostgreSQL sorts the
 * merchant's attempts once, and each call reads on from where the one before ended.
 */
export async function openStoredOrders(client: PoolClient, merchantId: string): Promise<StoredOrders> {
  await client.query(`
declare audited_attempts no scroll cursor for
select id as key, order_id as "order", ${selectedColumns(comparedColumns.attempt)}
from core.payment_attempts where merchant_id = '${merchantId}' order by order_id`);
  let ahead: readonly KeyedRow[] = [];
  let isOver = false;
  /** Pages of the attempts of the orders from one id to another. Drops those of earlier orders. */
  async function* attemptsBetween(first: string, last: string): AsyncGenerator<readonly KeyedRow[]> {
    while (ahead.length > 0 || !isOver) {
      if (ahead.length === 0) {
        ahead = await runStatement<KeyedRow>(client, { text: `fetch ${pageSize} from audited_attempts` });
        isOver = ahead.length < pageSize;
      }
      const found = ahead.filter(({ order }) => order >= first && order <= last);
      ahead = ahead.filter(({ order }) => order > last);
      yield found;
      if (ahead.length > 0) return;
    }
  }
  const rowsOf = (
    orderIds: readonly string[],
    table: string,
    columns: Readonly<Record<string, string>>,
    orderColumn: string,
  ) =>
    runStatement<KeyedRow>(client, {
      text: `select id as key, ${orderColumn} as "order", ${selectedColumns(columns)} from core.${table}
where merchant_id = $1 and ${orderColumn} = any($2::uuid[])${table === 'orders' ? " and environment in ('SANDBOX', 'PRODUCTION')" : ''}`,
      values: [merchantId, orderIds],
    });
  async function* refundPages(orderId: string): AsyncGenerator<readonly KeyedRow[]> {
    for (let after = lowestId; ;) {
      const rows = await runStatement<KeyedRow>(client, {
        text: `select id as key, order_id as "order", ${selectedColumns(comparedColumns.refund)} from core.refunds r
where merchant_id = $1 and order_id = $2 and r.id > $3 order by r.id limit ${pageSize}`,
        values: [merchantId, orderId, after],
      });
      yield rows;
      if (rows.length < pageSize) return;
      after = rows.at(-1)?.key ?? after;
    }
  }
  return {
    async read(orderIds) {
      const orders = await rowsOf(orderIds, 'orders', comparedColumns.order, 'id');
      const attempts: KeyedRow[] = [];
      for await (const page of attemptsBetween(orderIds.at(0) ?? '', orderIds.at(-1) ?? ''))
        attempts.push(...page);
      const refunds = await rowsOf(orderIds, 'refunds', comparedColumns.refund, 'order_id');
      const orderOf = new Map(orders.map((row) => [row.key, row]));
      const byOrder = (rows: readonly KeyedRow[]) => Map.groupBy(rows, ({ order }) => order);
      const [attemptsOf, refundsOf] = [byOrder(attempts), byOrder(refunds)];
      return (orderId) => ({
        order: orderOf.get(orderId),
        attempts: keyed(attemptsOf.get(orderId)),
        refunds: keyed(refundsOf.get(orderId)),
      });
    },
    async readLarge(orderId) {
      const [order] = await rowsOf([orderId], 'orders', comparedColumns.order, 'id');
      return {
        order,
        attempts: eachKeyed(attemptsBetween(orderId, orderId)),
        refunds: eachKeyed(refundPages(orderId)),
      };
    },
    close: async () => {
      await client.query('close audited_attempts');
    },
  };
}

async function* eachKeyed(
  pages: AsyncIterable<readonly KeyedRow[]>,
): AsyncGenerator<ReadonlyMap<string, RowValues>> {
  for await (const page of pages) yield keyed(page);
}
