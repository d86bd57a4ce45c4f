import { afterAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { withAdvisoryLock } from '../../../src/platform/database/advisory-lock.ts';
import { closeSilentConnections } from '../../../src/platform/database/silent-connections.ts';
import { sharedServers } from '../../support/servers.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';

const silenceMs = 1_000;
const pool = new pg.Pool({ connectionString: sharedServers().postgresUrl, max: 2 });
pool.on('connect', (client) => client.on('error', () => undefined));
closeSilentConnections(pool, silenceMs);
afterAll(() => pool.end());

const heldSessions = async (key: number): Promise<number> => {
  const { rows } = await pool.query<{ count: number }>(sql`
    select count(*)::int as count from pg_locks where locktype = 'advisory' and objid = ${key}`);
  return rows[0]?.count ?? 0;
};

/** Work that does not use the lock's connection for three times the permitted silence. */
const longWork = async (lost: AbortSignal): Promise<void> => {
  const { rows } = await pool.query<{ now: Date }>('select now()');
  await waitUntil('the silence is over', async () => {
    const asked = 'select now() - $1::timestamptz > $2::interval as over';
    const { rows: found } = await pool.query<{ over: boolean }>(asked, [
      rows[0]?.now,
      `${3 * silenceMs} milliseconds`,
    ]);
    return lost.aborted || found[0]?.over;
  });
};

test('work that uses other connections keeps its lock while the connection of the lock is kept in use', async () => {
  const lock = { key: 91_001, silenceMs, keepAliveMs: 50 };
  let heldDuring = 0;
  const done = await withAdvisoryLock(pool, lock, async (_client, lost) => {
    await longWork(lost);
    heldDuring = await heldSessions(lock.key);
    expect(lost.aborted).toBe(false);
  });
  expect({ done, heldDuring }).toEqual({ done: true, heldDuring: 1 });
  expect(await heldSessions(lock.key)).toBe(0);
});

test('work that leaves the connection of the lock unused loses the lock and is aborted, and the caller gets the reason', async () => {
  const lock = { key: 91_002, silenceMs };
  let wasTold = false;
  const work = withAdvisoryLock(pool, lock, async (_client, lost) => {
    await longWork(lost);
    wasTold = lost.aborted;
  });
  await expect(work).rejects.toThrow(/silent for 1000 ms|idle-session timeout/);
  expect(wasTold).toBe(true);
});

test('an error of the work reaches the caller, and the lock is released', async () => {
  const lock = { key: 91_003, silenceMs, keepAliveMs: 50 };
  const work = withAdvisoryLock(pool, lock, () => Promise.reject(new Error('the work failed')));
  await expect(work).rejects.toThrow('the work failed');
  await waitUntil('the lock is free', async () => (await heldSessions(lock.key)) === 0);
});

test('only the session that holds the lock has the time limit, and only while it holds it', async () => {
  const lock = { key: 91_004, silenceMs: 7_000 };
  const limitOf = async (session: pg.Pool | pg.PoolClient): Promise<unknown> =>
    (await session.query<{ limit: string }>(`select current_setting('idle_session_timeout') as limit`))
      .rows[0]?.limit;
  const [holder, other] = [1, 2].map(
    () => new pg.Pool({ connectionString: sharedServers().postgresUrl, max: 1 }),
  ) as [pg.Pool, pg.Pool];
  const during: unknown[] = [];

  await withAdvisoryLock(holder, lock, async (client) => {
    const isHeld = await withAdvisoryLock(other, lock, () => Promise.resolve());
    during.push(isHeld, await limitOf(client), await limitOf(other));
  });

  expect(during).toEqual([false, '7s', '0']);
  expect([await limitOf(holder), await heldSessions(lock.key)]).toEqual(['0', 0]);
  await Promise.all([holder.end(), other.end()]);
});
