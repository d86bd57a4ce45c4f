import type { Database } from '../database/database.ts';
import type { WalletName } from '../database/entities.ts';
import { runStatement } from '../../runtime/database/run-statement.ts';
import type { Environment } from '../domain/order.ts';
import { optionsOf } from './wallet-options.ts';

export interface NewReconciliation {
  /** As it is stored. */
  readonly id: string;
  readonly wallet: WalletName;
  readonly environment: Environment;
  /** As 2026-01-31, UTC. */
  readonly date: string;
  readonly scheduled: boolean;
  readonly startedBy: string;
  readonly at: Date;
}

const statement = `
insert into core.reconciliations
  (id, wallet, environment, day, scheduled, started_by, created_at, updated_at, due_at,
   status, tries, entries, other_entries, differences, detail)
select $1, $2::core.wallet, $3::core.environment, $4::date, $5::boolean, $6, $7, $7, $7, 'WAITING', 0, 0, 0, 0, ''
where not $5::boolean
  or exists (
    select from core.payment_attempts
    where environment = $3::core.environment and payment_option = any($8::core.payment_option[])
      and status = 'SUCCEEDED' and updated_at < ($4::date + 1)::timestamp at time zone 'UTC'
  )
  or exists (
    select from core.stray_payments
    where environment = $3::core.environment and payment_option = any($8::core.payment_option[])
      and created_at < ($4::date + 1)::timestamp at time zone 'UTC'
  )
on conflict do nothing returning id`;

/**
 * Makes a reconciliation that is due, unless one of that day is under way; a scheduled one also not when there was one
 * already, or when nothing had ever been paid by then. Gives whether it did.
 */
export async function insertReconciliation(database: Database, made: NewReconciliation): Promise<boolean> {
  const { id, wallet, environment, date, scheduled, startedBy, at } = made;
  const rows = await runStatement(database.pool, {
    name: 'insert-reconciliation',
    text: statement,
    values: [id, wallet, environment, date, scheduled, startedBy, at, optionsOf(wallet)],
  });
  return rows.length > 0;
}
