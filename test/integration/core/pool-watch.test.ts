import { randomBytes } from 'node:crypto';
import { Code } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { pino } from 'pino';
import { checkText } from '../../../src/contract/check-text.ts';
import { checkPool } from '../../../src/core/diagnostics/run-checks.ts';
import { explainDatabaseError } from '../../../src/platform/database/explain-error.ts';
import { addPoolMetrics, watchPool } from '../../../src/platform/database/pool-watch.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';
import { startCuttingProxy } from '../../support/cutting-proxy.ts';
import { sharedServers } from '../../support/servers.ts';
import {
  closersOfEachTest,
  openPool,
  sharedConnection,
  sharedTestDatabase,
} from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';

const server = sharedTestDatabase();
const admin = sharedConnection(() => sharedServers().postgresUrl);
const closers = closersOfEachTest();

/** A watch of a pool, what it tells, and a clock that can skip time. */
function beginWatch(watched: pg.Pool) {
  const told: string[] = [];
  const clock = { skippedMs: 0, readings: 0 };
  const durations: unknown[] = [];
  const tell = (facts: object, message?: string): void => {
    told.push(message ?? '');
    if ('duration_ms' in facts) durations.push(facts.duration_ms);
  };
  const nowMs = (): number => {
    clock.readings += 1;
    return performance.now() + clock.skippedMs;
  };
  const watch = watchPool(watched, { logger: { info: tell, error: tell }, nowMs });
  closers.push(() => watch.stop());
  return { watch, told, durations, clock, nowMs };
}

test('a pool that gives no connection is reported in its state, readiness, metrics, doctor and log, and so is its recovery', async () => {
  const url = new URL(sharedServers().postgresUrl);
  const proxy = await startCuttingProxy({ host: url.hostname, port: Number(url.port) });
  url.host = `127.0.0.1:${proxy.port}`;
  // A pool that does not take back ended connections, so that there is something to report.
  const pool = new pg.Pool({ connectionString: url.href, max: 1 });
  pool.on('connect', (client) => client.on('error', () => undefined));
  closers.push(
    () => proxy.close(),
    () => pool.end(),
  );
  const { watch, told, durations, clock, nowMs } = beginWatch(pool);
  const metrics = createMetrics({ logger: pino({ level: 'silent' }), nowMs });
  addPoolMetrics(metrics, watch);
  const diagnose = () => checkText(checkPool(watch.state()));
  expect(watch.isServing()).toBe(true);

  const held = await pool.connect();
  let isHeld = true;
  // The end of the pool would wait for a connection that a failed test leaves in use.
  closers.push(() => isHeld && held.release(true));
  expect(watch.state()).toMatchObject({ size: 1, inUse: 1, idle: 0, ended: 0 });
  clock.skippedMs += 20_000;
  await waitUntil('the pool is known to give nothing', () => told.length > 0);
  expect(watch.isServing()).toBe(false);
  const starved = diagnose();
  expect(starved.detail).toMatch(
    /^no connection became free for 2[0-9.]+ s: connections: 1 at most, 1 in use, 0 idle, 0 ended; requests waiting: 1$/,
  );
  expect(starved.advice).toContain('pg_stat_activity');

  proxy.cutAll();
  await waitUntil('the connection has ended', () => watch.state().ended === 1);
  const { body } = await metrics.page();
  expect(body.split('\n')).toEqual(
    expect.arrayContaining([
      'gatehouse_database_pool_size 1',
      'gatehouse_database_pool_connections{state="in_use"} 0',
      'gatehouse_database_pool_connections{state="ended"} 1',
    ]),
  );
  expect(diagnose().detail).toContain('connections that ended are still counted');

  held.release(true);
  isHeld = false;
  await waitUntil('it gives connections again', () => told.length > 1);
  expect(watch.isServing()).toBe(true);
  expect(diagnose()).toMatchObject({ detail: expect.stringContaining('0 ended'), advice: '' });
  expect(told).toEqual([
    'no connection to the database is available; this process is not ready until there is one',
    'connections to the database are available again; this process is ready',
  ]);
  // The whole outage counts, not only the time after it was noticed.
  expect(durations).toEqual([expect.closeTo(clock.skippedMs, -5)]);
});

describe('a pool whose connections PostgreSQL refuses', () => {
  /** `client`: the words for the process that uses the pool. */
  const adviceTo = (client: string): unknown =>
    expect.stringMatching(
      `^PostgreSQL refuses the connections of ${client}; check the user, .* in its GATEHOUSE_DATABASE_URL`,
    );

  let role: string;
  let database: string;
  let pool: pg.Pool;

  beforeEach(async () => {
    role = `role_${randomBytes(8).toString('hex')}`;
    await admin.query(`create role ${role} login password 'first'`);
    const url = new URL(server.url);
    database = url.pathname.slice(1);
    url.username = role;
    url.password = 'first';
    pool = openPool({ connectionString: url.href, max: 1 });
    await pool.query('select 1');
  });

  afterEach(async () => {
    await pool.end();
    await admin.query(`drop role ${role}`);
  });

  /** Each change, and how it is undone. Open connections end meanwhile, as after a restart of PostgreSQL. */
  const changes: Readonly<Record<string, () => readonly [change: string, undo: string]>> = {
    'another password': () => [`alter role ${role} password 'second'`, `alter role ${role} password 'first'`],
    'a role without login': () => [`alter role ${role} nologin`, `alter role ${role} login`],
    'a renamed database': () => [
      `alter database ${database} rename to ${database}_old`,
      `alter database ${database}_old rename to ${database}`,
    ],
    'a database that allows no connections': () => [
      `alter database ${database} allow_connections false`,
      `alter database ${database} allow_connections true`,
    ],
    'a database that others may not connect to': () => [
      `revoke connect on database ${database} from public`,
      `grant connect on database ${database} to public`,
    ],
  };

  test.each(Object.keys(changes))(
    'after %s, calls and the log say what to check, and the pool recovers',
    async (name) => {
      const [change, undo] = changes[name]!();
      await pool.end();
      pool = openPool(pool.options);
      await admin.query(change);
      const { watch, told, clock } = beginWatch(pool);

      await waitUntil('the watch asks for the only connection', () => clock.readings > 1);
      const error = await pool.query('select 1').catch(explainDatabaseError);
      clock.skippedMs += 20_000;
      await waitUntil('the log names it', () => told.length > 0);
      await admin.query(undo);
      await waitUntil('the log names the recovery', () => told.length > 1);
      watch.stop();

      expect(error).toMatchObject({
        code: Code.Unavailable,
        rawMessage: adviceTo('the process that answered this call'),
      });
      expect(told).toEqual([
        adviceTo('this process'),
        'connections to the database are available again; this process is ready',
      ]);
    },
  );
});
