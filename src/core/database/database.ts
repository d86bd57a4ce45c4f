import { Migrator } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { Logger } from '../../runtime/logger.ts';
import { entities } from './entities.ts';
import { Migration001Core } from './migrations/migration-001-core.ts';
import { Migration002Payments } from './migrations/migration-002-payments.ts';
import { Migration003Reconciliation } from './migrations/migration-003-reconciliation.ts';
import { allowSilence, closeSilentConnections } from './silent-connections.ts';

export interface DatabaseOptions {
  readonly url: string;
  readonly poolSize: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly logger: Logger;
}

/** The core's database. Close it when done. */
export interface Database {
  /** A unit of work of its own: one per request, never shared, thrown away after a failed flush. */
  readonly fork: () => EntityManager;
  /** The same connections without the ORM, for the few statements that are SQL. */
  readonly pool: Pool;
  /** Brings the schema up to date. Safe from several processes at once: one migrates, the others wait for it. */
  readonly migrate: () => Promise<void>;
  /** Names of migrations this build has and the database has not. */
  readonly pendingMigrations: () => Promise<string[]>;
  readonly close: () => Promise<void>;
}

/** Any number that no other user of the database's advisory locks takes; held while migrating. */
const migrationLock = 7_142_001;

/** No statement of the core is meant to take this long; one that does must not hold a connection for ever. */
const statementTimeoutMs = 10_000;

/** A connection that does not even say that a statement took too long is dead. */
const silenceMs = 15_000;

export async function openDatabase({
  url,
  poolSize,
  applicationName,
  logger,
}: DatabaseOptions): Promise<Database> {
  const orm = await MikroORM.init({
    clientUrl: url,
    entities,
    extensions: [Migrator],
    pool: { min: 1, max: poolSize },
    driverOptions: {
      application_name: applicationName,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: statementTimeoutMs,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      onPoolCreated: (created: Pool) => closeSilentConnections(created, silenceMs),
    },
    migrations: {
      migrationsList: [Migration001Core, Migration002Payments, Migration003Reconciliation],
      schema: 'core',
      tableName: 'migrations',
      snapshot: false,
    },
    logger: (message) => logger.debug({ message }, 'orm'),
    ensureDatabase: false,
  });
  const connection = orm.em.getConnection();
  await connection.connect();
  const pool = await connection.getNativeClient();
  return {
    fork: () => orm.em.fork({ clear: true }),
    pool,
    migrate: () => migrate(orm, pool),
    pendingMigrations: async () => (await orm.migrator.getPending()).map(({ name }) => name),
    close: () => orm.close(true),
  };
}

async function migrate(orm: MikroORM, pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    // Waiting for another core to finish may take longer than any statement of ours should, and so may our own turn.
    allowSilence(client);
    await client.query('set statement_timeout = 0');
    await client.query('select pg_advisory_lock($1)', [migrationLock]);
    await client.query('create schema if not exists core');
    await orm.migrator.up();
  } finally {
    // Ends the session, and with it the lock and the setting.
    client.release(true);
  }
}
