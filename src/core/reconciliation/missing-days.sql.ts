import type { Pool } from 'pg';
import { optionsOfWallet } from '../../contract/payment-option.ts';
import type { StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Environment } from '../domain/order.ts';
import type { Wallet } from '../domain/wallet.ts';
import { readOwnPayees, strayDays } from './payee-accounts.sql.ts';
import { dateOf, settleMs } from './reconciliation-day.ts';
import { statementName } from './statement-key.ts';

/** An ended day with money that no statement was compared with. */
export interface MissingDay {
  readonly environment: Environment;
  readonly wallet: string;
  /** The name of a merchant's own payee account; empty for the operator's. */
  readonly payee: string;
  readonly day: string;
  /** Whether Gatehouse can read statements of the wallet. */
  readonly has_statement: boolean;
  /** Whether the credentials of the own account were removed. */
  readonly is_removed: boolean;
  /** The latest comparison of the day; null before the first. */
  readonly reconciliation_id: StoredId<'rec'> | null;
  readonly status: 'WAITING' | 'RUNNING' | 'COMPLETED' | 'FAILED' | null;
  /** Why its last try to read the statement failed; null or empty without a failure. */
  readonly detail: string | null;
}

export interface MissingDayFilter {
  readonly wallet: string | undefined;
  readonly environment: Environment | undefined;
  readonly merchantId: StoredId<'mer'> | undefined;
  /** Only this day; by default the last 30 days. */
  readonly date: string | undefined;
}

const days = 30;
const dayMs = 24 * 60 * 60_000;

/*
 * A balance of a running day is provisional. So a day has a balance only after a comparison that began when the day was over. A day that could not be compared
 * is listed even without a payment, because it may have refunds.
 */
const statement = `
-- Read once. For each account and day, all stray payments of that day would be read.
with stray_days as materialized (
  ${strayDays} and ($6::uuid is null or s.merchant_id = $6)
    and s.environment = any($1::core.environment[]) and s.payment_option = any($10::text[])
    and s.created_at >= $4::date::timestamp at time zone 'UTC' and s.created_at < ($5::date + 1)::timestamp at time zone 'UTC'
)
select d.environment, d.wallet, d.payee, d.day::text as day, d.has_statement, d.is_removed,
  latest.id as reconciliation_id, latest.status, latest.detail
from (
  select a.environment, a.wallet, a.payee, a.statement, a.has_statement, a.is_removed, day::date as day
  from unnest($1::core.environment[], $2::text[], $3::boolean[], $7::text[], $8::text[], $9::boolean[])
    a(environment, wallet, has_statement, payee, statement, is_removed)
  cross join generate_series($4::date::timestamp, $5::date::timestamp, interval '1 day') day
) d
cross join lateral (
  select d.day::timestamp at time zone 'UTC' as began_at, (d.day + 1)::timestamp at time zone 'UTC' as ended_at,
    array[d.wallet || '_ussd', d.wallet || '_wallet'] as options
) of_day
left join lateral (
  select r.id, r.status, r.detail from core.reconciliations r
  where r.environment = d.environment and r.wallet = d.statement and r.day = d.day
  order by r.id desc limit 1
) latest on true
where not exists (
  select from core.reconciliations r
  where r.environment = d.environment and r.wallet = d.statement and r.day = d.day and r.status = 'COMPLETED'
    and r.created_at >= of_day.ended_at
) and (
  latest.status = 'FAILED' and $6::uuid is null
  or d.payee = '' and exists (
    select from core.payment_attempts a
    where a.environment = d.environment and a.payment_option = any(of_day.options) and a.status = 'SUCCEEDED'
      and a.updated_at >= of_day.began_at and a.updated_at < of_day.ended_at
      and (a.wallet_account_id is null or a.wallet_account_id in (select wallet_account_id from core.payee_accounts where payee = ''))
      and ($6::uuid is null or a.merchant_id = $6)
  )
  or d.payee <> '' and exists (
    select from core.payee_accounts p
    join core.payment_attempts a on a.merchant_id = p.merchant_id and a.wallet_account_id = p.wallet_account_id
    where p.environment = d.environment and p.wallet = d.wallet and p.payee = d.payee and a.status = 'SUCCEEDED'
      and a.environment = d.environment and a.payment_option = any(of_day.options)
      and a.updated_at >= of_day.began_at and a.updated_at < of_day.ended_at
      and ($6::uuid is null or a.merchant_id = $6)
  )
  or case
    when exists (select from core.payee_accounts p where p.environment = d.environment and p.wallet = d.wallet and p.payee <> '')
    then (d.environment, d.wallet, d.payee, d.day) in (select environment, wallet, payee, day from stray_days)
    -- Without accounts of merchants, every stray payment is the operator's, and one of a day is enough.
    else exists (
      select from core.stray_payments s
      where s.environment = d.environment and s.payment_option = any(of_day.options)
        and s.created_at >= of_day.began_at and s.created_at < of_day.ended_at and ($6::uuid is null or s.merchant_id = $6)
    )
  end
)
order by d.day desc, d.environment, d.wallet, d.payee`;

/** The days that ended an hour or more ago and have no final balance, newest first. */
export async function readMissingDays(
  pool: Pool,
  wallets: readonly Wallet[],
  { wallet, environment, merchantId, date }: MissingDayFilter,
  now: Date,
): Promise<MissingDay[]> {
  const ownPayees = await readOwnPayees(pool);
  const asked = wallets
    .filter(({ id }) => wallet === undefined || id === wallet)
    .flatMap(({ id, environments, reconcile }) =>
      environments
        .filter((each) => environment === undefined || each === environment)
        .flatMap((each) => [
          { environment: each, wallet: id, reconcile, payee: '', is_removed: false },
          ...ownPayees
            .filter((payee) => payee.wallet === id && payee.environment === each)
            .map((payee) => ({ ...payee, reconcile })),
        ]),
    );
  const last = dateOf(new Date(now.getTime() - settleMs - dayMs));
  const first = dateOf(new Date(now.getTime() - settleMs - days * dayMs));
  return runStatement<MissingDay>(pool, {
    text: statement,
    values: [
      asked.map((each) => each.environment),
      asked.map((each) => each.wallet),
      asked.map(({ reconcile }) => reconcile),
      date ?? first,
      // A day that has not ended has no final balance to miss. Then the series is empty.
      date === undefined || date > last ? last : date,
      merchantId ?? null,
      asked.map(({ payee }) => payee),
      asked.map(statementName),
      asked.map((each) => each.is_removed),
      asked.flatMap((each) => optionsOfWallet(each.wallet)),
    ],
  });
}
