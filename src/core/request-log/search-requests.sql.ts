import type { Pool } from 'pg';
import { lowestStoredIdAt } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import type { ApiEndpoint } from '../database/request-log-entities.ts';
import { walk } from '../database/walk-back.ts';
import type { Walked } from '../database/walk-back.ts';
import type { Environment } from '../domain/order.ts';

export interface RequestFilter {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  /** The range of statuses; the end is exclusive. */
  readonly statuses: readonly [from: number, to: number] | undefined;
  readonly endpoint: ApiEndpoint | undefined;
  readonly orderNumber: string;
  readonly requestId: string;
  readonly createdFrom: Date | undefined;
  readonly createdTo: Date | undefined;
  /** Only requests before this one. */
  readonly beforeId: StoredId<'req'> | undefined;
  readonly limit: number;
}

/** The number of requests that one walk examines, after the index. */
const walkedRows = 50_000;

/**
 * Returns up to `limit` ids of matching requests, newest first, from one walk. An index finds an order_number, a request id and refused or
 * failed requests. For other filters, the statement walks back through a bounded number of requests (docs/adr/0010).
 */
export function searchRequestIds(
  pool: Pool,
  filter: Omit<RequestFilter, 'limit'>,
  limit: number,
): Promise<Walked<StoredId<'req'>>> {
  const { statuses, endpoint, orderNumber, requestId, createdFrom, createdTo, beforeId } = filter;
  const values: unknown[] = [];
  const bind = (value: unknown): string => `$${values.push(value)}`;
  const source = [
    `core.api_requests r where r.merchant_id = ${bind(filter.merchantId)} and r.environment = ${bind(filter.environment)}`,
    ...(createdFrom === undefined ? [] : [`r.id >= ${bind(lowestStoredIdAt(createdFrom))}`]),
    ...(createdTo === undefined ? [] : [`r.id < ${bind(lowestStoredIdAt(createdTo))}`]),
    ...(beforeId === undefined ? [] : [`r.id < ${bind(beforeId)}`]),
    // Both conditions, so that the planner can use the partial index of requests with an order_number.
    ...(orderNumber === '' ? [] : [`r.order_number = ${bind(orderNumber)} and r.order_number <> ''`]),
    ...(requestId === '' ? [] : [`r.request_id = ${bind(requestId)}`]),
    // The condition of the partial index.
    ...(statuses !== undefined && statuses[0] >= 400 ? ['r.status >= 400'] : []),
  ].join(' and ');
  const wanted = [
    ...(statuses === undefined
      ? []
      : [`w.status >= ${bind(statuses[0])} and w.status < ${bind(statuses[1])}`]),
    ...(endpoint === undefined ? [] : [`w.endpoint = ${bind(endpoint)}`]),
  ];
  return walk(pool, { source, row: 'r', wanted, rows: walkedRows, limit, values });
}
