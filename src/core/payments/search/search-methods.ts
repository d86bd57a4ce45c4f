import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import type { OrderService } from '../../../gen/gatehouse/v1/order_service_pb.js';
import { attemptPhone } from '../../../contract/attempt-phone.ts';
import { createdAtOf } from '../../../contract/public-id.ts';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import { pageTokenAfter } from '../../../platform/rpc/page-token.ts';
import { orderMessage } from '../../rpc/order-messages.ts';
import { valuesOrThrow } from '../../rpc/request-fields.ts';
import type { FindOrdersAnywhere } from './find-orders-anywhere.ts';
import { parseFindOrders } from './find-orders-request.ts';
import { parseOrderFilter } from './list-orders-request.ts';
import type { FoundOrders } from './read-found-orders.ts';
import type { SearchOrders } from './search-orders.ts';

export interface SearchMethodsParts {
  readonly searchOrders: SearchOrders;
  /** Limits the searches at a time, by merchant and environment. */
  readonly searchFairly: FairCalls;
  readonly findOrdersAnywhere: FindOrdersAnywhere;
  /** The ISO 4217 codes that this deployment accepts. */
  readonly currencies: readonly string[];
}

/** The methods of OrderService that search: ListOrders for one merchant, FindOrders for all. */
export function searchMethods(
  parts: SearchMethodsParts,
): Pick<ServiceImpl<typeof OrderService>, 'listOrders' | 'findOrders'> {
  return {
    async listOrders(request, { signal }) {
      const { filter, key } = valuesOrThrow(parseOrderFilter(request, parts.currencies));
      const owner = `${filter.environment} ${filter.merchantId}`;
      const { searchedTo, ...found } = await parts.searchFairly({ owner }, signal, () =>
        parts.searchOrders(filter),
      );
      const page = foundMessage(found);
      if (searchedTo === undefined) return page;
      return {
        ...page,
        nextPageToken: pageTokenAfter(searchedTo, key),
        searchedBackTo: timestampFromDate(createdAtOf('ord', searchedTo)),
      };
    },
    async findOrders(request) {
      const { search, key } = valuesOrThrow(parseFindOrders(request));
      const { lastId, ...found } = await parts.findOrdersAnywhere(search);
      return {
        ...foundMessage(found),
        nextPageToken: lastId === undefined ? '' : pageTokenAfter(lastId, key),
      };
    },
  };
}

const foundMessage = ({ orders, providerTransactionIds }: FoundOrders) => ({
  orders: orders.map(orderMessage),
  payerPhones: Object.fromEntries(
    orders.flatMap(({ id, latestAttempt }) => {
      const phone = latestAttempt === null ? undefined : attemptPhone(latestAttempt);
      return phone === undefined ? [] : [[id, phone]];
    }),
  ),
  providerTransactionIds: Object.fromEntries(providerTransactionIds),
});
