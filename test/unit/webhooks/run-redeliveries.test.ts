import { mock } from 'node:test';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Pool } from 'pg';
import { createWakeSignal } from '../../../src/platform/wake-signal.ts';
import { runRedeliveries } from '../../../src/webhooks/redeliveries/run-redeliveries.ts';
import { keptLog } from '../../support/kept-log.ts';

beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
afterEach(() => mock.timers.reset());

test('an outage of the database that has ended is not logged later as a redelivery that fails', async () => {
  const { logger, log } = keptLog();
  const stop = new AbortController();
  let rounds = 0;
  const wait = async (): Promise<void> => {
    if ((rounds += 1) === 3) stop.abort();
  };
  // Nothing listens there.
  const pool = new Pool({ host: '127.0.0.1', port: 1 });
  await runRedeliveries(
    { database: { pool }, signal: { ...createWakeSignal(), wait }, onDue: () => {}, logger, idleMs: 1 },
    stop.signal,
  );

  mock.timers.tick(60_000);

  expect(rounds).toBe(3);
  expect(log.map(({ msg }) => msg)).toEqual(['redeliveries could not be read; trying again']);
});
