import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ConnectError } from '@connectrpc/connect';
import { explainDatabaseError, isDataRefused } from '../../../src/platform/database/explain-error.ts';
import { createBatcher } from '../../../src/platform/batcher.ts';
import { RetryInfoSchema } from '../../../src/gen/google/rpc/error_details_pb.js';
import { reasonOf } from '../../../src/platform/rpc/rpc-error.ts';
import { refusalOf } from '../../support/rpc-failure.ts';
import { sharedPool, sharedTestDatabase } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';

const nobodyLeaves = new AbortController().signal;

interface Batch {
  readonly items: readonly number[];
  readonly finish: () => void;
  readonly fail: (error: Error) => void;
}

/** A database in which the test decides when each statement ends. The outcome of an item is the item times ten. */
function heldStatements() {
  const batches: Batch[] = [];
  const run = (items: readonly number[]): Promise<readonly number[]> =>
    new Promise((resolve, reject) => {
      batches.push({ items, finish: () => resolve(items.map((item) => item * 10)), fail: reject });
    });
  const batch = (index: number): Promise<Batch> =>
    waitUntil(`statement ${index + 1} runs`, () => batches[index]);
  return { batches, run, batch };
}

/** A batcher with one statement that runs, with the item 1. */
async function runningBatcher(own: Partial<Parameters<typeof createBatcher<number, number>>[0]> = {}) {
  const statements = heldStatements();
  const commit = createBatcher({ ...limits, run: statements.run, ...own });
  const running = commit(1, nobodyLeaves);
  return { ...statements, commit, running, first: await statements.batch(0) };
}

const limits = { isOneItemsFault: isDataRefused, maxItems: 100, maxInFlight: 1, maxWaiting: 1000 };

describe('a batcher', () => {
  test('returns an outcome of undefined or null like any other', async () => {
    const run = (items: readonly (null | undefined)[]) => Promise.resolve(items);
    const find = createBatcher({ ...limits, run });

    const found = await Promise.all([find(null, nobodyLeaves), find(undefined, nobodyLeaves)]);
    expect(found).toEqual([null, undefined]);
  });

  test('collects calls that arrive while the previous statement runs', async () => {
    const { batch, batches, commit, running, first } = await runningBatcher();

    const later: Promise<number>[] = [];
    for (const item of [2, 3, 4]) {
      later.push(commit(item, nobodyLeaves));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(batches).toHaveLength(1);
    first.finish();
    const second = await batch(1);
    second.finish();

    expect(second.items).toEqual([2, 3, 4]);
    expect(await Promise.all([running, ...later])).toEqual([10, 20, 30, 40]);
  });

  test('limits the concurrent statements, and the items of each', async () => {
    const { batch, batches, run } = heldStatements();
    const commit = createBatcher({ run, maxItems: 2, maxInFlight: 2, maxWaiting: 1000 });

    const outcomes = Promise.all([1, 2, 3, 4, 5].map((item) => commit(item, nobodyLeaves)));
    await batch(1);
    expect(batches.map(({ items }) => items)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    batches[0]?.finish();
    const third = await batch(2);
    batches[1]?.finish();
    third.finish();

    expect(third.items).toEqual([5]);
    expect(await outcomes).toEqual([10, 20, 30, 40, 50]);
  });

  test('refuses calls beyond the queue limit at once with the wait, and accepts calls again afterwards', async () => {
    const { batch, commit, running, first } = await runningBatcher({ maxWaiting: 2 });
    const waiting = [commit(2, nobodyLeaves), commit(3, nobodyLeaves)];

    const refused: unknown = await commit(4, nobodyLeaves).catch((error: unknown) => error);

    if (!(refused instanceof ConnectError)) throw new Error('not refused');
    expect(reasonOf(refused)).toBe('OVERLOADED');
    expect(refused.details).toContainEqual(expect.objectContaining({ desc: RetryInfoSchema }));
    first.finish();
    const second = await batch(1);
    const again = commit(5, nobodyLeaves);
    second.finish();
    (await batch(2)).finish();
    expect(await Promise.all([running, ...waiting, again])).toEqual([10, 20, 30, 50]);
  });

  test('does not write a call whose caller disconnected while it waited', async () => {
    const { batch, commit, running, first } = await runningBatcher();
    const leaving = new AbortController();
    const left = commit(2, leaving.signal);
    const stayed = commit(3, nobodyLeaves);

    leaving.abort();
    const reason = refusalOf(left);
    first.finish();
    const second = await batch(1);
    second.finish();

    expect(second.items).toEqual([3]);
    expect(await reason).toBe('CALL_CANCELLED');
    expect(await Promise.all([running, stayed])).toEqual([10, 30]);
  });

  test('runs no statement when all callers have disconnected', async () => {
    const { batches, commit, running, first } = await runningBatcher();
    const leaving = new AbortController();
    const left = [commit(2, leaving.signal), commit(3, leaving.signal)];

    leaving.abort();
    first.finish();

    expect(await Promise.all(left.map(refusalOf))).toEqual(['CALL_CANCELLED', 'CALL_CANCELLED']);
    expect(await running).toBe(10);
    expect(batches).toHaveLength(1);
  });

  test('rejects every call of a failed statement with its error, and continues with the next one', async () => {
    const { batch, run } = heldStatements();
    const commit = createBatcher({ ...limits, run });
    const failing = Promise.allSettled([commit(1, nobodyLeaves), commit(2, nobodyLeaves)]);
    const first = await batch(0);
    const next = commit(3, nobodyLeaves);

    first.fail(new Error('lost'));
    (await batch(1)).finish();

    expect((await failing).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await next).toBe(30);
  });

  test('repeats a refused statement in halves, and delays no other call', async () => {
    const { batch, batches, run } = heldStatements();
    const commit = createBatcher({ ...limits, run, maxInFlight: 2 });
    const together = Promise.allSettled([1, 2, 3].map((item) => commit(item, nobodyLeaves)));
    const refused = Object.assign(new Error('refused'), { code: '23514' });

    (await batch(0)).fail(refused);
    const half = await batch(1);
    const beside = commit(4, nobodyLeaves);
    (await batch(2)).finish();
    expect(await beside).toBe(40);
    half.fail(refused);
    (await batch(3)).finish();
    (await batch(4)).fail(refused);
    (await batch(5)).finish();

    expect(batches.map(({ items }) => items)).toEqual([[1, 2, 3], [1, 2], [4], [1], [2], [3]]);
    expect(await together).toEqual([
      { status: 'fulfilled', value: 10 },
      { status: 'rejected', reason: refused },
      { status: 'fulfilled', value: 30 },
    ]);
  });
});

describe('a batcher on PostgreSQL', () => {
  const database = sharedTestDatabase({ migrated: false });
  const pool = sharedPool(() => database.url, 4);
  beforeAll(() => pool.query('create table items (value integer primary key check (value > 0))'));

  beforeEach(async () => {
    await pool.query('truncate items');
    statements.length = 0;
  });

  const statements: number[] = [];
  const insert = async (values: readonly number[]): Promise<readonly string[]> => {
    statements.push(values.length);
    await pool.query(sql`insert into items select unnest(${values}::integer[])`);
    return values.map(() => 'written');
  };

  const written = async (): Promise<number[]> => {
    const { rows } = await pool.query<{ value: number }>('select value from items order by value');
    return rows.map(({ value }) => value);
  };

  test.each([0, 49, 99])(
    'finds one refused item among a hundred, at index %i, with two statements for each halving',
    async (place) => {
      const commit = createBatcher({ ...limits, run: insert });
      const items = Array.from({ length: 100 }, (_, index) => (index === place ? -1 : index + 1));

      const results = await Promise.allSettled(items.map((item) => commit(item, nobodyLeaves)));

      const refused = results.flatMap(({ status }, index) => (status === 'rejected' ? [index] : []));
      expect(refused).toEqual([place]);
      expect(await written()).toHaveLength(99);
      expect(statements.length).toBeLessThanOrEqual(1 + 2 * Math.ceil(Math.log2(100)));
    },
  );

  test('writes none of a hundred refused items, with fewer than two statements each', async () => {
    const commit = createBatcher({ ...limits, run: insert });

    const results = await Promise.allSettled(
      Array.from({ length: 100 }, (_, index) => commit(-1 - index, nobodyLeaves)),
    );

    expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(await written()).toEqual([]);
    expect(statements).toHaveLength(199);
  });

  test('fails only the calls of a statement whose connection is lost, as DATABASE_UNAVAILABLE, and writes the next', async () => {
    const slow = async (values: readonly number[]): Promise<readonly string[]> => {
      if (values.includes(1)) await pool.query('select pg_sleep(30) as held');
      return insert(values);
    };
    const commit = createBatcher({ ...limits, run: slow, maxInFlight: 2 });
    const lost = Promise.allSettled([commit(1, nobodyLeaves), commit(2, nobodyLeaves)]);
    const terminated = await waitUntil('the statement is cut off', async () => {
      const { rowCount } = await pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query like 'select pg_sleep%' and state = 'active'`);
      return rowCount === 1;
    });

    const next = await commit(3, nobodyLeaves);

    expect(terminated).toBe(true);
    expect(next).toBe('written');
    const reasons = (await lost).map((result) => {
      const error = result.status === 'rejected' ? explainDatabaseError(result.reason) : undefined;
      return error === undefined ? undefined : reasonOf(error);
    });
    expect(reasons).toEqual(['DATABASE_UNAVAILABLE', 'DATABASE_UNAVAILABLE']);
    expect(await written()).toEqual([3]);
  });
});
