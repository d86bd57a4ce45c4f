import { expect, test } from '@jest/globals';
import { OrderRow } from '../../../src/core/database/entities.ts';
import {
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
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';
import type { Outcome } from './payment-desk.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
const waiting = 24;
const database = sharedCoreDatabase('turns', () => stack.databaseUrl, waiting + 2);

/** Changes an order in as many transactions at once, and returns their ids in the order in which they had the lock. */
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
    const [{ count }] = (await desk.query<{ count: number }>(
      `select count(*)::int from pg_stat_activity where application_name = 'turns' and wait_event_type = 'Lock'`,
    )) as [{ count: number }];
    return count === waiting;
  });
  release(undefined);
  await Promise.all([first, ...others]);
  return turns;
}

test('transactions that change one order have their ids in the order of their turns', async () => {
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

test('orders that are read together are the same as alone, with at most three statements', async () => {
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
      if (member === 'find' || member === 'findOneOrFail') statements += 1;
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
