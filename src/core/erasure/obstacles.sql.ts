import type { PoolClient } from 'pg';
import type { StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';

/** Why the personal data of an order cannot be erased yet. */
export type Obstacle =
  | 'ORDER_OPEN'
  | 'PAYMENT_OPEN'
  | 'REFUND_OPEN'
  | 'STRAY_PAYMENT_OPEN'
  | 'SETTLEMENT_OPEN'
  | 'NOT_SEALED'
  | 'EVENT_CHANGED'
  | 'BROKER_UNAVAILABLE'
  | 'FAILED'
  /** The order is erased. A second search finds copies that were being written, such as entries of the request log. */
  | 'LATE_COPIES';

export interface AskedOrders {
  readonly merchantId: StoredId<'mer'>;
  readonly orderIds: readonly StoredId<'ord'>[];
  /** The attempts of all of them. */
  readonly attemptIds: readonly StoredId<'pat'>[];
}

/** Every change of an order locks its row first. So after this, nothing of the orders changes until the transaction ends. */
export async function lockOrders(
  client: PoolClient,
  merchantId: StoredId<'mer'>,
  orderIds: readonly StoredId<'ord'>[],
): Promise<void> {
  await runStatement(client, {
    text: `
select from core.orders
where merchant_id = $1 and environment = any(enum_range(null::core.environment)) and id = any($2::uuid[])
order by environment, id for update`,
    values: [merchantId, orderIds],
  });
}

/** Why orders may still change. */
export async function findObstacles(
  client: PoolClient,
  { merchantId, orderIds, attemptIds }: AskedOrders,
): Promise<readonly (readonly [orderId: StoredId<'ord'>, obstacle: Obstacle])[]> {
  const rows = await runStatement<{ order_id: StoredId<'ord'>; obstacle: Obstacle }>(client, {
    text: `
select id as order_id, 'ORDER_OPEN' as obstacle from core.orders
where merchant_id = $1 and environment = any(enum_range(null::core.environment)) and id = any($2::uuid[]) and status = 'PENDING'
union all
select order_id, 'PAYMENT_OPEN' from core.payment_attempts
where merchant_id = $1 and id = any($3::uuid[]) and status in ('REQUESTED', 'SENT', 'UNKNOWN')
union all
select order_id, 'REFUND_OPEN' from core.refunds
where merchant_id = $1 and order_id = any($2::uuid[]) and status in ('AWAITING_APPROVAL', 'REVERSAL_DUE')
union all
select order_id, 'STRAY_PAYMENT_OPEN' from core.stray_payments
where merchant_id = $1 and order_id = any($2::uuid[]) and status = 'REVERSAL_DUE'
union all
select order_id, 'SETTLEMENT_OPEN' from core.settlements
where merchant_id = $1 and order_id = any($2::uuid[]) and status = 'PROPOSED' and expires_at > now()`,
    values: [merchantId, orderIds, attemptIds],
  });
  return rows.map((row) => [row.order_id, row.obstacle]);
}
