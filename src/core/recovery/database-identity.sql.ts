import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';

/** The row of core.database_life, with the recorded location of the database (column `home`) and the current one. */
export interface DatabaseIdentity {
  /** The id that the events of this database carry in the stream. A copy of the database has the same lineage. */
  readonly lineage: string;
  /** The ids of server, timeline, database and table when a core last used the database. */
  readonly recordedLocation: string;
  /** The current ids. They differ from `recordedLocation` after a restore. */
  readonly location: string;
  /** When a core last used it, by the database's clock. */
  readonly seenAt: Date;
  /** Whether a recovery has not finished. */
  readonly isRecovering: boolean;
  /** Whether that recovery has read the stream, so that the database has the stream's events up to then. */
  readonly hasReadStream: boolean;
  /** The time of the database's clock. */
  readonly now: Date;
}

/** Writes the first row of a new database. Several cores may do so at once. Returns whether this one did. */
export async function addDatabaseIdentity(pool: Pool, lineage: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `insert into core.database_life (lineage, home, seen_at) values ($1, core.database_home(), now())
     on conflict do nothing`,
    [lineage],
  );
  return rowCount === 1;
}

/**
 * Writes the row into a restored database whose backup has none: release 0.1.0 did not write it. The recorded location is not a server, so
 * core begins a recovery, as after every restore.
 */
export async function recordBackup(pool: Pool, lineage: string, takenAt: string): Promise<void> {
  await pool.query("insert into core.database_life (lineage, home, seen_at) values ($1, 'a backup', $2)", [
    lineage,
    takenAt,
  ]);
}

/** Moves the recorded last use of a restored database to the time of its backup, if it is later. The clock may have been ahead before the backup. */
export async function limitLastUse(client: Pick<Pool, 'query'>, takenAt: string): Promise<void> {
  await client.query('update core.database_life set seen_at = least(seen_at, $1::timestamptz)', [takenAt]);
}

/** @throws when `addDatabaseIdentity` has not run */
export async function readDatabaseIdentity(pool: Pool): Promise<DatabaseIdentity> {
  const [row] = await runStatement<{
    lineage: string;
    recorded_location: string;
    location: string;
    seen_at: Date;
    recovering: boolean;
    read: boolean;
    now: Date;
  }>(pool, {
    text: `
select lineage::text as lineage, home as recorded_location, core.database_home() as location, seen_at, now() as now,
  exists (select from core.recoveries where finished_at is null) as recovering,
  exists (select from core.recoveries where finished_at is null and stream_until is not null) as read
from core.database_life`,
  });
  if (row === undefined) throw new Error('core.database_life has no row');
  return {
    lineage: row.lineage,
    recordedLocation: row.recorded_location,
    location: row.location,
    seenAt: new Date(row.seen_at),
    isRecovering: row.recovering,
    hasReadStream: row.read,
    now: new Date(row.now),
  };
}

/** Records that a core uses the database now. A restored database keeps the time of its backup until its recovery begins. */
export async function recordDatabaseUse(pool: Pool): Promise<void> {
  await pool.query('update core.database_life set seen_at = now() where home = core.database_home()');
}
