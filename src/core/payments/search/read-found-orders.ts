import type { Pool } from 'pg';
import { publicId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import { orderOf } from '../../database/order-rows.ts';
import type { Environment, Order } from '../../domain/order.ts';
import { findOrders } from './find-orders.sql.ts';

/** Stored ids. */
export interface FoundOrderKey {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  readonly id: StoredId<'ord'>;
}

export interface FoundOrders {
  readonly orders: readonly Order[];
  /** The wallet's transaction number, by the id of each paid order. */
  readonly providerTransactionIds: ReadonlyMap<string, string>;
}

/** The orders that a search found, sorted like their keys. */
export async function readFoundOrders(pool: Pool, keys: readonly FoundOrderKey[]): Promise<FoundOrders> {
  const found = await findOrders(
    pool,
    keys.map(({ id, ...owner }) => ({ ...owner, by: 'id' as const, value: id })),
  );
  const existing = found.filter((each) => each !== undefined);
  return {
    orders: existing.map(({ order, latestAttempt }) => orderOf(order, latestAttempt)),
    providerTransactionIds: new Map(
      existing.flatMap(({ order, providerTransactionId }) =>
        providerTransactionId === '' ? [] : [[publicId('ord', order.id), providerTransactionId] as const],
      ),
    ),
  };
}
