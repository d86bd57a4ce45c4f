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

/** The rows of some orders of one merchant, by stored id. */
export async function readStoredOrders(
  client: PoolClient,
  merchantId: string,
  orderIds: readonly string[],
): Promise<(orderId: string) => StoredOrder> {
  const read = (table: string, columns: Readonly<Record<string, string>>, orderColumn: string) =>
    runStatement<KeyedRow>(client, {
      text: `select id as key, ${orderColumn} as "order", ${selectedColumns(columns)} from core.${table}
where merchant_id = $1 and ${orderColumn} = any($2::uuid[])${table === 'orders' ? " and environment in ('SANDBOX', 'PRODUCTION')" : ''}`,
      values: [merchantId, orderIds],
    });
  const orders = await read('orders', comparedColumns.order, 'id');
  const attempts = await read('payment_attempts', comparedColumns.attempt, 'order_id');
  const refunds = await read('refunds', comparedColumns.refund, 'order_id');
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
}
