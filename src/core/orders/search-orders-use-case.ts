import { publicId, lowestStoredIdAt, storedId } from '../../runtime/public-id.ts';
import type { Database } from '../database/database.ts';
import { orderOf } from '../database/order-rows.ts';
import type { Environment, Order, OrderStatus, PaymentOption, PaymentType } from '../domain/order.ts';
import { findOrders } from './find-orders.sql.ts';
import { searchOrderIds } from './search-orders.sql.ts';
import type { StoredOrderFilter } from './search-orders.sql.ts';

/** Which orders are wanted; ids as they are shown. What is undefined, or an empty list, narrows nothing down. */
export interface OrderFilter {
  readonly merchantId: string;
  readonly environment: Environment;
  readonly statuses: readonly OrderStatus[];
  readonly createdFrom: Date | undefined;
  readonly createdTo: Date | undefined;
  readonly orderNumber: string | undefined;
  readonly orderNumberPrefix: string | undefined;
  /** In E.164 form. */
  readonly phone: string | undefined;
  readonly currency: string | undefined;
  readonly minMinorUnits: bigint | undefined;
  readonly maxMinorUnits: bigint | undefined;
  readonly paymentTypes: readonly PaymentType[];
  readonly paymentOptions: readonly PaymentOption[];
  /** Only orders older than the one with this id. */
  readonly beforeId: string | undefined;
  readonly limit: number;
}

export interface OrderSearchPage {
  /** Newest first; may be fewer than the limit although others follow. */
  readonly orders: readonly Order[];
  /** The id down to which the search has got; undefined when it is over. */
  readonly searchedTo: string | undefined;
}

export type SearchOrders = (filter: OrderFilter) => Promise<OrderSearchPage>;

/** Searches a merchant's orders, newest first, without ever reading more than a bounded number of them in one call. */
export function createSearchOrders({ pool }: Pick<Database, 'pool'>): SearchOrders {
  return async (filter) => {
    const stored = storedFilterOf(filter);
    const { merchantId, environment } = stored;
    const { ids, searchedTo } = await searchOrderIds(pool, stored, filter.limit + 1);
    const page = ids.slice(0, filter.limit);
    const found = await findOrders(
      pool,
      page.map((value) => ({ merchantId, environment, by: 'id' as const, value })),
    );
    const last = ids.length > filter.limit ? page.at(-1) : searchedTo;
    return {
      orders: found.flatMap((each) => (each === undefined ? [] : orderOf(each.order, each.latestAttempt))),
      searchedTo: last === undefined ? undefined : publicId('ord', last),
    };
  };
}

function storedFilterOf(filter: OrderFilter): StoredOrderFilter {
  const { beforeId, createdFrom, createdTo, orderNumberPrefix: prefix } = filter;
  // Ids sort by creation time, so a span of time is a span of the primary key.
  const above = [
    beforeId === undefined ? undefined : storedId('ord', beforeId),
    createdTo === undefined ? undefined : lowestStoredIdAt(createdTo),
  ].filter((id) => id !== undefined);
  return {
    ...filter,
    merchantId: storedId('mer', filter.merchantId),
    belowId: above.sort()[0],
    fromId: createdFrom === undefined ? undefined : lowestStoredIdAt(createdFrom),
    orderNumbers: prefix === undefined ? undefined : { from: prefix, to: afterPrefix(prefix) },
  };
}

/** The first text after all that start with this prefix, in the byte order that order numbers are stored in. */
function afterPrefix(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}
