import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { gatehouseVersion } from '../../../src/cli/version.ts';
import { limitsLocks, migrationViolations } from './migration-rules.ts';
import { listFiles, root } from './repository-files.ts';

interface Release {
  readonly version: string;
  readonly commit: string;
  readonly date: string;
  /** The number of the newest migration. */
  readonly migrations: { readonly core: number; readonly webhooks: number };
}

interface Releases {
  /** The commit of the newest release, for processes that run beside those of this version. */
  readonly previous: string;
  readonly releases: readonly Release[];
}

/** From these numbers on, a migration must limit its locks. */
const lockLimitFrom = { core: 37, webhooks: 7 } as const;

const read = (file: string): Promise<string> => readFile(join(root, file), 'utf8');
const readJson = async (file: string): Promise<unknown> => JSON.parse(await read(file));

test('package.json, the lock file, the changelog, releases.json and the command line say one version', async () => {
  const { previous, releases } = (await readJson('releases.json')) as Releases;
  const manifest = (await readJson('package.json')) as { version: string };
  const lock = (await readJson('package-lock.json')) as { version: string };
  const entries = Array.from(
    (await read('CHANGELOG.md')).matchAll(/^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$/gm),
    ([, version, date]) => ({ version, date }),
  );

  expect([manifest.version, lock.version, entries[0]?.version]).toEqual([
    gatehouseVersion,
    gatehouseVersion,
    gatehouseVersion,
  ]);
  expect(entries).toEqual(releases.map(({ version, date }) => ({ version, date })));
  expect(previous).toBe(releases[0]?.commit);
  for (const { commit } of releases) expect(commit).toMatch(/^[0-9a-f]{40}$/);
});

describe('a migration after the newest release', () => {
  test('only expands the schema, and the later ones limit their locks', async () => {
    const [newest] = ((await readJson('releases.json')) as Releases).releases;
    const found: string[] = [];
    let checked = 0;
    for (const owner of ['core', 'webhooks'] as const) {
      for (const file of await listFiles(`src/${owner}/database/migrations/migration-*.ts`)) {
        const number = Number(/^migration-(\d+)/.exec(basename(file))?.[1]);
        if (newest === undefined || number <= newest.migrations[owner]) continue;
        checked += 1;
        const source = await read(file);
        found.push(...migrationViolations(source).map((violation) => `${file}: ${violation}`));
        if (number >= lockLimitFrom[owner] && !limitsLocks(source))
          found.push(`${file}: add "set local lock_timeout = '2s'" as its first statement`);
      }
    }

    expect(found).toEqual([]);
    expect(checked).toBeGreaterThan(0);
  });

  test.each([
    ['alter table core.orders drop column reason;', 'drops'],
    ['drop table core.settlements;', 'drops'],
    ['alter table core.orders rename column reason to note;', 'renames'],
    ['alter table core.orders\n  alter column reason set not null;', 'whole table'],
    ['alter table core.orders alter column amount type numeric;', 'rewrites'],
    ['alter table core.merchants add column token uuid default gen_random_uuid();', 'rewrites'],
    ["alter table core.merchants add column a text default '', add column b text not null;", 'does not fill'],
    ['create index orders_reason on core.orders (reason);', 'concurrently'],
  ])('breaks a rule with: %s', (sql, violation) => {
    expect(migrationViolations(sql)).toEqual([expect.stringContaining(violation)]);
  });

  test.each([
    'create table core.notes (id uuid primary key, body text not null); create index notes_body on core.notes (body);',
    "alter table core.orders add column note text not null default '';",
    'create index concurrently orders_note on core.orders (note);',
    '-- drop table core.orders;',
  ])('keeps the rules with: %s', (sql) => {
    expect(migrationViolations(sql)).toEqual([]);
  });

  test('limits its locks by a lock timeout of at most five seconds', () => {
    expect(limitsLocks("set local lock_timeout = '2s'; alter table core.orders add column a text;")).toBe(
      true,
    );
    expect(limitsLocks("set local lock_timeout = '60s';")).toBe(false);
    expect(limitsLocks('alter table core.orders add column a text;')).toBe(false);
  });
});
