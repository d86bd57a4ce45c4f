import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { pino } from 'pino';
import { checkText } from '../../../src/contract/check-text.ts';
import { checkPool } from '../../../src/core/diagnostics/run-checks.ts';
import { addPoolMetrics, watchPool } from '../../../src/platform/database/pool-watch.ts';
import { createMetrics } from '../../../src/platform/metrics.ts';
import { startCuttingProxy } from '../../support/cutting-proxy.ts';
import type { CuttingProxy } from '../../support/cutting-proxy.ts';
import { sharedServers } from '../../support/servers.ts';
import { waitUntil } from '../../support/wait-until.ts';

let proxy: CuttingProxy;
let pool: pg.Pool;
let held: pg.PoolClient | undefined;

beforeAll(async () => {
  const url = new URL(sharedServers().postgresUrl);
  proxy = await startCuttingProxy({ host: url.hostname, port: Number(url.port) });
  url.host = `127.0.0.1:${proxy.port}`;
  // A pool that does not take back ended connections, so that there is something to report.
  pool = new pg.Pool({ connectionString: url.href, max: 1 });
  pool.on('connect', (client) => client.on('error', () => undefined));
});

afterAll(async () => {
  // A failed test leaves a connection in use, and the end of the pool would wait for it.
  proxy.cutAll();
  held?.release(true);
  await pool.end();
  await proxy.close();
});

test('a pool that gives no connection is reported in its state, readiness, metrics, doctor and log, and so is its recovery', async () => {
  const told: string[] = [];
  const tell = (_state: unknown, message?: string): void => void told.push(message ?? '');
  let skippedMs = 0;
  const nowMs = (): number => performance.now() + skippedMs;
  const watch = watchPool(pool, { logger: { info: tell, error: tell }, nowMs });
  const metrics = createMetrics({ logger: pino({ level: 'silent' }), nowMs });
  addPoolMetrics(metrics, watch);
  const diagnose = () => checkText(checkPool(watch.state()));
  expect(watch.isGiving()).toBe(true);

  held = await pool.connect();
  expect(watch.state()).toMatchObject({ size: 1, inUse: 1, idle: 0, ended: 0 });
  skippedMs += 20_000;
  await waitUntil('the pool is known to give nothing', () => told.length > 0);
  expect(watch.isGiving()).toBe(false);
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
  held = undefined;
  await waitUntil('it gives connections again', () => told.length > 1);
  expect(watch.isGiving()).toBe(true);
  expect(diagnose()).toMatchObject({ detail: expect.stringContaining('0 ended'), advice: '' });
  expect(told).toEqual([
    'no connection to the database is available; this process is not ready until there is one',
    'connections to the database are available again; this process is ready',
  ]);
  watch.stop();
});
