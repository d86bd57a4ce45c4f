import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Wallet } from '../domain/wallet.ts';

const byOption = (table: string): string => `
  select environment, regexp_replace(payment_option, '_[a-z]+$', '') as wallet from core.${table} where due_at is not null`;

/** Reads partial indexes of open work. */
const text = `
select distinct wallet || ' ' || lower(environment::text) as wallet
from (
  ${['payment_attempts', 'stray_payments', 'refunds'].map(byOption).join('\n  union all')}
  union all
  select environment, wallet from core.payer_payments where due_at is not null
) open
order by 1`;

/**
 * Logs which wallets have open work and are not in the file of wallets, such as `mpesa production`. No process gets such work, so it would
 * never end.
 */
export async function warnOfWorkWithoutWallet(
  { pool }: { readonly pool: Pool },
  configured: readonly Pick<Wallet, 'id' | 'environments'>[],
  logger: Logger,
): Promise<void> {
  const known = new Set(
    configured.flatMap(({ id, environments }) =>
      environments.map((environment) => `${id} ${environment.toLowerCase()}`),
    ),
  );
  const rows = await runStatement<{ wallet: string }>(pool, { text });
  const missing = rows.flatMap(({ wallet }) => (known.has(wallet) ? [] : [wallet]));
  if (missing.length > 0)
    logger.warn(
      { wallets: missing },
      'payments, refunds or returns wait for wallets that the file of wallets lacks; put these wallets back until nothing waits for them: docs/operating/wallets.md#remove-a-wallet',
    );
}
