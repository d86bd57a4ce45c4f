import { rpcError } from '../../contract/error-reason.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Environment } from '../domain/order.ts';
import type { Database } from './database.ts';

/** Whether new money may move. The gate is closed while a restored database does not know yet what the wallets did. */
export interface PaymentGate {
  readonly isOpen: (environment: Environment) => boolean;
  /** @throws RECOVERING while it is closed */
  readonly requireOpen: (environment: Environment) => void;
  /** Whether wallets have money of lost orders, which must not be charged again. */
  readonly hasUnclaimed: (environment: Environment) => boolean;
  /** False while a restored database is compared with the broker's stream. */
  readonly mayRelay: () => boolean;
  /** Reads the state from the database. A lease reads it in its own transaction, so a late refresh never sends a payment. */
  readonly refresh: () => Promise<void>;
}

const retryAfterMs = 30_000;

/** The refusal of new money while the gate is closed. */
export const recovering = (): Error =>
  rpcError(
    'RECOVERING',
    'the gateway was restored from a backup and is comparing its records with the wallets; send the same request again later',
    { retryAfterMs },
  );

/** A gate is open until its first `refresh`. */
export function createPaymentGate({ pool }: Pick<Database, 'pool'>): PaymentGate {
  const open: Record<Environment, boolean> = { SANDBOX: true, PRODUCTION: true };
  let isCompared = true;
  let unclaimed: readonly string[] = [];
  return {
    isOpen: (environment) => open[environment],
    requireOpen(environment) {
      if (!open[environment]) throw recovering();
    },
    hasUnclaimed: (environment) => unclaimed.includes(environment),
    mayRelay: () => isCompared,
    async refresh() {
      const [row] = await runStatement<{
        sandbox: boolean;
        production: boolean;
        compared: boolean;
        unclaimed: string[];
      }>(pool, {
        text: `
select core.takes_payments('SANDBOX') as sandbox, core.takes_payments('PRODUCTION') as production,
  coalesce((select home = core.database_home() from core.database_life), true)
    and not exists (select from core.recoveries where finished_at is null and stream = 'WAITING') as compared,
  array(
    select distinct environment::text from core.unclaimed_payments
    where claimed_at is null and found_at > now() - interval '30 days'
  ) as unclaimed`,
      });
      if (row === undefined) return;
      open.SANDBOX = row.sandbox;
      open.PRODUCTION = row.production;
      isCompared = row.compared;
      unclaimed = row.unclaimed;
    },
  };
}
