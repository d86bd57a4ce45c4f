import { bulkStatement, column, rowList, scalar } from '../../platform/database/bulk-statement.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Database } from '../database/database.ts';
import type { Environment } from '../domain/order.ts';

/** One process's report of one wallet. `payload` is a binary WalletStatus. */
export interface WalletReport {
  readonly environment: Environment;
  readonly wallet: string;
  readonly payload: Uint8Array;
}

export interface StoredWalletReport extends WalletReport {
  readonly instance: string;
  readonly reportedAt: Date;
  readonly windowMs: number;
}

export interface WalletStatusStore {
  /** Replaces the earlier reports of the process. */
  readonly replace: (instance: string, windowMs: number, reports: readonly WalletReport[]) => Promise<void>;
  /** By environment and wallet, then by process. */
  readonly list: (environment: Environment | undefined) => Promise<StoredWalletReport[]>;
}

/** A process that was silent for this long does not return under its name. */
const forgottenAfter = '1 day';
/** The same once another process reports the wallet, so that restarts leave no long list of exited processes. */
const replacedAfter = '15 minutes';

/** One statement, which also deletes the process's reports of wallets that it no longer uses, and those of exited processes. */
const replacement = bulkStatement(
  undefined,
  {
    instance: scalar<string>('text'),
    reported_at: scalar<Date>('timestamptz'),
    window_ms: scalar<number>('integer'),
    report: rowList<WalletReport>({
      environment: column('core.environment', ({ environment }) => environment),
      wallet: column('text', ({ wallet }) => wallet),
      payload: column('bytea', ({ payload }) => Buffer.from(payload)),
    }),
  },
  (sql) => `
with said as (
  insert into core.wallet_statuses (instance, reported_at, window_ms, environment, wallet, payload)
  select ${sql.instance}, ${sql.reported_at}, ${sql.window_ms}, environment, wallet, payload from ${sql.report}
  on conflict (environment, wallet, instance)
    do update set reported_at = excluded.reported_at, window_ms = excluded.window_ms, payload = excluded.payload
  returning environment, wallet
)
delete from core.wallet_statuses known
where known.reported_at < ${sql.reported_at} - interval '${forgottenAfter}'
  or known.reported_at < ${sql.reported_at} - interval '${replacedAfter}'
    and (known.environment, known.wallet) in (select environment, wallet from said)
  or known.instance = ${sql.instance} and (known.environment, known.wallet) not in (select environment, wallet from said)`,
);

const listing = `
select environment, wallet, instance, reported_at as "reportedAt", window_ms as "windowMs", payload
from core.wallet_statuses
where ($1::core.environment is null or environment = $1) and reported_at > $2::timestamptz - interval '${forgottenAfter}'
order by environment, wallet, instance`;

export function createWalletStatusStore({
  database,
  now,
}: {
  readonly database: Pick<Database, 'pool'>;
  readonly now: () => Date;
}): WalletStatusStore {
  return {
    async replace(instance, windowMs, reports) {
      await runStatement(
        database.pool,
        replacement.with({ instance, reported_at: now(), window_ms: windowMs, report: reports }),
      );
    },
    list: (environment) =>
      runStatement<StoredWalletReport>(database.pool, {
        text: listing,
        values: [environment ?? null, now()],
      }),
  };
}
