import type { EntityManager } from '@mikro-orm/postgresql';
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
 * call, which also prevents deadlocks. A restored database gives none before its recovery has finished.
 */
const statement = `
select a.merchant_id as "merchantId", a.order_id as "orderId", a.id as "attemptId"
from core.payment_attempts a
join core.orders o on o.merchant_id = a.merchant_id and o.environment = a.environment and o.id = a.order_id
where a.environment = ?::core.environment
  and a.payment_option = any(?::text[])
  and a.due_at <= now()
  and (a.leased_until is null or a.leased_until <= now())
  and a.merchant_id <> all(?::uuid[])
  and (select core.takes_payments(?::core.environment))
order by a.due_at
limit ?
for update of o skip locked`;

export interface DueAttemptFilter {
  readonly environment: Environment;
  readonly paymentOptions: readonly PaymentOption[];
  /** Stored ids. */
  readonly exceptMerchantIds: readonly string[];
  readonly limit: number;
}

export async function lockDueAttempts(em: EntityManager, filter: DueAttemptFilter): Promise<DueAttempt[]> {
  const { environment, paymentOptions, exceptMerchantIds, limit } = filter;
  const values = [environment, listOf(paymentOptions), listOf(exceptMerchantIds), environment, limit];
  return em.execute<DueAttempt[]>(statement, values);
}

/** A PostgreSQL array literal. The elements contain nothing that needs quotes. */
const listOf = (elements: readonly string[]): string => `{${elements.join(',')}}`;
