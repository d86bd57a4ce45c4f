import type { EntityManager } from '@mikro-orm/postgresql';
import { runInTransaction } from '../../../platform/database/transaction-statement.ts';
import type { Environment, PaymentOption } from '../../domain/order.ts';
import type { StoredId } from '../../../contract/public-id.ts';

/** Stored ids of a due attempt and its order, whose row this transaction has locked. */
export interface DueAttempt {
  readonly merchantId: StoredId<'mer'>;
  readonly orderId: StoredId<'ord'>;
  readonly attemptId: StoredId<'pat'>;
}

/**
 * Locks the orders of due attempts without a lease. Orders locked by other transactions are skipped until the next
 * call, which also prevents deadlocks. A restored database gives none of a closed environment, or of a held merchant. All advisory
 * locks are taken before the first row is locked: lock-order.sql.ts gives the reason.
 */
const text = `
with held as materialized (
  select array_agg(c.merchant_id) as merchants, array_agg(c.order_id) as orders, array_agg(c.id) as ids
  from (
    select * from (
      select a.merchant_id, a.order_id, a.id
      from core.payment_attempts a
      where a.environment = $1::core.environment
        and a.payment_option = any($2::text[])
        and a.due_at <= now()
        and (a.leased_until is null or a.leased_until <= now())
        and a.merchant_id <> all($3::uuid[])
        and a.order_id <> all($4::uuid[])
        and (select core.takes_payments($1::core.environment))
        and a.merchant_id <> all((select core.held_merchants($1::core.environment))::uuid[])
      order by a.due_at
      offset 0
    ) due
    where pg_try_advisory_xact_lock(hashtextextended(due.order_id::text, 0))
    limit $5
  ) c
)
select t.merchant_id as "merchantId", t.order_id as "orderId", t.id as "attemptId"
from held cross join lateral unnest(held.merchants, held.orders, held.ids) t (merchant_id, order_id, id)
join core.orders o on o.merchant_id = t.merchant_id and o.environment = $1::core.environment and o.id = t.order_id
for update of o skip locked`;

export interface DueAttemptFilter {
  readonly environment: Environment;
  readonly paymentOptions: readonly PaymentOption[];
  /** Stored ids. */
  readonly exceptMerchantIds: readonly string[];
  readonly exceptOrderIds: readonly string[];
  readonly limit: number;
}

/**
 * At most one attempt of each order, because a transaction changes an order once. A second one, such as an ended attempt about
 * which the wallet has called back, stays due for the next call.
 */
export async function lockDueAttempts(em: EntityManager, filter: DueAttemptFilter): Promise<DueAttempt[]> {
  const { environment, paymentOptions, exceptMerchantIds, exceptOrderIds, limit } = filter;
  const values = [environment, paymentOptions, exceptMerchantIds, exceptOrderIds, limit];
  const due = await runInTransaction<DueAttempt>(em, { name: 'lock-due-attempts', text, values });
  const orders = new Set<DueAttempt['orderId']>();
  return due.filter(({ orderId }) => orders.size < orders.add(orderId).size);
}
