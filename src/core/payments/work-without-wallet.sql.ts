import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Environment } from '../domain/order.ts';
import type { Wallet } from '../domain/wallet.ts';

const byOption = (table: string): string => `
  select environment, regexp_replace(payment_option, '_[a-z]+$', '') as wallet from core.${table} where due_at is not null`;

/** Reads partial indexes of open work. */
const text = `
select distinct wallet, environment
from (
  ${['payment_attempts', 'stray_payments', 'refunds'].map(byOption).join('\n  union all')}
  union all
  select environment, wallet from core.payer_payments where due_at is not null
) open
order by wallet, environment`;

export type WalletEnvironments = Pick<Wallet, 'id' | 'environments'>;

export interface MissingWallet {
  readonly wallet: string;
  readonly environment: Environment;
}

/** The wallets with open work that are not in the file of wallets. No process gets such work, so it would never end. */
export async function walletsMissing(
  pool: Pool,
  configured: readonly WalletEnvironments[],
): Promise<readonly MissingWallet[]> {
  const rows = await runStatement<MissingWallet>(pool, { text });
  return rows.filter(
    ({ wallet, environment }) =>
      !configured.some(({ id, environments }) => id === wallet && environments.includes(environment)),
  );
}

/** Logs these wallets, such as `mpesa production`. */
export async function warnOfWorkWithoutWallet(
  { pool }: { readonly pool: Pool },
  configured: readonly WalletEnvironments[],
  logger: Logger,
): Promise<void> {
  const missing = await walletsMissing(pool, configured);
  if (missing.length > 0)
    logger.warn(
      { wallets: missing.map(({ wallet, environment }) => `${wallet} ${environment.toLowerCase()}`) },
      'payments, refunds or reversals wait for wallets that the file of wallets lacks; put these wallets back until nothing waits for them: docs/operating/wallets.md#remove-a-wallet',
    );
}
