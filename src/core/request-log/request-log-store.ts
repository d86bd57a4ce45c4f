import { isDataRefused } from '../../platform/database/explain-error.ts';
import { createBatcher } from '../../platform/batcher.ts';
import type { CallerSignal } from '../../platform/batcher.ts';
import { lowestStoredIdAt, storedId } from '../../contract/public-id.ts';
import type { NewId, StoredId } from '../../contract/public-id.ts';
import type { Database } from '../database/database.ts';
import { ApiRequestRow } from '../database/request-log-entities.ts';
import { walkBack } from '../database/walk-back.ts';
import type { SearchBounds } from '../database/walk-back.ts';
import type { Environment } from '../domain/order.ts';
import { apiRequestBodies } from '../rpc/api-request-message.ts';
import { countUnkept, insertRequests } from './insert-requests.sql.ts';
import type { RequestValues, UnkeptValues } from './insert-requests.sql.ts';
import { searchRequestIds } from './search-requests.sql.ts';
import type { RequestFilter } from './search-requests.sql.ts';
import { keptDays, toleratedSkewMs } from './request-days.ts';

export type ApiRequest = Omit<ApiRequestRow, symbol>;
export type ListedRequest = Omit<ApiRequest, 'requestBody' | 'responseBody'>;

/** One report of a facade, with stored ids. */
export interface RequestReport {
  readonly requests: readonly RequestValues[];
  readonly unkept: readonly UnkeptValues[];
}

export interface RequestPage {
  /** Newest first; without bodies. A page below the limit with more to come means that the call reached its bounds. */
  readonly requests: readonly ListedRequest[];
  /** The id down to which the search has come; undefined at the end. */
  readonly searchedTo: StoredId<'req'> | undefined;
}

export interface RequestLogStore {
  /** Errors: OVERLOADED. */
  readonly record: (report: RequestReport, signal: CallerSignal) => Promise<void>;
  readonly list: (filter: RequestFilter) => Promise<RequestPage>;
  /** One request with its bodies. Undefined when the log does not have it. */
  readonly find: (
    merchantId: StoredId<'mer'>,
    environment: Environment,
    id: StoredId<'req'>,
  ) => Promise<ApiRequest | undefined>;
  /** The number of requests, in the days that the log keeps, that have no entry in it. */
  readonly unkept: (merchantId: StoredId<'mer'>, environment: Environment) => Promise<bigint>;
}

export interface RequestLogStoreParts {
  readonly database: Database;
  readonly newId: NewId;
  readonly now: () => Date;
  readonly bounds: SearchBounds;
}

/** One write at a time for all facades, so that the log uses one connection of the pool. */
const limits = { maxItems: 10, maxInFlight: 1, maxWaiting: 50 };
const dayMs = 24 * 60 * 60_000;

export function createRequestLogStore({
  database,
  newId,
  now,
  bounds,
}: RequestLogStoreParts): RequestLogStore {
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
    async list({ limit, ...filter }) {
      const { ids, searchedTo } = await walkBack(bounds, {
        belowId: filter.beforeId,
        wanted: limit + 1,
        walk: (beforeId, wanted) => searchRequestIds(database.pool, { ...filter, beforeId }, wanted),
      });
      const { merchantId, environment } = filter;
      const page = ids.slice(0, limit);
      const requests = await database
        .fork()
        .find(
          ApiRequestRow,
          { merchantId, environment, id: { $in: page } },
          { orderBy: { id: 'desc' }, exclude: apiRequestBodies },
        );
      return { requests, searchedTo: ids.length > limit ? page.at(-1) : searchedTo };
    },
    async find(merchantId, environment, id) {
      return (await database.fork().findOne(ApiRequestRow, { merchantId, environment, id })) ?? undefined;
    },
    unkept: (merchantId, environment) =>
      countUnkept(database.pool, merchantId, environment, new Date(now().getTime() - keptDays * dayMs)),
  };
}
