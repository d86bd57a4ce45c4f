import type { Pool } from 'pg';
import type { Environment } from '../domain/order.ts';

/**
 * Whether a row is due for these payment options. `wallets` asks several times a second, and mostly nothing is due. This one
 * statement then replaces a transaction of five.
 */
export async function isWorkDue(
  pool: Pool,
  table: 'refunds' | 'stray_payments',
  environment: Environment,
  paymentOptions: readonly string[],
): Promise<boolean> {
  const { rows } = await pool.query<{ due: boolean }>(
    `select exists (
       select from core.${table}
       where environment = $1::core.environment and payment_option = any($2::text[]) and due_at <= now()
     ) as due`,
    [environment, paymentOptions],
  );
  return rows[0]?.due === true;
}
