import { isDataRefused } from '../../platform/database/explain-error.ts';
import { createBatcher } from '../../platform/batcher.ts';
import type { CallerSignal } from '../../platform/batcher.ts';
import { lowestStoredIdAt, storedId } from '../../contract/public-id.ts';
import type { NewId, StoredId } from '../../contract/public-id.ts';
import type { Database } from '../database/database.ts';
import { ApiRequestRow } from '../database/request-log-entities.ts';
import type { ApiEndpoint } from '../database/request-log-entities.ts';
import type { Environment } from '../domain/order.ts';
import { apiRequestBodies } from '../rpc/api-request-message.ts';
import { countUnkept, insertRequests } from './insert-requests.sql.ts';
import type { RequestValues, UnkeptValues } from './insert-requests.sql.ts';
import { keptDays, toleratedSkewMs } from './request-days.ts';

export type ApiRequest = Omit<ApiRequestRow, symbol>;
export type ListedRequest = Omit<ApiRequest, 'requestBody' | 'responseBody'>;

/** One report of a facade, with stored ids. */
export interface RequestReport {
  readonly requests: readonly RequestValues[];
  readonly unkept: readonly UnkeptValues[];
}

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

export interface RequestLogStore {
  /** Errors: OVERLOADED. */
  readonly record: (report: RequestReport, signal: CallerSignal) => Promise<void>;
  /** Newest first; without bodies. */
  readonly list: (filter: RequestFilter) => Promise<ListedRequest[]>;
  readonly find: (
    merchantId: StoredId<'mer'>,
    environment: Environment,
    id: StoredId<'req'>,
  ) => Promise<ApiRequest | undefined>;
  readonly unkept: (merchantId: StoredId<'mer'>, environment: Environment) => Promise<bigint>;
}

export interface RequestLogStoreParts {
  readonly database: Database;
  readonly newId: NewId;
  readonly now: () => Date;
}

/** One write at a time for all facades, so that the log uses one connection of the pool. */
const limits = { maxItems: 10, maxInFlight: 1, maxWaiting: 50 };
const dayMs = 24 * 60 * 60_000;

export function createRequestLogStore({ database, newId, now }: RequestLogStoreParts): RequestLogStore {
  /** The id's own time if it is plausible. If the facade's clock is too wrong, a new id with the present time. */
  const idNear = (at: Date, id: StoredId<'req'>): StoredId<'req'> => {
    const lowest = lowestStoredIdAt(new Date(at.getTime() - toleratedSkewMs));
    const highest = lowestStoredIdAt(new Date(at.getTime() + toleratedSkewMs));
    return id >= lowest && id < highest ? id : storedId('req', newId('req', at));
  };
  const record = createBatcher<RequestReport, true>({
    name: 'record requests',
    isOneItemsFault: isDataRefused,
    ...limits,
    run: async (reports) => {
      const at = now();
      const stored = reports.map(({ requests, unkept }) => ({
        requests: requests.map((row) => ({ ...row, id: idNear(at, row.id) })),
        unkept,
      }));
      await insertRequests(database.pool, stored, at);
      return reports.map(() => true);
    },
  });
  return {
    async record(report, signal) {
      await record(report, signal);
    },
    async list(filter) {
      const { merchantId, environment, statuses, endpoint, orderNumber, requestId } = filter;
      const { createdFrom, createdTo, beforeId, limit } = filter;
      const ids = [
        ...(createdFrom === undefined ? [] : [{ id: { $gte: lowestStoredIdAt(createdFrom) } }]),
        ...(createdTo === undefined ? [] : [{ id: { $lt: lowestStoredIdAt(createdTo) } }]),
        ...(beforeId === undefined ? [] : [{ id: { $lt: beforeId } }]),
      ];
      return database.fork().find(
        ApiRequestRow,
        {
          merchantId,
          environment,
          ...(statuses === undefined ? {} : { status: { $gte: statuses[0], $lt: statuses[1] } }),
          ...(endpoint === undefined ? {} : { endpoint }),
          // Both conditions, so that the planner can use the partial index of requests with an order_number.
          ...(orderNumber === '' ? {} : { orderNumber: { $eq: orderNumber, $ne: '' } }),
          ...(requestId === '' ? {} : { requestId }),
          ...(ids.length === 0 ? {} : { $and: ids }),
        },
        { orderBy: { id: 'desc' }, limit, exclude: apiRequestBodies },
      );
    },
    async find(merchantId, environment, id) {
      return (await database.fork().findOne(ApiRequestRow, { merchantId, environment, id })) ?? undefined;
    },
    unkept: (merchantId, environment) =>
      countUnkept(database.pool, merchantId, environment, new Date(now().getTime() - keptDays * dayMs)),
  };
}
