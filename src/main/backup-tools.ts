import { randomUUID } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { openDatabase as openCoreDatabase } from '../core/database/database.ts';
import type { Database } from '../core/database/database.ts';
import { adoptEvents } from '../core/recovery/adopt-events.sql.ts';
import { limitLastUse, recordBackup } from '../core/recovery/database-identity.sql.ts';
import type { BackupTools, DatabaseUrls } from '../cli/backup-commands.ts';
import { createLogger } from '../platform/logger.ts';
import { withAdvice } from '../platform/database/snapshot/advise.ts';
import { SnapshotError, verifySnapshot } from '../platform/database/snapshot/manifest.ts';
import type { Manifest } from '../platform/database/snapshot/manifest.ts';
import type { SnapshotDatabase } from '../platform/database/snapshot/connect-snapshot.ts';
import type { CertificateFiles } from '../platform/tls/certificate-files.ts';
import { loadSnapshot, requireEmpty } from '../platform/database/snapshot/load-snapshot.ts';
import { writeSnapshot } from '../platform/database/snapshot/write-snapshot.ts';
import { openDatabase as openWebhooksDatabase } from '../webhooks/database/database.ts';

/** Databases, with the files of TLS that count unless a URL names others. */
interface NamedDatabases extends DatabaseUrls {
  readonly tls?: CertificateFiles | undefined;
}

/** The commands of the command line that work on the databases. They need no core. */
export const backupTools: BackupTools<NamedDatabases> = {
  async write(named, folder, report) {
    const urls = allUrls(named);
    await withAdvice(`the folder ${folder} cannot be used`, '', async () => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      if ((await readdir(folder)).length > 0)
        throw new SnapshotError(`${folder} is not empty`, 'Name a new folder for each backup.');
    });
    const sources =
      urls.webhooks === urls.core
        ? [{ ...databaseOf(urls, 'core'), schemas: ['core', 'webhooks'] }]
        : // The earlier snapshot is that of the reader, which reads again what it lacks.
          [
            { ...databaseOf(urls, 'webhooks'), schemas: ['webhooks'] },
            { ...databaseOf(urls, 'core'), schemas: ['core'] },
          ];
    const leftover = `The backup is not complete. Delete ${folder}, and write the backup again.`;
    return withAdvice('the backup could not be written', leftover, async () =>
      summaryOf(
        await writeSnapshot(sources, folder, ({ schema, name, rows }) =>
          report(`${schema}.${name}: ${rows}`),
        ),
      ),
    );
  },
  verify: async (folder) => summaryOf(await verifySnapshot(folder)),
  async restore(named, folder, report) {
    const manifest = await verifySnapshot(folder);
    report('the files of the backup are complete and undamaged');
    if (manifest.databases > 1 && named.webhooks === undefined)
      throw new SnapshotError(
        'the backup contains two databases, of core and of webhooks, and only a database for core is named',
        'Add --webhooks-database-url with an empty database for webhooks. To restore both into one database, repeat the address of core there.',
      );
    const urls = allUrls(named);
    await withAdvice('the database cannot be used', '', async () => {
      await requireEmpty(databaseOf(urls, 'core'), ['core']);
      if (manifest.schemas.some(({ name }) => name === 'webhooks'))
        await requireEmpty(databaseOf(urls, 'webhooks'), ['webhooks']);
    });
    const leftover =
      'The backup is not restored. Drop the database, or both if webhooks has its own. Create it again, and restore again.';
    await withAdvice('the backup could not be restored', leftover, () =>
      loadBackup(manifest, urls, folder, report),
    );
    return summaryOf(manifest);
  },
};

/** The addresses of both databases. */
interface AllUrls extends NamedDatabases {
  readonly webhooks: string;
}

const allUrls = (named: NamedDatabases): AllUrls => ({ ...named, webhooks: named.webhooks ?? named.core });

const databaseOf = ({ tls, ...urls }: AllUrls, name: 'core' | 'webhooks'): SnapshotDatabase => ({
  url: urls[name],
  tls,
});

/** Loads a verified backup into databases without tables of Gatehouse. */
async function loadBackup(
  manifest: Manifest,
  urls: AllUrls,
  folder: string,
  report: (line: string) => void,
): Promise<void> {
  const schemas = manifest.schemas.map(({ name }) => name);
  await migrateLike(manifest, urls);
  report('the tables of the backup are there');
  const snapshot = { folder, manifest };
  const isOneDatabase = urls.webhooks === urls.core;
  const knowsLastUse = rowsOf(manifest, 'core.database_life') > 0;
  let wereAdopted = false;
  await loadSnapshot(
    databaseOf(urls, 'core'),
    snapshot,
    isOneDatabase ? schemas : ['core'],
    async (client) => {
      wereAdopted = await adoptEvents(client);
      if (knowsLastUse) await limitLastUse(client, manifest.taken_at);
    },
  );
  if (!isOneDatabase && schemas.includes('webhooks'))
    await loadSnapshot(databaseOf(urls, 'webhooks'), snapshot, ['webhooks'], async (client) => {
      // The readers begin again. An event that has its deliveries gets no second ones.
      if (wereAdopted) await client.query("update webhooks.event_readers set cursor = ''");
    });
  if (!knowsLastUse)
    await withDatabase('core', urls, async (core) => {
      await core.migrate();
      await recordBackup(core.pool, randomUUID(), manifest.taken_at);
    });
}

const rowsOf = ({ tables }: Manifest, table: string): number =>
  tables.find(({ schema, name }) => `${schema}.${name}` === table)?.rows ?? 0;

const summaryOf = (manifest: Manifest) => {
  const { taken_at: takenAt, tables, schemas } = manifest;
  return {
    takenAt,
    schemas: schemas.map(({ name }) => name),
    tables: tables.length,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    orders: rowsOf(manifest, 'core.orders'),
    deliveries: rowsOf(manifest, 'webhooks.deliveries'),
  };
};

/** Makes the schemas as they were in the backup. The processes apply later migrations when they start. */
async function migrateLike(manifest: Manifest, urls: AllUrls): Promise<void> {
  for (const { name, migrations } of manifest.schemas)
    await withDatabase(name, urls, (database) => migrateTo(database, name, migrations));
}

async function withDatabase(
  schema: string,
  urls: AllUrls,
  use: (database: Database) => Promise<void>,
): Promise<void> {
  const logger = createLogger({ process: 'cli', instance: 'restore', level: 'silent' });
  const options = { poolSize: 2, applicationName: 'gatehouse-restore', logger, tls: urls.tls };
  const database = await (schema === 'core'
    ? openCoreDatabase({ ...options, url: urls.core })
    : openWebhooksDatabase({ ...options, url: urls.webhooks }));
  try {
    await use(database);
  } finally {
    await database.close();
  }
}

async function migrateTo(database: Database, schema: string, migrations: readonly string[]): Promise<void> {
  const last = migrations.at(-1);
  const known = await database.pendingMigrations();
  const unknown = migrations.find((name) => !known.includes(name));
  if (last === undefined || unknown !== undefined)
    throw new SnapshotError(
      `the backup has the migration ${unknown ?? ''} of ${schema}, which this version does not know`,
      'Use the version of Gatehouse that wrote the backup, or a newer one.',
    );
  await database.migrate(last);
}
