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

export interface StoredOrders {
  /** The rows of some orders, by stored id. The ids ascend, also from call to call. */
  readonly read: (orderIds: readonly string[]) => Promise<(orderId: string) => StoredOrder>;
  readonly close: () => Promise<void>;
}

const pageSize = 500;

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
  const attemptsUntil = async (orderId: string): Promise<readonly KeyedRow[]> => {
    const found = [...ahead];
    while (!isOver && (found.at(-1)?.order ?? '') <= orderId) {
      const rows = await runStatement<KeyedRow>(client, { text: `fetch ${pageSize} from audited_attempts` });
      found.push(...rows);
      isOver = rows.length < pageSize;
    }
    ahead = found.filter(({ order }) => order > orderId);
    return found.filter(({ order }) => order <= orderId);
  };
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
  return {
    async read(orderIds) {
      const orders = await rowsOf(orderIds, 'orders', comparedColumns.order, 'id');
      const attempts = await attemptsUntil(orderIds.at(-1) ?? '');
      const refunds = await rowsOf(orderIds, 'refunds', comparedColumns.refund, 'order_id');
      const orderOf = new Map(orders.map((row) => [row.key, row]));
      const byOrder = (rows: readonly KeyedRow[]) => Map.groupBy(rows, ({ order }) => order);
      const [attemptsOf, refundsOf] = [byOrder(attempts), byOrder(refunds)];
      const keyed = (rows: readonly KeyedRow[] = []): ReadonlyMap<string, RowValues> =>
        new Map(rows.map((row) => [row.key, row]));
      return (orderId) => ({
        order: orderOf.get(orderId),
        attempts: keyed(attemptsOf.get(orderId)),
        refunds: keyed(refundsOf.get(orderId)),
      });
    },
    close: async () => {
      await client.query('close audited_attempts');
    },
  };
}
