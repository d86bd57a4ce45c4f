import type { Pool } from 'pg';
import type { PublicId } from '../../contract/public-id.ts';
import type { Environment, PaymentOption } from '../domain/order.ts';

/** Which due rows `wallets` leases. */
export interface LeaseRequest {
  readonly environment: Environment;
  readonly paymentOptions: readonly PaymentOption[];
  /** Merchants whose rows are left out. */
  readonly exceptMerchantIds: readonly PublicId<'mer'>[];
  readonly limit: number;
  readonly leaseMs: number;
}

/** Work that `wallets` leases. */
export interface LeasedRows<Item> {
  readonly items: readonly Item[];
  /** The time until the next row of these payment options is due, unless one is added or hastened; undefined when some are due now. */
  readonly nothingDueForMs?: number;
}

/** The longest answer. A caller asks again after it, so it finds an added row even if no signal arrives. */
const longestMs = 2_000;

/**
 * Leases due rows of these payment options. `wallets` asks several times a second, and usually nothing is due. Then one statement answers,
 * and no transaction is needed.
 */
export async function leaseWhenDue<Item>(
  pool: Pool,
  table: 'payment_attempts' | 'refunds' | 'stray_payments',
  { environment, paymentOptions }: Pick<LeaseRequest, 'environment' | 'paymentOptions'>,
  lease: () => Promise<readonly Item[]>,
): Promise<LeasedRows<Item>> {
  const nothingDueForMs = await untilNextDue(pool, table, environment, paymentOptions);
  return nothingDueForMs > 0 ? { items: [], nothingDueForMs } : { items: await lease() };
}

/** The first due row of each option is the first in the index of due rows. */
async function untilNextDue(
  pool: Pool,
  table: string,
  environment: Environment,
  paymentOptions: readonly string[],
): Promise<number> {
  const { rows } = await pool.query<{ until_due_ms: number | null }>(
    `select ceil(extract(epoch from min(first.due_at) - now()) * 1000)::float8 as until_due_ms
     from unnest($2::text[]) option(name)
     cross join lateral (
       select due_at from core.${table}
       where environment = $1::core.environment and payment_option = option.name and due_at is not null
       order by due_at limit 1
     ) first`,
    [environment, paymentOptions],
  );
  return Math.min(rows[0]?.until_due_ms ?? longestMs, longestMs);
}
