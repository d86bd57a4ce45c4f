import { storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import { createBatcher } from '../../../platform/batcher.ts';
import { batchLimits } from '../../database/batch-limits.ts';
import type { Database } from '../../database/database.ts';
import { orderOf } from '../../database/order-rows.ts';
import type { Environment, Order } from '../../domain/order.ts';
import type { NameInEnvironment } from '../../rpc/order-key.ts';
import { findOrders } from './find-orders.sql.ts';
import type { FoundOrder, OrderKey } from './find-orders.sql.ts';

/** The name of an order in a request, with public ids. */
export type OrderName = {
  readonly merchantId: PublicId<'mer'>;
  readonly environment: Environment;
} & NameInEnvironment;

/** The order with this name; undefined when it does not exist. Concurrent calls share a statement. Errors: OVERLOADED. */
export type FindOrder = (
  name: OrderName,
  scope: { readonly signal: AbortSignal },
) => Promise<Order | undefined>;

export function createFindOrder(database: Database): FindOrder {
  const find = createBatcher<OrderKey, FoundOrder | 'none'>({
    name: 'find orders',
    run: async (keys) => (await findOrders(database.pool, keys)).map((found) => found ?? 'none'),
    ...batchLimits,
  });
  return async (name, { signal }) => {
    const key = {
      merchantId: storedId('mer', name.merchantId),
      environment: name.environment,
      by: name.by,
      value: name.by === 'id' ? storedId('ord', name.value) : name.value,
    };
    const found = await find(key, signal);
    return found === 'none' ? undefined : orderOf(found.order, found.latestAttempt);
  };
}
