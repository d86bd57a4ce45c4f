import type { Pool } from 'pg';
import { runStatement } from '../../../platform/database/run-statement.ts';
import type { Environment } from '../../domain/order.ts';
import type { StoredId } from '../../../contract/public-id.ts';

/** The search values over all merchants. An order matches if any of them applies. Stored ids. */
export interface AnywhereFilter {
  readonly orderId: StoredId<'ord'> | undefined;
  readonly orderNumber: string | undefined;
  readonly providerTransactionId: string | undefined;
  /** In E.164 form. */
  readonly phone: string | undefined;
  /** Only orders with a lower id. */
  readonly belowId: StoredId<'ord'> | undefined;
}

export interface FoundAnywhere {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  readonly id: StoredId<'ord'>;
}

/** The limit of attempts per phone. Beyond it, the phone's newest payments and the orders that name it are searched. */
const maxAttempts = 10_000;

/**
 * Returns up to `limit` orders, newest first. Indexes of orders begin with the merchant, so each merchant's index is
 * searched. That costs a few steps per merchant and reads only matching orders (docs/adr/0021).
 */
export async function findOrdersAnywhere(
  pool: Pool,
  { orderId, orderNumber, providerTransactionId, phone, belowId }: AnywhereFilter,
  limit: number,
): Promise<FoundAnywhere[]> {
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const below = (column: string): string => (belowId === undefined ? '' : `and ${column} < ${bind(belowId)}`);
  // The inner limit keeps the planner to one index lookup per merchant.
  const ofEachMerchant = (condition: string): string => `
select found.* from core.merchants m
cross join unnest(enum_range(null::core.environment)) as e (environment)
cross join lateral (
  select o.merchant_id, o.environment, o.id from core.orders o
  where o.merchant_id = m.id and o.environment = e.environment and ${condition} ${below('o.id')}
  order by o.id desc limit ${limit}
) found`;
  const ofTransaction = (table: string, number: string): string => `
select merchant_id, environment, order_id from core.${table}
where environment = any(enum_range(null::core.environment)) and provider_transaction_id = ${number}
  and order_id is not null ${below('order_id')}`;
  const ways = [
    ...(orderId === undefined ? [] : [ofEachMerchant(`o.id = ${bind(orderId)}`)]),
    ...(orderNumber === undefined ? [] : [ofEachMerchant(`o.order_number = ${bind(orderNumber)}`)]),
    ...(providerTransactionId === undefined
      ? []
      : ['payment_attempts', 'stray_payments'].map((table) =>
          ofTransaction(table, bind(providerTransactionId)),
        )),
    ...(phone === undefined
      ? []
      : [
          ofEachMerchant(`o.customer_phone_e164 = ${bind(phone)} and o.customer_phone_e164 <> ''`),
          `
select merchant_id, environment, order_id from (
  select * from core.payment_attempts where phone = ${bind(phone)} order by created_at desc limit ${maxAttempts}
) asked
where true ${below('order_id')}`,
        ]),
  ];
  if (ways.length === 0) return [];
  const rows = await runStatement<{
    merchant_id: StoredId<'mer'>;
    environment: Environment;
    id: StoredId<'ord'>;
  }>(pool, {
    text: `
select merchant_id, environment, id from (${ways.map((way) => `(${way})`).join(' union ')}) found (merchant_id, environment, id)
order by id desc, merchant_id limit ${limit}`,
    values,
  });
  return rows.map(({ merchant_id: merchantId, environment, id }) => ({ merchantId, environment, id }));
}
