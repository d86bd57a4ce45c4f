import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { analyzeNewTables } from '../../src/core/database/analyze-new-tables.ts';
import { createIndexTask } from '../../src/core/database/large-indexes.ts';
import { keepRequestDays } from '../../src/core/request-log/request-days.ts';
import type { Database } from '../../src/core/database/database.ts';
import { openDatabase as openCoreDatabase } from '../../src/core/database/database.ts';
import { bundlePrograms } from '../../src/main/local/bundle-programs.ts';
import { startTemporaryNats, startTemporaryPostgres } from '../../src/main/local/temporary-servers.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { openDatabase as openWebhooksDatabase } from '../../src/webhooks/database/database.ts';
import { createIndexTask as createWebhooksIndexTask } from '../../src/webhooks/database/large-indexes.ts';
import {
  databaseUrl,
  shareCompileCache,
  shareProgramFolder,
  shareServers,
  templateDatabase,
} from './servers.ts';
import { stopServers } from './global-teardown.ts';
import { createMemoryFolder } from './memory-folder.ts';

/** Does the work that core would otherwise do at its start on each copy of the template. */
async function asAfterTheFirstStart(database: Database): Promise<void> {
  await createIndexTask(database)(new AbortController().signal);
  const now = (): Date => new Date();
  await keepRequestDays({ database, now, machineNow: now });
  await analyzeNewTables(database.pool);
}

/** Starts one PostgreSQL and one NATS for the whole run, and prepares the migrated database that every test file copies. */
export default async function setUp(): Promise<void> {
  const memory = await createMemoryFolder();
  if (memory !== undefined) {
    // os.tmpdir() gives it to every test: the workers inherit this environment.
    process.env['TMPDIR'] = memory;
    stopServers.push(() => rm(memory, { recursive: true, maxRetries: 20, retryDelay: 50 }));
  }
  // As `npm start` and the image do. Meanwhile the servers start, in other processes.
  const programs = await mkdtemp(join(tmpdir(), 'gatehouse-programs-'));
  await chmod(programs, 0o755);
  stopServers.push(() => rm(programs, { recursive: true }));
  const bundled = bundlePrograms(resolve(import.meta.dirname, '../..'), programs);
  // If a server does not start, its error is the one to show.
  bundled.catch(() => undefined);
  const [postgres, nats] = await Promise.all([
    // PostgreSQL searches all of its memory when a database is deleted.
    startTemporaryPostgres({ settings: { max_connections: '300', shared_buffers: '32MB' } }),
    startTemporaryNats(),
  ]);
  stopServers.push(postgres.stop, nats.stop);
  const client = new pg.Client({ connectionString: databaseUrl(postgres.url, 'postgres') });
  await client.connect();
  // Each of the thousands of connections sends the password itself. By default, both of its sides hash the password 4,096 times.
  const password = client.escapeLiteral(decodeURIComponent(new URL(postgres.url).password));
  await client.query(`set scram_iterations = 1; alter role current_user password ${password}`);
  const { rows } = await client.query<{ hba_file: string }>('show hba_file');
  const accessFile = rows[0]?.hba_file ?? '';
  await writeFile(accessFile, (await readFile(accessFile, 'utf8')).replaceAll('scram-sha-256', 'password'));
  await client.query('select pg_reload_conf()');
  await client.query(`create database ${templateDatabase}`);
  await client.end();
  for (const openDatabase of [openCoreDatabase, openWebhooksDatabase]) {
    const database = await openDatabase({
      url: databaseUrl(postgres.url, templateDatabase),
      poolSize: 2,
      applicationName: 'test setup',
      logger: createLogger({ process: 'test', instance: 'setup', level: 'silent' }),
    });
    await database.migrate();
    if (openDatabase === openCoreDatabase) await asAfterTheFirstStart(database);
    else await createWebhooksIndexTask(database)(new AbortController().signal);
    await database.close();
  }
  shareServers({ postgresUrl: databaseUrl(postgres.url, 'postgres'), natsUrl: nats.url });
  // The tests start hundreds of processes from the same sources. With the compile cache, each takes half as long.
  const compiled = await mkdtemp(join(tmpdir(), 'gatehouse-compile-cache-'));
  // Some tests run processes as another user.
  await chmod(compiled, 0o755);
  stopServers.push(() => rm(compiled, { recursive: true, maxRetries: 5 }));
  shareCompileCache(compiled);
  await bundled;
  shareProgramFolder(programs);
}
