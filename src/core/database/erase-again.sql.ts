import type { EntityManager } from '@mikro-orm/postgresql';
import { storedId } from '../../contract/public-id.ts';
import type { Order } from '../domain/order.ts';

/** Makes another erasure due for an order that was erased before, and that gets new texts. */
export async function eraseAgain(
  em: EntityManager,
  { merchantId, environment, id }: Pick<Order, 'merchantId' | 'environment' | 'id'>,
): Promise<void> {
  await em.execute(
    `insert into core.erasures_due (merchant_id, environment, order_id, due_at) values (?, ?::core.environment, ?, now())
     on conflict do nothing`,
    [storedId('mer', merchantId), environment, storedId('ord', id)],
  );
}
