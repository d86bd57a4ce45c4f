import type { Pool } from 'pg';
import type { StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';

const rowsAtOnce = 10_000;

/**
 * Deletes the entries of a reconciliation that is not reading a statement, in short transactions. Another reading that begins meanwhile
 * keeps its entries, because a statement sees them only together with its lease.
 */
export async function deleteEntries(pool: Pool, reconciliationId: StoredId<'rec'>): Promise<void> {
  for (let deleted = rowsAtOnce; deleted === rowsAtOnce;) {
    const rows = await runStatement(pool, {
      text: `
delete from core.statement_entries
where reconciliation_id = $1 and position in (
  select position from core.statement_entries
  where reconciliation_id = $1 and exists (select from core.reconciliations where id = $1 and status <> 'RUNNING')
  order by position limit ${rowsAtOnce} for update skip locked
)
returning 1`,
      values: [reconciliationId],
    });
    deleted = rows.length;
  }
}

/** Deletes the entries that a core left behind when it exited after a comparison. */
export async function deleteLeftEntries(pool: Pool): Promise<void> {
  // Steps through the index from one reconciliation to the next. Few have entries.
  const left = await runStatement<{ id: StoredId<'rec'> }>(pool, {
    text: `
with recursive reading(id) as (
  (select reconciliation_id from core.statement_entries order by 1 limit 1)
  union all
  select (
    select e.reconciliation_id from core.statement_entries e where e.reconciliation_id > reading.id order by 1 limit 1
  )
  from reading where reading.id is not null
)
select id from reading join core.reconciliations using (id) where status <> 'RUNNING'`,
    values: [],
  });
  for (const { id } of left) await deleteEntries(pool, id);
}
