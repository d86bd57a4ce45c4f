import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { startTemporaryPostgres } from '../../../src/main/local/temporary-servers.ts';
import type { TemporaryServer } from '../../../src/main/local/temporary-servers.ts';
import { archiveCommand } from '../../support/archived-postgres.ts';
import { sharedFolder } from '../../support/shared-folder.ts';

// On a server of its own, because other tests leave transactions open too.
let postgres: TemporaryServer;
const clients: Client[] = [];
const archive = sharedFolder();

beforeAll(async () => {
  postgres = await startTemporaryPostgres({ durable: false });
});

afterAll(async () => {
  for (const client of clients) await client.end();
  await postgres.stop();
});

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  clients.push(client);
  return client;
}

test('the statement of the page about alerts finds the transaction that nobody ended, among idle sessions', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../docs/operating/alerts.md'), 'utf8');
  const [, statement = ''] = /```sql\n([^`]*pg_stat_activity[^`]*)```/.exec(page) ?? [];
  const forgotten = await connect();
  await forgotten.query('begin; select 1');
  for (let count = 0; count < 6; count += 1) await connect();
  const { rows: own } = await forgotten.query<{ pid: number }>('select pg_backend_pid() as pid');

  const { rows } = await (await connect()).query<Record<string, unknown>>(statement);

  expect(rows[0]).toMatchObject({ pid: own[0]?.pid, state: 'idle in transaction' });
});

test('the command of the page about backups archives a segment once, accepts it again, and never replaces another one', async () => {
  const segment = join(archive, 'segment');
  const command = (await archiveCommand(archive)).replaceAll('%p', segment).replaceAll('%f', '0001');
  const run = async (content: string) => {
    await writeFile(segment, content);
    return spawnSync('sh', ['-c', command]).status;
  };

  expect([await run('one'), await run('one'), await run('other')]).toEqual([0, 0, 1]);
  expect(await readFile(join(archive, '0001'), 'utf8')).toBe('one');
});
