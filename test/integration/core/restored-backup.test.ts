import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { backupTools } from '../../../src/main/backup-tools.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import type { TestDatabase } from '../../support/test-database.ts';

const ignored = (): void => undefined;
const urlsOf = ({ url }: TestDatabase) => ({ core: url, webhooks: url });

let original: TestDatabase;
let restored: TestDatabase;
let folder: string;

beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'gatehouse-backup-')), 'backup');
  original = await createTestDatabase();
  restored = await createTestDatabase({ migrated: false });
});
afterEach(async () => {
  await original.drop();
  await restored.drop();
  await rm(join(folder, '..'), { recursive: true });
});

async function query<Row extends object>({ url }: TestDatabase, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

test('the lost time begins with the backup although a wrong clock had recorded a later use', async () => {
  await query(
    original,
    "insert into core.database_life (lineage, home, seen_at) values (gen_random_uuid(), 'here', now() + interval '2 days')",
  );

  const { takenAt } = await backupTools.write(urlsOf(original), folder, ignored);
  await backupTools.restore(urlsOf(restored), folder, ignored);

  const rows = await query<{ seen_at: Date }>(restored, 'select seen_at from core.database_life');
  expect(rows.map((row) => row.seen_at.toISOString())).toEqual([takenAt]);
});
