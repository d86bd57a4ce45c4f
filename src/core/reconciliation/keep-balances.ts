import { optionsOfWallet } from '../../contract/payment-option.ts';
import { storedId } from '../../contract/public-id.ts';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { reachedTime } from '../../platform/database/retention-start.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { insertReconciliations } from './insert-reconciliation.sql.ts';
import { readStatements, strayDays } from './payee-accounts.sql.ts';
import { statementName } from './statement-key.ts';
import type { StatementKey } from './statement-key.ts';
import { statementTermsOf } from '../domain/wallet.ts';
import { dateOf, dayOf, isInReach } from './reconciliation-day.ts';
import type { ScheduleParts } from './schedule-reconciliations.ts';

export interface BalanceParts extends ScheduleParts {
  /** The minutes between two comparisons of the running day. 0: never, and ended days are not compared again either. */
  readonly balanceMinutes: number;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** The time between two comparisons of an ended day. */
const repeatMs = { unbalanced: dayMs, balanced: 3 * dayMs };
/** Older days are left to operators. */
const repeatDays = 7;

/** The author of a run in the list of reconciliations. */
const startedBy = 'core';

/**
 * Compares the running day of every statement at intervals. Compares the days of the last week again, because wallets correct their
 * statements and add entries late. It leaves out days to which the statement no longer reaches back. A run replaces earlier runs of its day
 * that core started for this purpose. Several cores may call it at once. Returns the number of started runs.
 */
export async function keepBalances(parts: BalanceParts): Promise<number> {
  const { database, wallets, newId, onDue, balanceMinutes } = parts;
  if (balanceMinutes === 0) return 0;
  await forgetReplaced(parts);
  const at = reachedTime(parts);
  let started = 0;
  const hasStrays = await readStrayPayees(parts, at);
  for (const key of await readStatements(database.pool, wallets))
    for (const date of await datesToCompare(parts, key, at, hasStrays(key))) {
      // A comparison that fails would take the place of the one that was made in time.
      if (!isInReach(dayOf(date), at, statementTermsOf(wallets, key.wallet).reachMs)) continue;
      const days = [{ id: storedId('rec', newId('rec', at)), date }];
      started += await insertReconciliations(database, { days, key, scheduled: false, startedBy, at });
    }
  if (started > 0) onDue();
  return started;
}

const hasMoney = `
  exists (
    select from core.payment_attempts where environment = $1::core.environment and payment_option = any($7::text[])
      and status = 'SUCCEEDED' and updated_at >= $4 and updated_at <= $5
  ) or exists (
    select from core.stray_payments where environment = $1::core.environment and payment_option = any($7::text[])
      and created_at >= $4 and created_at <= $5
  )`;
const hasOwnMoney = `
  $11::boolean or exists (
    select from core.payee_accounts p
    join core.payment_attempts a on a.merchant_id = p.merchant_id and a.wallet_account_id = p.wallet_account_id
    where p.environment = $1::core.environment and p.wallet = $9 and p.payee = $10
      and a.environment = $1::core.environment and a.payment_option = any($7::text[])
      and a.status = 'SUCCEEDED' and a.updated_at >= $4 and a.updated_at <= $5
  )`;

/** Which payee accounts had a stray payment today, at least an interval ago. Read once, because a query for one account reads those of all. */
async function readStrayPayees(
  { database, wallets, balanceMinutes }: BalanceParts,
  at: Date,
): Promise<(key: StatementKey) => boolean> {
  const rows = await runStatement<StatementKey>(database.pool, {
    text: `${strayDays} and s.environment = any(enum_range(null::core.environment)) and s.payment_option = any($1::text[])
  and s.created_at >= $2 and s.created_at <= $3`,
    values: [
      wallets.filter(({ reconcile }) => reconcile).flatMap(({ id }) => optionsOfWallet(id)),
      dayOf(dateOf(at)).from,
      new Date(at.getTime() - balanceMinutes * minuteMs),
    ],
  });
  const nameOf = (key: StatementKey): string => `${key.environment} ${statementName(key)}`;
  const names = new Set(rows.map(nameOf));
  return (key) => names.has(nameOf(key));
}

/** The running day, if it has had money for an interval, and ended days whose latest comparison is old. */
async function datesToCompare(
  { database, balanceMinutes }: BalanceParts,
  key: StatementKey,
  at: Date,
  hasStrays: boolean,
): Promise<string[]> {
  const { wallet, environment, payee } = key;
  const today = dateOf(at);
  const rows = await runStatement<{ date: string }>(database.pool, {
    text: `
select $3::date::text as date
where (${payee === '' ? hasMoney : hasOwnMoney}) and not exists (
  select from core.reconciliations
  where environment = $1::core.environment and wallet = $2 and day = $3::date and created_at > $5
)
union all
select ended.day::text from (
  select m.day, bool_or(m.difference <> 0) as differs from core.money_days m
  where m.environment = $1::core.environment and m.wallet = $2 and m.day < $3::date and m.day >= $3::date - ${repeatDays}
  group by m.day
) ended
where not exists (
  select from core.reconciliations r
  where r.environment = $1::core.environment and r.wallet = $2 and r.day = ended.day
    and r.created_at > case when ended.differs then $6::timestamptz else $8::timestamptz end
)`,
    values: [
      environment,
      statementName(key),
      today,
      dayOf(today).from,
      new Date(at.getTime() - balanceMinutes * minuteMs),
      new Date(at.getTime() - repeatMs.unbalanced),
      optionsOfWallet(wallet),
      new Date(at.getTime() - repeatMs.balanced),
      ...(payee === '' ? [] : [wallet, payee, hasStrays]),
    ],
  });
  return rows.map(({ date }) => date);
}

/**
 * Removes runs that a later completed run of the same day has replaced. Those of operators, the nightly one, and those that corrected
 * a balance stay.
 */
async function forgetReplaced({ database }: BalanceParts): Promise<void> {
  await inTransaction(database.pool, ["set local lock_timeout = '2s'"], async (client) => {
    const replaced = await runStatement<{ id: string }>(client, {
      text: `
select r.id from core.reconciliations r
where not r.scheduled and r.started_by = $1 and r.status in ('COMPLETED', 'FAILED')
  and exists (
    select from core.reconciliations later
    where later.environment = r.environment and later.wallet = r.wallet and later.day = r.day
      and later.id > r.id and later.status = 'COMPLETED'
  )
  and not exists (select from core.money_day_corrections c where c.reconciliation_id = r.id)
  and not exists (select from core.statement_entries e where e.reconciliation_id = r.id)
order by r.id limit 100 for update skip locked`,
      values: [startedBy],
    });
    const ids = [replaced.map(({ id }) => id)];
    await runStatement(client, {
      text: 'delete from core.reconciliation_differences where reconciliation_id = any($1::uuid[])',
      values: ids,
    });
    await runStatement(client, {
      text: 'delete from core.reconciliations where id = any($1::uuid[])',
      values: ids,
    });
  });
}
