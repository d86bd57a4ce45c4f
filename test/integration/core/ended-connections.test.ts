import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { checkText } from '../../../src/contract/check-text.ts';
import { explainDatabaseError } from '../../../src/platform/database/explain-error.ts';
import type { Database } from '../../../src/core/database/database.ts';
import { startCuttingProxy } from '../../support/cutting-proxy.ts';
import type { CuttingProxy, CutMoment } from '../../support/cutting-proxy.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openCoreDatabase, sharedConnection, sharedTestDatabase } from '../../support/shared-stack.ts';
import { checkOfDatabase } from './doctor-checks.ts';

const poolSize = 2;
const moments: readonly CutMoment[] = ['before the server', 'before the answer'];

let proxy: CuttingProxy;
let database: Database;

const server = sharedTestDatabase();
const other = sharedConnection(() => server.url);

beforeEach(async () => {
  const url = new URL(server.url);
  proxy = await startCuttingProxy({ host: url.hostname, port: Number(url.port) });
  url.host = `127.0.0.1:${proxy.port}`;
  database = await openCoreDatabase('cut', url.href, poolSize);
});

afterEach(async () => {
  await database.close();
  await proxy.close();
});

const work = (): Promise<unknown> => database.fork().transactional((em) => em.execute('select 1 as one'));

const workThatFails = (): Promise<unknown> =>
  database.fork().transactional(async (em) => {
    await em.execute('select 1 as one');
    throw new Error('undone by the test');
  });

/** Every slot of the pool can be used at once. That fails when a connection that has ended still holds one. */
async function expectWholePool(): Promise<void> {
  const clients = await Promise.all(Array.from({ length: poolSize }, () => database.pool.connect()));
  for (const client of clients) client.release();
  expect(database.pool.totalCount).toBe(poolSize);
  // Once a second, the watch of the pool takes a connection for a moment.
  await waitUntil('every connection is idle', () => database.pool.idleCount === poolSize);
  expect(database.pool.waitingCount).toBe(0);
}

describe.each(moments)('a transaction whose connection is cut %s', (moment) => {
  test.each([
    ['begin', work],
    ['commit', work],
    ['rollback', workThatFails],
    ['select 1', work],
  ])('at %s returns its slot to the pool', async (statement, run) => {
    proxy.cutAt(statement, moment);
    for (let attempt = 0; attempt <= poolSize; attempt += 1) await expect(run()).rejects.toThrow();
    expect(proxy.cuts()).toBe(poolSize + 1);
    proxy.cutAt(undefined);

    await expect(work()).resolves.toEqual([{ one: 1 }]);
    await expectWholePool();
  });
});

/** The first check of doctor, as its text. */
const checkDatabase = async () => checkText(await checkOfDatabase(database));

describe('a connection', () => {
  const takeAll = () => Promise.all(Array.from({ length: poolSize }, () => database.pool.connect()));

  test('that ends while it is held by work that never releases it returns to the pool', async () => {
    await takeAll();
    proxy.cutAll();
    await waitUntil('the pool is empty', () => database.pool.totalCount === 0);
    await expectWholePool();
  });

  test('that the server ends while it is held returns to the pool, and a late release has no effect', async () => {
    const clients = await takeAll();
    for (const client of clients) await client.query("set idle_session_timeout = '20ms'");
    await waitUntil('the pool is empty', () => database.pool.totalCount === 0);
    for (const client of clients) client.release();
    await expectWholePool();
  });

  test('that ends makes room for waiting callers', async () => {
    await takeAll();
    const waiting = Promise.all([work(), work(), work()]);
    await waitUntil('they wait', () => database.pool.waitingCount === 3);
    proxy.cutAll();
    await expect(waiting).resolves.toHaveLength(3);
    await expectWholePool();
  });

  test('that ends while it is idle is replaced', async () => {
    await expectWholePool();
    proxy.cutAll();
    await waitUntil('the pool is empty', () => database.pool.totalCount === 0);
    await expectWholePool();
  });

  test('that the server ends because its transaction is open for too long is replaced', async () => {
    const tooLong = database.fork().transactional(async (em) => {
      await em.execute("set local transaction_timeout = '50ms'");
      await em.execute('select pg_sleep(60)');
    });

    await expect(tooLong.catch(explainDatabaseError)).resolves.toMatchObject({
      rawMessage: expect.stringContaining('after its transaction_timeout'),
    });
    await expectWholePool();
  });

  test('that refuses a write because the server is read-only is replaced, and doctor names the cause', async () => {
    const setReadOnly = async (setting: 'set default_transaction_read_only = on' | 'reset all') => {
      const client = await database.pool.connect();
      await client.query(`
        begin read write; alter database ${new URL(server.url).pathname.slice(1)} ${setting}; commit`);
      client.release();
    };
    const write = () =>
      database.fork().transactional((em) => em.execute('create table if not exists written ()'));
    await setReadOnly('set default_transaction_read_only = on');
    proxy.cutAll();
    await waitUntil('the pool is empty', () => database.pool.totalCount === 0);

    const error = await write().catch(explainDatabaseError);
    const finding = await checkDatabase();
    await setReadOnly('reset all');

    expect(error).toMatchObject({ rawMessage: expect.stringContaining('PostgreSQL is read-only') });
    expect(finding.detail).toContain('default_transaction_read_only is on');
    for (let attempt = 0; attempt < poolSize; attempt += 1) await write().catch(() => undefined);
    await expect(write()).resolves.toEqual([]);
  });

  test('on which a write finds no space left leads to the full disk, in calls and in doctor', async () => {
    const before = await checkDatabase();

    const error = await database.pool
      .query(
        `do $$ begin raise exception using errcode = '53100', message = 'could not extend file "base/1"'; end $$`,
      )
      .catch(explainDatabaseError);
    const after = await checkDatabase();

    expect(error).toMatchObject({ rawMessage: 'the disk of PostgreSQL is full; free space on it' });
    expect(before.detail).not.toContain('disk');
    expect(after.detail).toBe(
      'writes failed in the last minute, because the disk of PostgreSQL was full: could not extend file "base/1". Free space on it, and check again a minute later',
    );
  });

  test('whose connections all wait for a lock of another session is named by doctor', async () => {
    await other.query('begin; lock table core.api_keys');
    const waiting = Promise.all(
      Array.from({ length: poolSize }, () => database.pool.query('select from core.api_keys')),
    );

    const finding = await waitUntil('it is named', async () => {
      const { detail, advice } = await checkDatabase();
      return detail.includes('for a lock of another session') && advice;
    });
    await other.query('commit');
    await waiting;

    expect(finding).toContain('pg_blocking_pids');
  });

  test.each(moments)('that is cut %s while it is being opened takes no slot of the pool', async (moment) => {
    proxy.cutAll();
    await waitUntil('the pool is empty', () => database.pool.totalCount === 0);
    proxy.cutAt('application_name', moment);
    for (let attempt = 0; attempt <= poolSize; attempt += 1)
      await expect(database.pool.connect()).rejects.toThrow();
    proxy.cutAt(undefined);
    await expectWholePool();
  });
});
