import { publicId, lowestStoredIdAt, storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import type { Database } from '../../database/database.ts';
import { walkBack } from '../../database/walk-back.ts';
import type { SearchBounds } from '../../database/walk-back.ts';
import type { Environment, Order, OrderStatus, PaymentOption, PaymentType } from '../../domain/order.ts';
import { readFoundOrders } from './read-found-orders.ts';
import { isPrefixRare, searchOrderIds } from './search-orders.sql.ts';
import type { StoredOrderFilter } from './search-orders.sql.ts';

/** The filter of a search, with public ids. Undefined or an empty list means no filter. */
export interface OrderFilter {
  readonly merchantId: PublicId<'mer'>;
  readonly environment: Environment;
  readonly statuses: readonly OrderStatus[];
  readonly createdFrom: Date | undefined;
  readonly createdTo: Date | undefined;
  readonly orderNumber: string | undefined;
  readonly orderNumberPrefix: string | undefined;
  /** The customer_phone, in E.164 form. */
  readonly customerPhone: string | undefined;
  /** The customer_phone or the phone of a payment attempt, in E.164 form. */
  readonly phone: string | undefined;
  /** When the orders became COMPLETED. */
  readonly completedFrom: Date | undefined;
  readonly completedTo: Date | undefined;
  /** In the wallet's own form. */
  readonly providerTransactionId: string | undefined;
  readonly currency: string | undefined;
  readonly minMinorUnits: bigint | undefined;
  readonly maxMinorUnits: bigint | undefined;
  readonly paymentTypes: readonly PaymentType[];
  readonly paymentOptions: readonly PaymentOption[];
  /** Only orders older than the one with this id. */
  readonly beforeId: PublicId<'ord'> | undefined;
  readonly limit: number;
}

export interface OrderSearchPage {
  /** Newest first. A page below the limit with more to come means that the call reached its bounds. */
  readonly orders: readonly Order[];
  /** The wallet's transaction number, by the id of each paid order. */
  readonly providerTransactionIds: ReadonlyMap<string, string>;
  /** The id down to which the search has come; undefined at the end. */
  readonly searchedTo: PublicId<'ord'> | undefined;
}

export type SearchOrders = (filter: OrderFilter) => Promise<OrderSearchPage>;

/**
 * Searches a merchant's orders, newest first, and examines a bounded number of them per call. A page is full or the
 * last, unless the bounds end the call first.
 */
export function createSearchOrders({ pool }: Pick<Database, 'pool'>, bounds: SearchBounds): SearchOrders {
  return async (filter) => {
    const stored = storedFilterOf(filter);
    const isRarePrefix = await isPrefixRare(pool, stored);
    const { ids, searchedTo } = await walkBack(bounds, {
      belowId: stored.belowId,
      wanted: filter.limit + 1,
      walk: (belowId, limit) => searchOrderIds(pool, { ...stored, belowId }, isRarePrefix, limit),
    });
    const { merchantId, environment } = stored;
    const page = ids.slice(0, filter.limit);
    const keys = page.map((id) => ({ merchantId, environment, id }));
    const last = ids.length > filter.limit ? page.at(-1) : searchedTo;
    return {
      ...(await readFoundOrders(pool, keys)),
      searchedTo: last === undefined ? undefined : publicId('ord', last),
    };
  };
}

/** An order is registered before it is completed, and the clocks of the cores that do this never differ by more. */
const clocksMs = 24 * 3_600_000;

function storedFilterOf(filter: OrderFilter): StoredOrderFilter {
  const { beforeId, createdFrom, createdTo, completedTo, orderNumberPrefix: prefix } = filter;
  // Ids sort by creation time, so a time range is a range of the primary key.
  const upperBounds = [
    beforeId === undefined ? undefined : storedId('ord', beforeId),
    createdTo === undefined ? undefined : lowestStoredIdAt(createdTo),
    completedTo === undefined ? undefined : lowestStoredIdAt(new Date(completedTo.getTime() + clocksMs)),
  ].filter((id) => id !== undefined);
  return {
    ...filter,
    merchantId: storedId('mer', filter.merchantId),
    belowId: upperBounds.sort()[0],
    fromId: createdFrom === undefined ? undefined : lowestStoredIdAt(createdFrom),
    orderNumberRange: prefix === undefined ? undefined : { from: prefix, to: afterPrefix(prefix) },
  };
}

/** The first text after all texts with this prefix, in the byte order of stored order numbers. */
function afterPrefix(prefix: string): string {
  return prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
}
