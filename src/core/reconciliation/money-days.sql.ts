import type { EntityManager } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { ReconciliationRow } from '../database/reconciliation-entities.ts';
import type { Environment } from '../domain/order.ts';
import { decimalOf } from './money-balance.ts';
import type { MoneyDay } from './money-balance.ts';

const sums = ['statement_in', 'statement_out', 'completed', 'strays', 'reversals', 'refunds'] as const;
const columns = sums.join(', ');
const sumsOf = (table: string): string => sums.map((sum) => `coalesce(${table}.${sum}, 0)`).join(', ');
const balances = `jsonb_to_recordset(?::jsonb) n(merchant_id uuid, currency text, ${sums.map((sum) => `${sum} numeric`).join(', ')})`;

/**
 * Replaces the balances of a reconciliation's statement and day. If an earlier reconciliation after the end of the day gave other sums,
 * these stay as a correction. A merchant without money in the new comparison then has a balance of zeros, which shows the correction.
 */
export async function writeMoneyDays(
  em: EntityManager,
  { id, environment, wallet, day }: Pick<ReconciliationRow, 'id' | 'environment' | 'wallet' | 'day'>,
  days: readonly MoneyDay[],
): Promise<void> {
  const rows = JSON.stringify(
    days.map((each) => ({
      merchant_id: each.merchantId,
      currency: each.currency,
      statement_in: decimalOf(each.sums.statementIn),
      statement_out: decimalOf(each.sums.statementOut),
      completed: decimalOf(each.sums.completed),
      strays: decimalOf(each.sums.strays),
      reversals: decimalOf(each.sums.reversals),
      refunds: decimalOf(each.sums.refunds),
    })),
  );
  const ofDay = 'environment = ?::core.environment and wallet = ? and day = ?::date';
  const dayKey = [environment, wallet, day];
  await em.execute(
    `insert into core.money_day_corrections
  (environment, wallet, day, merchant_id, currency, reconciliation_id, corrected_at, ${columns})
select ?::core.environment, ?, ?::date, merchant_id, currency, ?::uuid, now(), ${sumsOf('b')}
from (select * from core.money_days where ${ofDay}) b full join ${balances} using (merchant_id, currency)
where (${sumsOf('b')}) <> (${sumsOf('n')}) and exists (
  select from core.reconciliations
  where ${ofDay} and id <> ?::uuid and status = 'COMPLETED' and created_at >= (day + 1)::timestamp at time zone 'UTC'
)`,
    [...dayKey, id, ...dayKey, rows, ...dayKey, id],
  );
  await em.execute(`delete from core.money_days where ${ofDay}`, dayKey);
  await em.execute(
    `insert into core.money_days
  (environment, wallet, day, reconciliation_id, merchant_id, currency, ${columns})
select ?::core.environment, ?, ?::date, ?::uuid, merchant_id, currency, ${sumsOf('n')}
from (select distinct merchant_id, currency from core.money_day_corrections where ${ofDay}) c
full join ${balances} using (merchant_id, currency)`,
    [...dayKey, id, ...dayKey, rows],
  );
}

export interface MoneyDayFilter {
  readonly wallet: string | undefined;
  readonly environment: Environment | undefined;
  readonly merchantId: StoredId<'mer'> | undefined;
  readonly date: string | undefined;
  readonly onlyDifferent: boolean;
  readonly onlyCorrected: boolean;
  /** The last balance of the page before; undefined for the first page. */
  readonly after: MoneyDayKey | undefined;
  readonly limit: number;
}

/** The key of a balance. */
export type MoneyDayKey = Pick<StoredMoneyDay, 'day' | 'environment' | 'wallet' | 'merchant_id' | 'currency'>;

/** Decimal text. */
export type StoredSums = Readonly<Record<(typeof sums)[number] | 'difference', string>>;

export interface StoredMoneyDay extends StoredSums {
  readonly environment: Environment;
  /** The stored name of the statement. */
  readonly wallet: string;
  readonly day: string;
  readonly merchant_id: StoredId<'mer'>;
  readonly currency: string;
  readonly reconciliation_id: StoredId<'rec'>;
  /** Newest first. */
  readonly corrections: readonly StoredCorrection[];
}

/** The sums before a correction, and the reconciliation that corrected them. */
export interface StoredCorrection extends StoredSums {
  readonly reconciliation_id: StoredId<'rec'>;
  /** In milliseconds since 1970. */
  readonly corrected_at: number;
}

const textsOf = (table: string): string =>
  [...sums, 'difference'].map((sum) => `trim_scale(${table}.${sum})::text as ${sum}`).join(', ');

const ofBalance = ['environment', 'wallet', 'day', 'merchant_id', 'currency']
  .map((column) => `c.${column} = m.${column}`)
  .join(' and ');

/** Newest day first. */
export const readMoneyDays = (pool: Pool, filter: MoneyDayFilter): Promise<StoredMoneyDay[]> =>
  runStatement<StoredMoneyDay>(pool, {
    text: `
select m.environment, m.wallet, m.day::text as day, m.merchant_id, m.currency, m.reconciliation_id, ${textsOf('m')},
  coalesce((
    select jsonb_agg(c order by c.corrected_at desc) from (
      select c.reconciliation_id, (extract(epoch from c.corrected_at) * 1000)::bigint as corrected_at, ${textsOf('c')}
      from core.money_day_corrections c
      where ${ofBalance}
    ) c
  ), '[]') as corrections
from core.money_days m
where ($1::text is null or split_part(m.wallet, '/', 1) = $1) and ($2::core.environment is null or m.environment = $2)
  and ($3::uuid is null or m.merchant_id = $3) and ($4::date is null or m.day = $4)
  and (not $5::boolean or m.difference <> 0)
  and (not $12::boolean or exists (select from core.money_day_corrections c where ${ofBalance}))
  and ($7::date is null or m.day <= $7)
  and ($7::date is null or m.day < $7
    or m.day = $7 and (m.environment, m.wallet, m.merchant_id, m.currency) > ($8::core.environment, $9::text, $10::uuid, $11::text))
order by m.day desc, m.environment, m.wallet, m.merchant_id, m.currency
limit $6`,
    values: [
      filter.wallet ?? null,
      filter.environment ?? null,
      filter.merchantId ?? null,
      filter.date ?? null,
      filter.onlyDifferent,
      filter.limit,
      filter.after?.day ?? null,
      filter.after?.environment ?? null,
      filter.after?.wallet ?? null,
      filter.after?.merchant_id ?? null,
      filter.after?.currency ?? null,
      filter.onlyCorrected,
    ],
  });

/** How many balances of ended days in the last 30 do not add up, by environment and wallet, own accounts included. */
export const countUnbalanced = (
  pool: Pool,
): Promise<{ environment: Environment; wallet: string; count: number }[]> =>
  runStatement(pool, {
    text: `
select environment, split_part(wallet, '/', 1) as wallet, count(*)::integer as count from core.money_days
where difference <> 0 and day < (now() at time zone 'UTC')::date and day >= (now() at time zone 'UTC')::date - 30
group by 1, 2`,
  });
