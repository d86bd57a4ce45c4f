import type { Database } from '../database/database.ts';
import { storedId } from '../../contract/public-id.ts';
import type { NewId } from '../../contract/public-id.ts';
import { reachedTime } from '../../platform/database/retention-start.ts';
import type { TwoClocks } from '../../platform/database/retention-start.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { statementTermsOf } from '../domain/wallet.ts';
import type { Wallet } from '../domain/wallet.ts';
import { insertReconciliations } from './insert-reconciliation.sql.ts';
import { readStatements } from './payee-accounts.sql.ts';
import { dateOf, dayOf, isInReach, settleMs } from './reconciliation-day.ts';
import { statementName } from './statement-key.ts';
import type { StatementKey } from './statement-key.ts';

/** The pause before a day is compared again after its comparison failed. */
const repeatFailedMs = 60 * 60_000;
const dayMs = 24 * 60 * 60_000;
const maxDays = 7;

export interface ScheduleParts extends TwoClocks {
  readonly database: Database;
  readonly wallets: readonly Wallet[];
  readonly newId: NewId;
  /** Called when a reconciliation became due. */
  readonly onDue: () => void;
}

/**
 * Starts the missing reconciliations of the last seven days, for every environment of each wallet with a statement, and for
 * merchants' own accounts at it. Yesterday's starts an hour after midnight, UTC. A reconciliation fails if no try could read the
 * statement. Another one follows an hour later, until the day is compared, a week old, or out of the statement's reach. A day
 * that is compared before its end would stay without its later payments, so both clocks must have ended it. Several cores
 * may run this concurrently. Returns the number of reconciliations that it started.
 */
export async function scheduleReconciliations(parts: ScheduleParts): Promise<number> {
  const { database, wallets, newId, onDue } = parts;
  const at = reachedTime(parts);
  let started = 0;
  for (const key of await readStatements(database.pool, wallets)) {
    const inserted = (dates: readonly string[], scheduled: boolean): Promise<number> => {
      const days = dates.map((date) => ({ id: storedId('rec', newId('rec', at)), date }));
      return insertReconciliations(database, { days, key, scheduled, startedBy: 'core', at });
    };
    started += await inserted(weekBefore(at), true);
    const { reachMs } = statementTermsOf(wallets, key.wallet);
    const failed = (await failedDays(database, key, at)).filter((date) =>
      isInReach(dayOf(date), at, reachMs),
    );
    if (failed.length > 0) started += await inserted(failed, false);
  }
  if (started > 0) onDue();
  return started;
}

/** The last days whose statement is complete, the oldest first. */
const weekBefore = (at: Date): string[] =>
  Array.from({ length: maxDays }, (_, index) =>
    dateOf(new Date(at.getTime() - settleMs - (maxDays - index) * dayMs)),
  );

/** The ended days of the last week whose latest comparison failed some time ago. */
async function failedDays({ pool }: Database, key: StatementKey, at: Date): Promise<string[]> {
  const rows = await runStatement<{ day: string }>(pool, {
    text: `
select latest.day::text as day from (
  select distinct on (r.day) r.day, r.status, r.updated_at from core.reconciliations r
  where r.environment = $1::core.environment and r.wallet = $2 and r.day >= $3::date and r.day <= $4::date
  order by r.day, r.id desc
) latest
where latest.status = 'FAILED' and latest.updated_at <= $5
order by latest.day`,
    values: [
      key.environment,
      statementName(key),
      dateOf(new Date(at.getTime() - settleMs - maxDays * dayMs)),
      dateOf(new Date(at.getTime() - settleMs - dayMs)),
      new Date(at.getTime() - repeatFailedMs),
    ],
  });
  return rows.map(({ day }) => day);
}
