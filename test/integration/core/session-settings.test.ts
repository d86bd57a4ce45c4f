import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { readClock } from '../../../src/core/database/read-clock.ts';
import { runStatement } from '../../../src/platform/database/run-statement.ts';
import { loadSnapshot } from '../../../src/platform/database/snapshot/load-snapshot.ts';
import { writeSnapshot } from '../../../src/platform/database/snapshot/write-snapshot.ts';
import { openCoreDatabase, sharedConnection, sharedTestDatabase } from '../../support/shared-stack.ts';
import { sharedFolder } from '../../support/shared-folder.ts';

const server = sharedTestDatabase();
const admin = sharedConnection(() => server.url);

/** Defaults of a database that change what times, numbers, texts and arrays mean, and when a change fails. */
const hostile = {
  datestyle: 'SQL, DMY',
  intervalstyle: 'iso_8601',
  timezone: 'Asia/Kathmandu',
  extra_float_digits: '-15',
  standard_conforming_strings: 'off',
  array_nulls: 'off',
  bytea_output: 'escape',
  default_transaction_isolation: 'serializable',
};

test('defaults of the database change nothing of what is read and written', async () => {
  const name = new URL(server.url).pathname.slice(1);
  for (const [setting, value] of Object.entries(hostile))
    await admin.query(`alter database ${name} set ${setting} = '${value}'`);
  const database = await openCoreDatabase('settings', server.url, 1);
  try {
    const text = String.raw`
select timestamptz '2026-11-05T00:30:00Z' as at, date '2026-11-05'::text as day, 'C:\new' as text,
  1799999999999.5::float8 as number, '{null}'::text[] as texts, '\x00ff'::bytea as bytes,
  current_setting('transaction_isolation') as isolation`;

    const rows = await runStatement(database.pool, { text });
    const clock = await readClock(database.fork());

    expect(rows).toEqual([
      {
        at: new Date('2026-11-05T00:30:00Z'),
        day: '2026-11-05',
        text: String.raw`C:\new`,
        number: 1_799_999_999_999.5,
        texts: [null],
        bytes: Buffer.from([0, 255]),
        isolation: 'read committed',
      },
    ]);
    expect(clock.getTime()).not.toBeNaN();
  } finally {
    await database.close();
  }
});

/** A URL whose sessions write days before months, and have a setting that Gatehouse does not set. */
function urlWithOptions(): string {
  const url = new URL(server.url);
  url.searchParams.set('options', '-c DateStyle=SQL,DMY -c lock_timeout=4321 -c statement_timeout=1234');
  return url.href;
}

const sessionOf = `
select current_setting('DateStyle') like 'ISO%' as iso, current_setting('lock_timeout') as lock,
  current_setting('statement_timeout') as statement`;

test('options in the URL are passed on, and do not replace what Gatehouse needs', async () => {
  const database = await openCoreDatabase('options', urlWithOptions(), 1);
  const { rows } = await database.pool.query(sessionOf);
  await database.close();

  expect(rows).toEqual([{ iso: true, lock: '4321ms', statement: '10s' }]);
});

const folder = sharedFolder();
test('options in the URL change nothing of what a backup contains and how it is restored', async () => {
  const manifest = await writeSnapshot([{ url: urlWithOptions(), schemas: ['core'] }], folder, () => {});
  const migrations = gunzipSync(await readFile(join(folder, 'core.migrations.copy.gz'))).toString();
  let restoring: unknown;
  await loadSnapshot(
    { url: urlWithOptions() },
    { folder, manifest: { ...manifest, tables: [] } },
    [],
    async (client) => {
      restoring = (await client.query(sessionOf)).rows;
    },
  );

  expect(migrations).toMatch(/\t20\d\d-\d\d-\d\d /);
  expect(restoring).toEqual([{ iso: true, lock: '0', statement: '0' }]);
});
