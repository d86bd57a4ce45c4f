import { fromBinary } from '@bufbuild/protobuf';
import type { EntityManager } from '@mikro-orm/postgresql';
import { expect, test } from '@jest/globals';
import { createAccountTimeline } from '../../../src/core/payments/changes/account-timeline.ts';
import { rebuildOrders } from '../../../src/core/payments/changes/rebuild-orders.ts';
import { OrderEventSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { openCoreDatabase, sharedStack } from '../../support/shared-stack.ts';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);

/** Also the append-only ones, as a restore loses them. */
async function loseRows(tables: readonly string[]): Promise<void> {
  for (const table of tables) {
    await desk.query(`alter table core.${table} disable trigger all`);
    await desk.query(`delete from core.${table}`);
    await desk.query(`alter table core.${table} enable trigger all`);
  }
}

// Each flush compares all rows that it knows. With those of the orders before, a hundred orders took minutes.
test('rebuilding an order does not read the rows of the orders before it again', async () => {
  const { id: merchantId } = await stack.createMerchant();
  for (const number of ['R-1', 'R-2', 'R-3']) {
    const phone = `0911300${number.slice(-1).padStart(3, '0')}`;
    const payment = await desk.startDirect({ merchantId, orderNumber: number, phone });
    await desk.settle(payment, outcomes.completed(number));
  }
  const read = () =>
    desk.query<{ payload: Buffer }>('select payload from core.order_events order by order_id, sequence');
  const events = await read();
  await loseRows(['order_events', 'wallet_receipts', 'payment_attempts', 'orders']);
  const database = await openCoreDatabase('rebuild', stack.databaseUrl, 2);
  const forks: EntityManager[] = [];
  const fork = (): EntityManager => {
    const em = database.fork();
    forks.push(em);
    return em;
  };

  const lost = events.map(({ payload }) => ({ event: fromBinary(OrderEventSchema, payload), payload }));
  const rebuilt = await rebuildOrders({ ...database, fork }, lost, createAccountTimeline());
  await database.close();

  expect(rebuilt).toMatchObject({ orders: { length: 3 }, events: events.length, conflicts: [] });
  expect(await read()).toEqual(events);
  expect(forks.map((em) => em.getUnitOfWork().getIdentityMap().values().length)).toEqual([0]);
});
