import { expect, test } from '@jest/globals';
import type { EntityManager } from '@mikro-orm/postgresql';
import { OrderRow } from '../../../src/core/database/order-entities.ts';
import {
  byOrderId,
  orderOfAttempt,
  orderOfId,
  orderOfNumber,
  readOrder,
  readOrders,
} from '../../../src/core/payments/changes/read-order.ts';
import type { LockOrder } from '../../../src/core/payments/changes/read-order.ts';
import { publicId, storedId } from '../../support/ids.ts';
import { sharedCoreDatabase, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';
import type { Outcome } from './payment-desk.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
const waiting = 24;
const database = sharedCoreDatabase('turns', () => stack.databaseUrl, waiting + 2);

/** Changes an order in this many concurrent transactions, and returns their ids in the sequence of their locks. */
async function takeTurns(lock: LockOrder): Promise<bigint[]> {
  const turns: bigint[] = [];
  const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
  const change = (hold: Promise<unknown>) =>
    database.fork().transactional(async (em) => {
      const row = await lock(em);
      if (row === undefined) throw new Error('no order');
      await em.execute('update core.orders set reason = reason where id = ?', [row.id]);
      const [{ xid }] = await em.execute<[{ xid: string }]>('select pg_current_xact_id()::text as xid');
      turns.push(BigInt(xid));
      await hold;
    });
  const first = change(released);
  await waitUntil('the first has the lock', () => turns.length === 1);
  const others = Array.from({ length: waiting }, () => change(Promise.resolve()));
  await waitUntil('the others wait', async () => {
    const [{ count }] = (await desk.query<{ count: number }>(`select count(*)::int from pg_stat_activity
      where application_name = 'turns' and wait_event_type = 'Lock'`)) as [{ count: number }];
    return count === waiting;
  });
  release(undefined);
  await Promise.all([first, ...others]);
  return turns;
}

test('transactions that change one order have their ids in the sequence of their changes', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const { orderId, attemptId } = await desk.startDirect({ merchantId, orderNumber: 'D-1' });
  const stored = storedId('mer', merchantId);
  const ofMerchant = { merchantId: publicId('mer', stored), environment: 'SANDBOX' as const };
  const locks = {
    id: orderOfId({ ...ofMerchant, id: publicId('ord', storedId('ord', orderId)) }),
    number: orderOfNumber({ ...ofMerchant, orderNumber: 'D-1' }),
    attempt: orderOfAttempt({ merchantId: stored, id: storedId('pat', attemptId) }),
  };
  const turns: Record<string, bigint[]> = {};
  for (const [name, lock] of Object.entries(locks)) turns[name] = await takeTurns(lock);

  for (const taken of Object.values(turns)) {
    expect(taken).toHaveLength(waiting + 1);
    expect(taken).toEqual(taken.toSorted((one, other) => (one < other ? -1 : 1)));
  }
});

test('a transaction that locks many orders has a later id than each that changed one of them before', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const first = await desk.registerHosted({ merchantId, orderNumber: 'D-0' });
  // So many orders that the statement takes tens of milliseconds.
  const copies = await desk.query<{ id: string }>(sql`insert into core.orders
    select (jsonb_populate_record(o, jsonb_build_object('id', gen_random_uuid(), 'order_number', 'D-' || i))).*
    from core.orders o, generate_series(1, 2000) i where o.id = ${storedId('ord', first.orderId)} returning id`);
  const names = copies.map(({ id }) => ({
    merchantId: publicId('mer', storedId('mer', merchantId)),
    environment: 'SANDBOX' as const,
    id: publicId('ord', id),
  }));
  const last = names.at(-1);
  if (last === undefined) throw new Error('no orders');
  const idIn = async (em: EntityManager): Promise<bigint> => {
    const [{ xid }] = await em.execute<[{ xid: string }]>('select pg_current_xact_id()::text as xid');
    return BigInt(xid);
  };
  const transaction = <T>(change: (em: EntityManager) => Promise<T>): Promise<T> =>
    database.fork().transactional(async (em) => {
      // On a busy machine, a lock of so many orders lasts longer than core's limit for a statement.
      await em.execute('set local statement_timeout = 0');
      return change(em);
    });
  const changed: bigint[] = [];
  let isDone = false;
  const changeOne = async (): Promise<void> => {
    while (!isDone)
      changed.push(
        await transaction(async (em) => {
          await orderOfId(last)(em);
          return idIn(em);
        }),
      );
  };
  const changing = changeOne();
  const turns: { readonly own: bigint; readonly before: bigint }[] = [];
  await waitUntil('the last order was free three times', async () => {
    await transaction(async (em) => {
      const locked = await byOrderId.free(em, names);
      const before = changed.reduce((a, b) => (a > b ? a : b), 0n);
      if (locked.at(-1) !== undefined && before > 0n) turns.push({ own: await idIn(em), before });
    });
    return turns.length >= 3;
  });
  isDone = true;
  await changing;

  expect(turns.filter(({ own, before }) => own < before)).toEqual([]);
});

test('orders that are read together are the same as read alone, with at most three statements', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const cases: readonly [
    number: string,
    outcomes: Outcome[],
    inFlight: boolean,
    earlier: number,
    strays: number,
  ][] = [
    ['UNTOUCHED', [], false, 0, 0],
    ['IN-FLIGHT', [], true, 0, 0],
    ['DECLINED', [outcomes.declined()], false, 0, 0],
    ['AGAIN', [outcomes.declined()], true, 1, 0],
    ['TWICE', [outcomes.declined(), outcomes.declined()], false, 1, 0],
    ['STRAY', [outcomes.declined(), outcomes.completed('t-1', '99.00')], false, 1, 1],
  ];
  for (const [orderNumber, tried, inFlight] of cases) {
    const hosted = await desk.registerHosted({ merchantId, orderNumber });
    for (const outcome of tried) await desk.settle(await desk.payHosted(hosted), outcome);
    if (inFlight) await desk.payHosted(hosted);
  }
  const ofMerchant = { merchantId: storedId('mer', merchantId) };
  const em = database.fork();
  const rows = await em.find(OrderRow, ofMerchant, { orderBy: { id: 'asc' } });
  let statements = 0;
  const counting = new Proxy(em, {
    get(target, member) {
      // A statement of the ORM, or one of ours.
      if (member === 'find' || member === 'getConnection') statements += 1;
      const value: unknown = Reflect.get(target, member);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

  const together = await readOrders(counting, rows);

  expect(statements).toBe(3);
  const alone = await Promise.all(
    rows.map(async ({ orderNumber }) => {
      const own = database.fork();
      return readOrder(own, await own.findOneOrFail(OrderRow, { ...ofMerchant, orderNumber }));
    }),
  );
  expect(together).toEqual(alone);
  expect(
    together.map((order) => [order.orderNumber, order.earlierAttempts.length, order.strayMoney.length]),
  ).toEqual(cases.map(([orderNumber, , , earlier, strays]) => [orderNumber, earlier, strays]));
});
