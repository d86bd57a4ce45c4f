import { expect, test } from '@jest/globals';
import { keepRequestDays } from '../../../src/core/request-log/request-days.ts';
import { sharedPool, sharedTestDatabase } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';

const database = sharedTestDatabase();
const pool = sharedPool(() => database.url, 1);

const dayMs = 24 * 60 * 60_000;
const today = Date.UTC(2030, 0, 20, 12);
const at = (days: number) => (): Date => new Date(today + days * dayMs);

const days = async (): Promise<string[]> => {
  const { rows } = await pool.query<{ day: string }>(`
    select substring(inhrelid::regclass::text from '2030[0-9]+') as day from pg_inherits
    where inhparent = 'core.api_requests'::regclass and inhrelid::regclass::text like '%api_requests_2030%' order by day`);
  return rows.map(({ day }) => day);
};

test('a day of the request log is dropped only when it has expired by both clocks', async () => {
  await keepRequestDays({ database: { pool }, now: at(0), machineNow: at(0) });
  const first = await days();
  await pool.query(sql`insert into core.api_requests_unkept (merchant_id, environment, hour, count)
    values (${'018f0000-0000-7000-8000-000000000000'}, ${'SANDBOX'}, ${at(0)()}, 1)`);
  expect([first.length, first[0], first.at(-1)]).toEqual([11, '20300113', '20300123']);

  // The clock of the database is eleven days ahead.
  await keepRequestDays({ database: { pool }, now: at(11), machineNow: at(0) });
  expect(await days()).toEqual(expect.arrayContaining(first));
  const { rowCount } = await pool.query('select from core.api_requests_unkept');
  expect(rowCount).toBe(1);

  await keepRequestDays({ database: { pool }, now: at(11), machineNow: at(11) });
  expect((await days())[0]).toBe('20300124');
  expect((await pool.query('select from core.api_requests_unkept')).rowCount).toBe(0);
});
