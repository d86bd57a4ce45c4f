import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Logger } from '../../platform/logger.ts';

/** The work of the wallets processes, with the column that counts its leases. */
const works = [
  { table: 'payment_attempts', key: ['merchant_id', 'id'], leases: 'leases' },
  { table: 'refunds', key: ['merchant_id', 'id'], leases: 'tries' },
  { table: 'stray_payments', key: ['merchant_id', 'id'], leases: 'tries' },
  { table: 'payer_payments', key: ['id'], leases: 'tries' },
] as const;

/** The longest wait is an hour, and the longest lease five minutes. These are a little longer, because clocks differ. */
const longestWait = "interval '66 minutes'";
const longestLease = "interval '6 minutes'";
const tolerance = "interval '1 minute'";
/** A worker ends its work under a lease in this time, so no second one begins meanwhile. */
const leaseLeft = "interval '1 minute'";
const rowsAtOnce = 500;

const statementOf = ({ table, key, leases }: (typeof works)[number]): string => `
with ahead as (
  select ${key.join(', ')} from core.${table}
  where due_at is not null and (
    due_at > now() + ${longestWait}
    or leased_until > now() + ${longestLease}
    or ${leases} = 0 and due_at > now() and created_at > now() + ${tolerance}
  )
  limit ${rowsAtOnce} for update skip locked
)
update core.${table} t
set due_at = least(t.due_at, case when t.leased_until is null then now() else now() + ${leaseLeft} end),
    leased_until = case when t.leased_until is not null then least(t.leased_until, now() + ${leaseLeft}) end
from ahead where ${key.map((column) => `t.${column} = ahead.${column}`).join(' and ')}
returning 1`;

const statements = works.map((work) => ({ table: work.table, text: statementOf(work) }));

/**
 * Corrects due times and leases that were stored while the database's clock was ahead. The work would wait until that wrong time. Only rows
 * with a time that no right clock stores are written, and each of them once. Several cores may do this at once.
 */
export async function correctDueTimes(
  { pool, logger }: { readonly pool: Pool; readonly logger: Logger },
  stop: AbortSignal,
): Promise<void> {
  for (const { table, text } of statements) {
    let count = 0;
    for (let corrected = rowsAtOnce; corrected === rowsAtOnce && !stop.aborted;) {
      corrected = (await runStatement(pool, { text, values: [] })).length;
      count += corrected;
    }
    if (count > 0)
      logger.warn(
        { table, count },
        "the database's clock was ahead, so work at the wallets would have waited too long. Its times are corrected",
      );
  }
}
