import { beforeAll, describe, expect, test } from '@jest/globals';
import { inTransaction } from '../../../src/platform/database/in-transaction.ts';
import { runStatement } from '../../../src/platform/database/run-statement.ts';
import { commitWith, runInTransaction } from '../../../src/platform/database/transaction-statement.ts';
import { sharedCoreDatabase, sharedPool, sharedTestDatabase } from '../../support/shared-stack.ts';

const database = sharedTestDatabase({ migrated: false });
const pool = sharedPool(() => database.url, 1);
const orm = sharedCoreDatabase('in-transaction', () => database.url, 1);
const notices: string[] = [];

beforeAll(async () => {
  for (const each of [pool, orm.pool])
    each.on('connect', (client) => client.on('notice', ({ message = '' }) => void notices.push(message)));
  await pool.query('create table kept (id int primary key)');
});

const insert = (id: number) => ({ text: 'insert into kept values ($1) returning id', values: [id] });
const kept = async (): Promise<number[]> => {
  const rows = await runStatement<{ id: number }>(pool, { text: 'delete from kept returning id' });
  return rows.map(({ id }) => id).toSorted((one, other) => one - other);
};

test('the rows of the opening statements and of the last ones come in the order of the statements', async () => {
  const opening = [
    "select 'one' as word",
    "select 'two' as word",
    { text: 'select $1 as word', values: ['three'] },
  ];
  const ended = await inTransaction(pool, opening, async (_, opened, commitWith) => ({
    opened,
    last: await commitWith([insert(2), insert(1)]),
  }));
  expect(ended).toEqual({
    opened: [[{ word: 'one' }], [{ word: 'two' }], [{ word: 'three' }]],
    last: [[{ id: 2 }], [{ id: 1 }]],
  });
  expect(await kept()).toEqual([1, 2]);
});

test('work that does not commit by itself is committed', async () => {
  await inTransaction(pool, [], (client) => runStatement(client, insert(3)));
  expect(await kept()).toEqual([3]);
});

describe('nothing is committed, and the connection remains usable', () => {
  test('when the work throws', async () => {
    const failing = inTransaction(pool, [], async (client) => {
      await runStatement(client, insert(4));
      throw new Error('the work failed');
    });
    await expect(failing).rejects.toThrow('the work failed');
    expect(await kept()).toEqual([]);
  });

  test.each([
    ['the first', [insert(6), insert(7), insert(8)]],
    ['a later', [insert(7), insert(6), insert(8)]],
    ['the last', [insert(7), insert(8), insert(6)]],
  ])('when %s of the last statements fails', async (_which, last) => {
    await pool.query('insert into kept values (6)');
    const failing = inTransaction(pool, [], async (client, _opened, commitWith) => {
      await runStatement(client, insert(5));
      return commitWith(last);
    });
    await expect(failing).rejects.toThrow('duplicate key');
    expect(await kept()).toEqual([6]);
  });

  test('when an opening statement fails', async () => {
    let hasBegun = false;
    const opening = ['select 1', { text: 'select 1 / $1::int', values: [0] }];
    const failing = inTransaction(pool, opening, () => Promise.resolve(void (hasBegun = true)));
    await expect(failing).rejects.toThrow('division by zero');
    expect(hasBegun).toBe(false);
    expect(await kept()).toEqual([]);
  });

  test('when an earlier error was swallowed', async () => {
    const failing = inTransaction(pool, [], async (client) => {
      await client.query('select 1 / 0').catch(() => undefined);
    });
    await expect(failing).rejects.toThrow('the transaction was rolled back');
    expect(await kept()).toEqual([]);
  });

  test('when the session ends before the last statements, and the pool opens another', async () => {
    const failing = inTransaction(pool, [], async (client, _opened, commitWith) => {
      await runStatement(client, insert(9));
      return commitWith([{ text: 'select pg_terminate_backend(pg_backend_pid())' }, insert(10)]);
    });
    await expect(failing).rejects.toThrow('terminating connection');
    expect(await kept()).toEqual([]);
  });
});

test('a named statement behind one that failed can be used afterwards', async () => {
  const named = { name: 'named', text: 'select $1::int as n', values: [1] };
  const failing = inTransaction(pool, [{ text: 'select 1 / $1::int', values: [0] }, named], () =>
    Promise.resolve(),
  );
  await expect(failing).rejects.toThrow('division by zero');
  expect(await inTransaction(pool, [named], (_, opened) => Promise.resolve(opened))).toEqual([[{ n: 1 }]]);
  expect(await runStatement(pool, named)).toEqual([{ n: 1 }]);
});

describe('a transaction of the ORM', () => {
  /** How often the server answers while the work runs. */
  async function answersTo(work: () => Promise<unknown>): Promise<number> {
    let answers = 0;
    const client = await orm.pool.connect();
    const count = (): void => void (answers += 1);
    client.connection.on('readyForQuery', count);
    client.release();
    await work();
    client.connection.off('readyForQuery', count);
    return answers;
  }

  test('sends BEGIN with its first statement, some with the next one, and COMMIT with the last', async () => {
    const answers = await answersTo(() =>
      orm.fork().transactional(async (em) => {
        expect(await runInTransaction(em, insert(11), [insert(10)])).toEqual([{ id: 11 }]);
        expect(await runInTransaction(em, insert(12), [insert(9)])).toEqual([{ id: 12 }]);
        await commitWith(em, [insert(13), insert(14)]);
      }),
    );
    expect(answers).toBe(3);
    expect(await kept()).toEqual([9, 10, 11, 12, 13, 14]);
  });

  test('is sent in one group if its only statement commits', async () => {
    expect(await answersTo(() => orm.fork().transactional((em) => commitWith(em, [insert(14)])))).toBe(1);
    expect(await kept()).toEqual([14]);
  });

  test('commits by itself, and sends nothing if it has no statement', async () => {
    const answers = await answersTo(() => orm.fork().transactional((em) => runInTransaction(em, insert(15))));
    expect(answers).toBe(2);
    expect(await answersTo(() => orm.fork().transactional(() => Promise.resolve()))).toBe(0);
    expect(await kept()).toEqual([15]);
  });

  test('can contain another one', async () => {
    await orm.fork().transactional(async (em) => {
      await em.transactional((inner) => runInTransaction(inner, insert(16)));
      const failing = em.transactional(async (inner) => {
        await runInTransaction(inner, insert(17));
        throw new Error('the inner work failed');
      });
      await expect(failing).rejects.toThrow('the inner work failed');
    });
    expect(await kept()).toEqual([16]);
  });

  test.each([
    ['the first statement fails', [], [insert(18)]],
    ['a statement fails that travels with the next one', [insert(18), insert(19)], [insert(20)]],
    ['the last statement fails', [insert(19)], [insert(18)]],
    ['the first of the last statements fails', [], [insert(18), insert(19)]],
    ['the last of the last statements fails', [], [insert(19), insert(18)]],
  ] as const)('commits nothing if %s', async (_which, statements, last) => {
    await pool.query('insert into kept values (18)');
    const failing = orm.fork().transactional(async (em) => {
      const [next, ...first] = statements.toReversed();
      if (next !== undefined) await runInTransaction(em, next, first);
      await commitWith(em, last);
    });
    await expect(failing).rejects.toThrow('duplicate key');
    expect(await kept()).toEqual([18]);
  });

  test('commits nothing if its work fails, with or without a statement', async () => {
    const fail = (): never => {
      throw new Error('the work failed');
    };
    const failing = orm.fork().transactional((em) => runInTransaction(em, insert(20)).then(fail));
    await expect(failing).rejects.toThrow('the work failed');
    expect(await answersTo(() => orm.fork().transactional(fail).catch(String))).toBe(0);
    expect(await kept()).toEqual([]);
  });

  test('refuses a statement after the one that committed it', async () => {
    const failing = orm.fork().transactional(async (em) => {
      await commitWith(em, [insert(21)]);
      await runInTransaction(em, insert(22));
    });
    await expect(failing).rejects.toThrow('a statement came after the one that committed the transaction');
    expect(await kept()).toEqual([21]);
  });
});

test('the server never warns of a COMMIT or ROLLBACK without a transaction', () => {
  expect(notices).toEqual([]);
});
