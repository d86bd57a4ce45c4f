import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { gatehouseVersion } from '../../../src/cli/version.ts';
import {
  findMigrationProblems,
  limitsLocks,
  migrationViolations,
  newestMigrations,
} from '../../../scripts/release/migration-rules.ts';
import { versionPlaces } from '../../../scripts/release/release-changes.ts';
import type { Releases } from '../../../scripts/release/release-changes.ts';
import { root } from './repository-files.ts';

const read = (file: string): Promise<string> => readFile(join(root, file), 'utf8');
const readJson = async (file: string): Promise<unknown> => JSON.parse(await read(file));

test('every file with the version has the version of the command line', async () => {
  const { previous, releases } = (await readJson('releases.json')) as Releases;
  const entries = Array.from(
    (await read('CHANGELOG.md')).matchAll(/^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$/gm),
    ([, version, date]) => ({ version, date }),
  );

  for (const [file, before, after] of versionPlaces)
    expect(await read(file)).toContain(before + gatehouseVersion + after);
  expect(entries[0]?.version).toBe(gatehouseVersion);
  expect(entries).toEqual(releases.map(({ version, date }) => ({ version, date })));
  expect(previous).toBe(releases[0]?.commit);
  for (const { commit } of releases) expect(commit).toMatch(/^[0-9a-f]{40}$/);
});

describe('a migration after the newest release', () => {
  test('only expands the schema, and limits its locks', async () => {
    const [newest] = ((await readJson('releases.json')) as Releases).releases;
    const released = newest?.migrations ?? { core: 0, webhooks: 0 };

    expect(await findMigrationProblems(root, released)).toEqual([]);
    expect((await newestMigrations(root)).core).toBeGreaterThanOrEqual(released.core);
    // The first migrations of the list are before the rules.
    expect(await findMigrationProblems(root, { core: 0, webhooks: 0 })).not.toEqual([]);
  });

  test.each([
    ['alter table core.orders drop column reason;', 'drops'],
    ['drop table core.settlements;', 'drops'],
    ['alter table core.orders rename column reason to note;', 'renames'],
    ['alter table core.orders\n  alter column reason set not null;', 'whole table'],
    ['alter table core.orders alter column amount type numeric;', 'rewrites'],
    ['alter table core.merchants add column token uuid default gen_random_uuid();', 'rewrites'],
    ["alter table core.merchants add column a text default '', add column b text not null;", 'does not fill'],
    ['create index orders_reason on core.orders (reason);', 'large-indexes.ts'],
    ['create index concurrently orders_note on core.orders (note);', 'within its transaction'],
  ])('breaks a rule with: %s', (sql, violation) => {
    expect(migrationViolations(sql)).toEqual([expect.stringContaining(violation)]);
  });

  test.each([
    'create table core.notes (id uuid primary key, body text not null); create index notes_body on core.notes (body);',
    "alter table core.orders add column note text not null default '';",
    '-- drop table core.orders;',
  ])('keeps the rules with: %s', (sql) => {
    expect(migrationViolations(sql)).toEqual([]);
  });

  test('limits its locks by a lock timeout of at most five seconds, and of one second for tables that every request reads', () => {
    expect(limitsLocks("set local lock_timeout = '2s'; alter table core.orders add column a text;")).toBe(
      true,
    );
    expect(limitsLocks("set local lock_timeout = '60s';")).toBe(false);
    for (const [limit, isLow] of [
      ['1s', true],
      ['2s', false],
    ] as const)
      expect(
        limitsLocks(`set local lock_timeout = '${limit}'; alter table core.merchants add column a text;`),
      ).toBe(isLow);
    expect(limitsLocks('alter table core.orders add column a text;')).toBe(false);
  });
});
