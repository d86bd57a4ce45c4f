import type { EntityManager } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import { noMerchantId, storedId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { ReconciliationRow } from '../database/entities.ts';
import type { Environment } from '../domain/order.ts';
import { decimalOf } from './money-balance.ts';
import type { MoneyDay } from './money-balance.ts';

/** Replaces the balance of a reconciliation's wallet and day. */
export async function writeMoneyDays(
  em: EntityManager,
  { id, environment, wallet, day }: Pick<ReconciliationRow, 'id' | 'environment' | 'wallet' | 'day'>,
  days: readonly MoneyDay[],
): Promise<void> {
  await em.execute(
    'delete from core.money_days where environment = ?::core.environment and wallet = ? and day = ?::date',
    [environment, wallet, day],
  );
  const rows = days.map(({ merchantId, currency, sums }) => ({
    merchant_id: merchantId ?? storedId('mer', noMerchantId),
    currency,
    statement_in: decimalOf(sums.statementIn),
    statement_out: decimalOf(sums.statementOut),
    completed: decimalOf(sums.completed),
    strays: decimalOf(sums.strays),
    reversals: decimalOf(sums.reversals),
    refunds: decimalOf(sums.refunds),
  }));
  await em.execute(
    `insert into core.money_days
  (environment, wallet, day, reconciliation_id, merchant_id, currency, statement_in, statement_out, completed, strays, reversals, refunds)
select ?::core.environment, ?, ?::date, ?::uuid, r.*
from jsonb_to_recordset(?::jsonb) r(merchant_id uuid, currency text, statement_in numeric, statement_out numeric,
  completed numeric, strays numeric, reversals numeric, refunds numeric)`,
    [environment, wallet, day, id, JSON.stringify(rows)],
  );
}

export interface MoneyDayFilter {
  readonly wallet: string | undefined;
  readonly environment: Environment | undefined;
  readonly merchantId: StoredId<'mer'> | undefined;
  readonly date: string | undefined;
  readonly onlyDifferent: boolean;
  /** The last balance of the page before; undefined for the first page. */
  readonly after: MoneyDayKey | undefined;
  readonly limit: number;
}

/** The key of a balance. */
export type MoneyDayKey = Pick<StoredMoneyDay, 'day' | 'environment' | 'wallet' | 'merchant_id' | 'currency'>;

/** A balance. Amounts are decimal text. */
export interface StoredMoneyDay {
  readonly environment: Environment;
  readonly wallet: string;
  readonly day: string;
  readonly merchant_id: StoredId<'mer'>;
  readonly currency: string;
  readonly reconciliation_id: StoredId<'rec'>;
  readonly statement_in: string;
  readonly statement_out: string;
  readonly completed: string;
  readonly strays: string;
  readonly reversals: string;
  readonly refunds: string;
  readonly difference: string;
}

/** Newest day first. */
export const readMoneyDays = (pool: Pool, filter: MoneyDayFilter): Promise<StoredMoneyDay[]> =>
  runStatement<StoredMoneyDay>(pool, {
    text: `
select m.environment, m.wallet, m.day::text as day, m.merchant_id, m.currency, m.reconciliation_id,
  trim_scale(m.statement_in)::text as statement_in, trim_scale(m.statement_out)::text as statement_out,
  trim_scale(m.completed)::text as completed, trim_scale(m.strays)::text as strays,
  trim_scale(m.reversals)::text as reversals, trim_scale(m.refunds)::text as refunds,
  trim_scale(m.difference)::text as difference
from core.money_days m
where ($1::text is null or m.wallet = $1) and ($2::core.environment is null or m.environment = $2)
  and ($3::uuid is null or m.merchant_id = $3) and ($4::date is null or m.day = $4)
  and (not $5::boolean or m.difference <> 0)
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
    ],
  });

/** How many balances of ended days in the last 30 do not add up, by environment and wallet. */
export const countUnbalanced = (
  pool: Pool,
): Promise<{ environment: Environment; wallet: string; count: number }[]> =>
  runStatement(pool, {
    text: `
select environment, wallet, count(*)::integer as count from core.money_days
where difference <> 0 and day < (now() at time zone 'UTC')::date and day >= (now() at time zone 'UTC')::date - 30
group by environment, wallet`,
  });
