import { expect, test } from '@jest/globals';
import { orderOfAttempt, orderOfId, orderOfNumber } from '../../../src/core/payments/changes/read-order.ts';
import type { LockOrder } from '../../../src/core/payments/changes/read-order.ts';
import { publicId, storedId } from '../../support/ids.ts';
import { sharedCoreDatabase, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedPaymentDesk } from './payment-desk.ts';

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
