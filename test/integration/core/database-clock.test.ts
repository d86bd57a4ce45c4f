import { durationMs } from '@bufbuild/protobuf/wkt';
import { expect, test } from '@jest/globals';
import { CheckResult, CheckSubject } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { openDatabaseClock } from '../../../src/platform/database/database-clock.ts';
import { openPool, sharedCoreDatabase, sharedPool, sharedTestDatabase } from '../../support/shared-stack.ts';
import { checksOfCore } from './doctor-checks.ts';

const database = sharedTestDatabase();
const pool = sharedPool(() => database.url, 1);
const core = sharedCoreDatabase('database clock', () => database.url, 2);

const readDatabase = async (): Promise<number> => {
  const { rows } = await pool.query<{ now: Date }>('select clock_timestamp() as now');
  return rows[0]?.now.getTime() ?? NaN;
};

test('the clock is not ahead of the database, and behind it by one round trip at most', async () => {
  const before = await readDatabase();

  const { now } = await openDatabaseClock(pool, () => performance.now());

  const told = now().getTime();
  expect(told).toBeGreaterThanOrEqual(before - 1);
  expect(told).toBeLessThanOrEqual(await readDatabase());
});

test.each([
  ['stood still for an hour, as on a machine that slept', -3_600_000],
  ['ran an hour ahead', 3_600_000],
])('the clock is right again when the local clock %s', async (_what, byMs) => {
  let wrongMs = 0;
  const { now, adjust } = await openDatabaseClock(pool, () => performance.now() + wrongMs);
  wrongMs = byMs;

  await adjust();

  const told = now().getTime();
  const read = await readDatabase();
  expect(told).toBeLessThanOrEqual(read);
  expect(told).toBeGreaterThan(read - 60_000);
});

test('the clock keeps its time when the database does not answer', async () => {
  const ending = openPool({ connectionString: database.url, max: 1 });
  const { now, adjust } = await openDatabaseClock(ending, () => performance.now());
  const told = now().getTime();
  await ending.end();

  await expect(adjust()).rejects.toThrow();

  expect(now().getTime()).toBeGreaterThanOrEqual(told);
});

test.each([
  ['nothing when the query alone took a minute', { queryMs: 60_000, aheadMs: 0 }, CheckResult.OK, 0],
  ['a core that is an hour ahead', { queryMs: 0, aheadMs: 3_600_000 }, CheckResult.WARNING, -3_600_000],
  ['a core that is an hour behind', { queryMs: 0, aheadMs: -3_600_000 }, CheckResult.WARNING, 3_600_000],
])('doctor reports %s', async (_what, { queryMs, aheadMs }, result, skewMs) => {
  const startedAt = Date.now();
  let readings = 0;
  const now = (): Date => new Date(startedAt + aheadMs + queryMs * readings++);

  const checks = await checksOfCore(core, { now });

  const clock = checks.find(({ subject }) => subject === CheckSubject.CLOCK);
  const told = clock?.facts.case === 'clockSkew' ? durationMs(clock.facts.value) : NaN;
  expect(clock?.result).toBe(result);
  expect(Math.abs(told - skewMs)).toBeLessThan(skewMs === 0 ? 1 : 60_000);
});
