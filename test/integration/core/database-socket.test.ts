import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openDatabase as openCoreDatabase } from '../../../src/core/database/database.ts';
import { backupTools } from '../../../src/main/backup-tools.ts';
import { startTemporaryPostgres } from '../../../src/main/local/temporary-servers.ts';
import type { TemporaryServer } from '../../../src/main/local/temporary-servers.ts';
import { openDatabase as openWebhooksDatabase } from '../../../src/webhooks/database/database.ts';
import { keptLog } from '../../support/kept-log.ts';

let folder: string;
let server: TemporaryServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'socket-'));
  // PostgreSQL runs as another user if the test runs as root.
  await chmod(folder, 0o777);
  server = await startTemporaryPostgres({ settings: { unix_socket_directories: folder } });
});

afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

test('a database is reached through a Unix socket without a warning, and is backed up from there', async () => {
  const url = server.url.replace('127.0.0.1', encodeURIComponent(folder));
  const { logger, log } = keptLog({ level: 'warn' });
  const options = {
    url,
    poolSize: 2,
    applicationName: 'socket test',
    logger,
  };
  const [database, webhooks] = await Promise.all([openCoreDatabase(options), openWebhooksDatabase(options)]);
  await database.migrate();
  await webhooks.migrate();
  const { rows } = await database.pool.query('select inet_server_addr() as address');
  await Promise.all([database.close(), webhooks.close()]);
  const saved = await backupTools.write(
    { core: url, webhooks: url },
    join(folder, 'backup'),
    () => undefined,
  );

  expect(rows).toEqual([{ address: null }]);
  expect(saved.rows).toBeGreaterThan(0);
  expect(log).toEqual([]);
});
