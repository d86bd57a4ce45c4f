import { setTimeout as delay } from 'node:timers/promises';
import { Migrator } from '@mikro-orm/migrations';
import type { Migration } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import type { EntityManager, EntitySchema } from '@mikro-orm/postgresql';
import type { ClientBase, CustomTypesConfig, Pool } from 'pg';
import type { Logger } from '../logger.ts';
import { SettingsError } from '../settings/read-settings.ts';
import type { CertificateFiles } from '../tls/certificate-files.ts';
import { rememberServerCertificate } from '../tls/server-certificate.ts';
import type { ServerCertificate } from '../tls/server-certificate.ts';
import { withAdvisoryLock } from './advisory-lock.ts';
import { askNewConnection } from './ask-new-connection.ts';
import { databaseTls } from './database-tls.ts';
import { takeBackEnded } from './ended-connections.ts';
import { groupTransactions } from './grouped-transactions.ts';
import type { OrmConnection } from './grouped-transactions.ts';
import { watchPool } from './pool-watch.ts';
import type { PoolWatch } from './pool-watch.ts';
import { closeReadOnlyConnections } from './read-only-connections.ts';
import { requireVersion } from './server-version.ts';
import { sessionOptions, withoutTimeLimits } from './session-options.ts';
import { areSessionsShared, sharedSessionsRefusal } from './shared-sessions.ts';
import { closeSilentConnections } from './silent-connections.ts';

export interface DatabaseOptions {
  readonly url: string;
  readonly poolSize: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** The files that count unless the URL names others. */
  readonly tls?: CertificateFiles | undefined;
  readonly logger: Logger;
}

/** The tables of a process, all in its own schema. */
export interface DatabaseSchema {
  readonly schema: string;
  readonly entities: readonly EntitySchema[];
  readonly migrations: readonly (new (...args: ConstructorParameters<typeof Migration>) => Migration)[];
  /** The advisory lock for migrations: a number that no other user of the database uses. */
  readonly migrationLock: number;
}

/** A process's database. Close it when done. */
export interface Database {
  /** A separate unit of work: one per request, never shared, discarded after a failed flush. */
  readonly fork: () => EntityManager;
  /** The same connections without the ORM, for statements in SQL. */
  readonly pool: Pool;
  /** The state of the pool, and whether it provides connections. */
  readonly poolWatch: Pick<PoolWatch, 'state' | 'isServing'>;
  /** The server's certificate. */
  readonly certificate: ServerCertificate;
  /**
   * Runs the pending migrations, up to the named one if there is a name, each in a transaction of its own. After an error, those before
   * the failed one remain. Several processes may call it at once: one migrates, and the others wait and say so in their logs.
   * @throws SettingsError on a server that is too old, and behind a pooler that shares sessions, without a change of the database
   */
  readonly migrate: (last?: string) => Promise<void>;
  /** Names of this version's migrations that have not run on the database. */
  readonly pendingMigrations: () => Promise<string[]>;
  readonly close: () => Promise<void>;
}

/** No statement of ours should take this long. The limit keeps a statement from holding a connection for ever. */
const statementTimeoutMs = 10_000;

/** A connection that does not even report a statement timeout is lost. */
const silenceMs = 15_000;

/** The server ends the sessions of a migration whose process does not use them for this time, because its machine may be lost. */
const lostAfterMs = 60_000;
/** A migration's statements may take any time. But nothing may hold its locks for long between two of them. */
const limitsOfMigration = `${withoutTimeLimits}; set idle_in_transaction_session_timeout = ${lostAfterMs}`;
const lockRetryMs = 1_000;
const triesPerLine = 60;

/** Opens the database of a process. It runs no migrations. @throws SettingsError for TLS settings in the URL that cannot be used */
export async function openSchema(own: DatabaseSchema, options: DatabaseOptions): Promise<Database> {
  const { url, poolSize, applicationName, tls, logger } = options;
  const { ssl, stop: stopTls } = databaseTls(url, tls, logger, () => new Date());
  const expiryMs = ssl === undefined ? () => undefined : rememberServerCertificate(ssl);
  const shared = {
    clientUrl: url,
    extensions: [Migrator],
    migrations: {
      migrationsList: [...own.migrations],
      schema: own.schema,
      tableName: 'migrations',
      snapshot: false,
      // Each migration commits on its own, so no lock of one is held during the others.
      allOrNothing: false,
    },
    logger: (message: string) => logger.debug({ message }, 'orm'),
    ensureDatabase: false,
  };
  const driverOptions = {
    application_name: applicationName,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  };
  const prepare = (created: Pool): void => {
    // Not in `driverOptions`: the ORM copies these, with the certificates of that moment.
    if (ssl !== undefined) created.options.ssl = ssl;
    takeBackEnded(created);
    closeReadOnlyConnections(created);
  };
  let types: CustomTypesConfig | undefined;
  const group = groupTransactions(() => types);
  const orm = await MikroORM.init({
    ...shared,
    entities: [...own.entities],
    onReserveConnection: (connection) => group(connection as OrmConnection),
    pool: { min: 1, max: poolSize },
    driverOptions: {
      ...driverOptions,
      options: sessionOptions(url),
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: statementTimeoutMs,
      onPoolCreated: (created: Pool) => {
        prepare(created);
        closeSilentConnections(created, silenceMs);
        types = created.options.types;
      },
    },
  });
  // A migration may take longer than other statements, so it has connections without their limits.
  const openForMigration = async (): Promise<MikroORM> =>
    MikroORM.init({
      ...shared,
      entities: [],
      discovery: { warnWhenNoEntities: false },
      pool: { min: 0, max: 2 },
      driverOptions: {
        ...driverOptions,
        options: sessionOptions(url),
        onPoolCreated: (created: Pool) => {
          prepare(created);
          // A statement sets the limits, because a pooler may ignore options, and the role may have limits. The pool waits for it, although
          // its type does not say so.
          Object.assign(created.options, {
            onConnect: (client: ClientBase) => client.query(limitsOfMigration),
          });
        },
      },
    });
  const connection = orm.em.getConnection();
  await connection.connect();
  const pool = await connection.getNativeClient();
  const poolWatch = watchPool(pool, { logger, nowMs: () => performance.now() });
  return {
    fork: () => orm.em.fork({ clear: true }),
    pool,
    poolWatch,
    certificate: {
      expiryMs,
      readAgain: async () => {
        await askNewConnection(pool, () => Promise.resolve()).catch(() => undefined);
      },
    },
    migrate: (last) => {
      const names = own.migrations.map((Migration) => new Migration(orm.driver, orm.config).name);
      return migrateSchema({ openForMigration, pool, own, names, logger }, last);
    },
    pendingMigrations: async () => {
      await adoptDatabaseName(orm, pool);
      return (await orm.migrator.getPending()).map(({ name }) => name);
    },
    close: async () => {
      poolWatch.stop();
      stopTls();
      await orm.close(true);
      // The ORM leaves the pool open if it made no statement itself.
      if (!pool.ending) await pool.end();
    },
  };
}

interface MigrateParts {
  readonly openForMigration: () => Promise<MikroORM>;
  readonly pool: Pool;
  readonly own: DatabaseSchema;
  readonly names: readonly (string | undefined)[];
  readonly logger: Logger;
}

async function migrateSchema(
  { openForMigration, pool, own, names, logger }: MigrateParts,
  last: string | undefined,
): Promise<void> {
  await requireVersion(pool);
  if (await areSessionsShared(pool)) throw new SettingsError(sharedSessionsRefusal);
  if (await haveAllRun(pool, own.schema, names)) return;
  const orm = await openForMigration();
  let running: string | undefined;
  orm.migrator.on('migrating', ({ name }) => void (running = name));
  orm.migrator.on('migrated', () => void (running = undefined));
  try {
    await adoptDatabaseName(orm, pool);
    await withMigrationLock(pool, own, logger, async () => {
      await pool.query(`create schema if not exists ${own.schema}`);
      await orm.migrator.up(last === undefined ? undefined : { to: last });
    });
  } catch (error) {
    if (running === undefined) throw error;
    throw new Error(`the migration ${running} of the schema ${own.schema} failed, and changed nothing`, {
      cause: error,
    });
  } finally {
    await orm.close(true);
  }
}

/**
 * Whether all migrations have run. Two statements tell, and the ORM's migrator needs a connection and a slow search of the catalog. A
 * database that is read-only, such as a standby, is left to the migrator, whose error makes the start wait.
 */
async function haveAllRun(
  pool: Pool,
  schema: string,
  names: readonly (string | undefined)[],
): Promise<boolean> {
  const table = `${schema}.migrations`;
  const { rows: found } = await pool.query(
    "select 1 where to_regclass($1) is not null and current_setting('transaction_read_only') = 'off'",
    [table],
  );
  if (found.length === 0) return false;
  const { rows } = await pool.query<{ name: string }>(`select name from ${table}`);
  const executed = new Set<string | undefined>(rows.map(({ name }) => name));
  return names.every((name) => executed.has(name));
}

/** Runs the migrations while no other process migrates the schema. */
async function withMigrationLock(
  pool: Pool,
  { schema, migrationLock: key }: DatabaseSchema,
  logger: Logger,
  work: () => Promise<void>,
): Promise<void> {
  const lock = { key, silenceMs: lostAfterMs, keepAliveMs: lostAfterMs / 6 };
  // Each try returns at once. If a session waited for the lock, the server would keep it after its process had ended.
  for (let tries = 0; !(await withAdvisoryLock(pool, lock, work)); tries += 1) {
    if (tries % triesPerLine === 0)
      logger.warn(
        { schema, holder: await holderOf(pool, key) },
        'another process migrates the database, and this one waits; if that process has stopped responding, end it',
      );
    await delay(lockRetryMs);
  }
}

/** The name of the process whose session holds the lock, and the id of that session. */
async function holderOf(pool: Pool, key: number): Promise<object | undefined> {
  const { rows } = await pool.query<object>(
    `select pid, application_name as name from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and classid = 0 and objid = $1 and objsubid = 1 and granted
       and database = (select oid from pg_database where datname = current_database())`,
    [key],
  );
  return rows[0];
}

/**
 * The ORM's migrator looks for a database with the name in the URL. If the server has none, it ends the pool and creates one. A pooler may
 * have a name of its own for the database, so the migrator gets the server's.
 */
async function adoptDatabaseName(orm: MikroORM, pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string }>('select current_database() as name');
  orm.config.set('dbName', rows[0]?.name);
}
