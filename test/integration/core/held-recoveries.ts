import { storedId } from '../../support/ids.ts';
import { holdLocks, queryOnce } from '../../support/database-connections.ts';
import { sql } from '../../support/sql.ts';

/** Keeps all cores from beginning a recovery, and from carrying one on. Returns how to let them. */
export const holdRecoveries = (databaseUrl: string) =>
  holdLocks(databaseUrl, 'select pg_advisory_xact_lock(7142006)');

/** Begins a recovery of the sandbox, which holds these merchants, or all of them if it is closed. */
export const beginRecovery = (
  databaseUrl: string,
  { merchantIds = [], isClosed = false }: { merchantIds?: readonly string[]; isClosed?: boolean },
) =>
  queryOnce(
    databaseUrl,
    sql`with recovery as (
        insert into core.recoveries (id, cause, lost_from, lost_until, stream, closed)
        values (gen_random_uuid(), 'OPERATOR', now(), now(), 'COMPLETE', ${isClosed ? ['SANDBOX'] : []}) returning id
      )
      insert into core.recovery_holds (recovery_id, environment, merchant_id)
      select id, 'SANDBOX', unnest(${merchantIds.map((id) => storedId('mer', id))}::uuid[]) from recovery`,
  );

export const endRecoveries = (databaseUrl: string) =>
  queryOnce(databaseUrl, 'update core.recoveries set finished_at = now() where finished_at is null');

/** The database was restored on another server. */
export const restoreDatabase = (databaseUrl: string) =>
  queryOnce(databaseUrl, "update core.database_life set home = 'another server'");

/** The database is again the one that core knows. */
export const returnDatabase = (databaseUrl: string) =>
  queryOnce(databaseUrl, 'update core.database_life set home = core.database_home()');
