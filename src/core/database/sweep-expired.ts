import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';

/** A table of rows with an end. */
export interface ExpiringTable {
  readonly table: string;
  /** The column with the end of a row. */
  readonly end: string;
}

const batch = 1_000;

// Several cores may run this concurrently. Each takes rows that no other has locked.
const sweepText = ({ table, end }: ExpiringTable): string => `
delete from core.${table} where ctid = any (array(
  select ctid from core.${table} where ${end} < now() order by ${end} limit ${batch} for update skip locked
))
returning 1`;

/** Removes expired rows, in batches, until none is left or `stop` aborts. Returns their number. */
export async function sweepExpired(
  pool: Pool,
  tables: readonly ExpiringTable[],
  stop: Pick<AbortSignal, 'aborted'>,
): Promise<number> {
  let swept = 0;
  for (const each of tables) {
    let found = batch;
    while (found === batch && !stop.aborted) {
      found = (await runStatement(pool, { text: sweepText(each) })).length;
      swept += found;
    }
  }
  return swept;
}
