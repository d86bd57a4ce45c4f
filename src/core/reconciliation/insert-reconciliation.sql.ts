import { optionsOfWallet } from '../../contract/payment-option.ts';
import type { Database } from '../database/database.ts';
import { bulkStatement, column, rowList, scalar } from '../../platform/database/bulk-statement.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Environment, PaymentOption } from '../domain/order.ts';
import { beginRun } from '../domain/reconciliation-run.ts';
import { statementName } from './statement-key.ts';
import type { StatementKey } from './statement-key.ts';

export interface DayToReconcile {
  /** The stored id of the new reconciliation. */
  readonly id: string;
  /** As 2026-01-31, UTC. */
  readonly date: string;
}

export interface NewReconciliations {
  readonly days: readonly DayToReconcile[];
  readonly key: StatementKey;
  readonly scheduled: boolean;
  readonly startedBy: string;
  readonly at: Date;
}

const statement = bulkStatement(
  'insert-reconciliations',
  {
    day: rowList<DayToReconcile>({
      id: column('uuid', ({ id }) => id),
      date: column('date', ({ date }) => date),
    }),
    statement: scalar<string>('text'),
    wallet: scalar<string>('text'),
    payee: scalar<string>('text'),
    environment: scalar<Environment>('core.environment'),
    scheduled: scalar<boolean>('boolean'),
    started_by: scalar<string>('text'),
    at: scalar<Date>('timestamptz'),
    options: scalar<readonly PaymentOption[]>('text[]'),
    updated_at: scalar<Date>('timestamptz'),
    due_at: scalar<Date>('timestamptz'),
    status: scalar<string>('core.reconciliation_status'),
    tries: scalar<number>('integer'),
    entries: scalar<number>('integer'),
    other_entries: scalar<number>('integer'),
    differences: scalar<number>('integer'),
    detail: scalar<string>('text'),
  },
  (sql) => `
insert into core.reconciliations
  (id, wallet, environment, day, scheduled, started_by, created_at, updated_at, due_at,
   status, tries, entries, other_entries, differences, detail)
select day.id, ${sql.statement}, ${sql.environment}, day.date, ${sql.scheduled}, ${sql.started_by}, ${sql.at},
  ${sql.updated_at}, ${sql.due_at}, ${sql.status}, ${sql.tries}, ${sql.entries}, ${sql.other_entries},
  ${sql.differences}, ${sql.detail}
from ${sql.day}
where not ${sql.scheduled}
  or ${sql.payee} <> '' and exists (
    select from core.payee_accounts p
    join core.payment_attempts a on a.merchant_id = p.merchant_id and a.wallet_account_id = p.wallet_account_id
    where p.environment = ${sql.environment} and p.wallet = ${sql.wallet} and p.payee = ${sql.payee}
      and a.created_at < (day.date + 1)::timestamp at time zone 'UTC'
  )
  or ${sql.payee} = '' and exists (
    select from core.payment_attempts
    where environment = ${sql.environment} and payment_option = any(${sql.options})
      and status = 'SUCCEEDED' and updated_at < (day.date + 1)::timestamp at time zone 'UTC'
  )
  or ${sql.payee} = '' and exists (
    select from core.stray_payments
    where environment = ${sql.environment} and payment_option = any(${sql.options})
      and created_at < (day.date + 1)::timestamp at time zone 'UTC'
  )
on conflict do nothing returning id`,
);

/**
 * Creates a due reconciliation of each day, unless one of that day is under way. A scheduled one is also skipped if the day has one
 * already, or if there was no payment before the day's end. For a merchant's own account, a payment attempt counts even if it failed. Returns how
 * many were created.
 */
export async function insertReconciliations(database: Database, made: NewReconciliations): Promise<number> {
  const { days, key, scheduled, startedBy, at } = made;
  const { wallet, environment, payee } = key;
  const run = beginRun(at);
  const rows = await runStatement(
    database.pool,
    statement.with({
      day: days,
      statement: statementName(key),
      wallet,
      payee,
      environment,
      scheduled,
      started_by: startedBy,
      at,
      options: optionsOfWallet(wallet),
      updated_at: run.updatedAt,
      due_at: run.dueAt,
      status: run.status,
      tries: run.tries,
      entries: run.entries,
      other_entries: run.otherEntries,
      differences: run.differences,
      detail: run.detail,
    }),
  );
  return rows.length;
}
