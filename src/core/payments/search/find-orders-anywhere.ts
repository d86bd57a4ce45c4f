import { publicId, storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import type { Database } from '../../database/database.ts';
import { findOrdersAnywhere } from './find-orders-anywhere.sql.ts';
import { readFoundOrders } from './read-found-orders.ts';
import type { FoundOrders } from './read-found-orders.ts';

/** A search over all merchants. An order matches if any value applies. Public ids. */
export interface AnywhereSearch {
  readonly orderId: PublicId<'ord'> | undefined;
  readonly orderNumber: string | undefined;
  readonly providerTransactionId: string;
  /** In E.164 form. */
  readonly phone: string | undefined;
  /** Only orders older than the one with this id. */
  readonly beforeId: PublicId<'ord'> | undefined;
  readonly limit: number;
}

export interface FoundAnywherePage extends FoundOrders {
  /** The id of the last order when more follow. */
  readonly lastId: PublicId<'ord'> | undefined;
}

export type FindOrdersAnywhere = (search: AnywhereSearch) => Promise<FoundAnywherePage>;

/** Finds orders of all merchants, in both environments, newest first. */
export const createFindOrdersAnywhere =
  ({ pool }: Pick<Database, 'pool'>): FindOrdersAnywhere =>
  async ({ orderId, beforeId, limit, ...search }) => {
    const stored = {
      ...search,
      orderId: orderId === undefined ? undefined : storedId('ord', orderId),
      belowId: beforeId === undefined ? undefined : storedId('ord', beforeId),
    };
    const keys = await findOrdersAnywhere(pool, stored, limit + 1);
    const page = keys.slice(0, limit);
    const last = keys.length > limit ? page.at(-1) : undefined;
    return {
      ...(await readFoundOrders(pool, page)),
      lastId: last === undefined ? undefined : publicId('ord', last.id),
    };
  };
