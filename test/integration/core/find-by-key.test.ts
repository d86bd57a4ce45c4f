import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { OrderRow } from '../../../src/core/database/order-entities.ts';
import { registerOrder } from '../../../src/core/domain/order.ts';
import { findAllByKey } from '../../../src/platform/database/find-by-key.ts';
import { publicId, storedId } from '../../support/ids.ts';
import { sharedCoreDatabase, sharedTestDatabase } from '../../support/shared-stack.ts';
import { newOrderFacts, openOrderChanges } from './order-changes.ts';

const merchantId = publicId('mer', randomUUID());
const testDatabase = sharedTestDatabase();
const database = sharedCoreDatabase('find-by-key', () => testDatabase.url, 4);

async function addOrder(orderNumber: string) {
  const changed = registerOrder(newOrderFacts(merchantId, orderNumber));
  const scope = { requestId: '', signal: new AbortController().signal };
  await openOrderChanges(database).add(changed, scope);
  const { environment, id } = changed.order;
  return { merchantId: storedId('mer', merchantId), environment, id: storedId('ord', id) };
}

test('rows are found by their keys like those of the ORM, in a transaction and outside', async () => {
  const keys = [await addOrder('K-1'), await addOrder('K-2'), await addOrder('K-3')];
  const [first, ...others] = keys;
  const absent = { ...first, id: storedId('ord', publicId('ord', randomUUID())) };
  const expected = await database.fork().find(OrderRow, { $or: keys }, { orderBy: { id: 'asc' } });
  const find = async (em = database.fork()) =>
    [
      ...(await findAllByKey(em, OrderRow, [...others, absent])),
      ...(await findAllByKey(em, OrderRow, [{ ...first }])),
    ].toSorted((one, other) => (one.id < other.id ? -1 : 1));

  expect(await find()).toEqual(expected);
  expect(await database.fork().transactional(find)).toEqual(expected);
  expect(await findAllByKey(database.fork(), OrderRow, [absent])).toEqual([]);
});

test('a row that was read before keeps what has changed since', async () => {
  const key = await addOrder('C-1');
  const em = database.fork();
  const row = await em.findOneOrFail(OrderRow, key);
  row.reason = 'changed';

  const found = await findAllByKey(em, OrderRow, [key, await addOrder('C-2')]);

  expect(found[0]).toBe(row);
  expect(found.map(({ reason }) => reason)).toEqual(['changed', 'Two coffees']);
});
