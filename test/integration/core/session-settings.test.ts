import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { readClock } from '../../../src/core/database/read-clock.ts';
import { openDatabase } from '../../../src/core/database/database.ts';
import { runStatement } from '../../../src/platform/database/run-statement.ts';
import { sharedConnection, sharedTestDatabase } from '../../support/shared-stack.ts';

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
  const database = await openDatabase({
    url: server.url,
    poolSize: 1,
    applicationName: 'settings',
    logger: pino({ level: 'silent' }),
  });
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
