import type { Pool } from 'pg';
import { bulkStatement, column, rowList, scalar } from '../../platform/database/bulk-statement.ts';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { ApiRequestRow } from '../database/request-log-entities.ts';
import type { Environment } from '../domain/order.ts';
import type { StoredId } from '../../contract/public-id.ts';

export type RequestValues = Omit<ApiRequestRow, symbol | 'durationMicros'> & {
  readonly durationMicros: bigint;
};

/** How many requests of a merchant a facade counted and did not report one by one, because there were too many. */
export interface UnkeptValues {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  readonly count: bigint;
}

const request = rowList<RequestValues>({
  merchant_id: column('uuid', (row) => row.merchantId),
  environment: column('core.environment', (row) => row.environment),
  id: column('uuid', (row) => row.id),
  api_key_id: column('uuid', (row) => row.apiKeyId),
  request_id: column('text', (row) => row.requestId),
  endpoint: column('core.api_endpoint', (row) => row.endpoint),
  method: column('text', (row) => row.method),
  path: column('text', (row) => row.path),
  status: column('smallint', (row) => row.status),
  reason: column('text', (row) => row.reason),
  duration_micros: column('bigint', (row) => row.durationMicros),
  order_number: column('text', (row) => row.orderNumber),
  request_body: column('text', (row) => row.requestBody),
  response_body: column('text', (row) => row.responseBody),
});

const requests = bulkStatement(
  'insert-api-requests',
  { request },
  (sql) => `
insert into core.api_requests (${request.columns})
select ${request.columns} from ${sql.request}
on conflict do nothing
returning id`,
);

const unkept = bulkStatement(
  undefined,
  {
    counted: rowList<UnkeptValues>({
      merchant_id: column('uuid', (row) => row.merchantId),
      environment: column('core.environment', (row) => row.environment),
      count: column('bigint', (row) => row.count),
    }),
    at: scalar<Date>('timestamptz'),
  },
  (sql) => `
insert into core.api_requests_unkept as known (merchant_id, environment, hour, count)
select merchant_id, environment, date_trunc('hour', ${sql.at}, 'UTC'), sum(count)
from ${sql.counted}
group by merchant_id, environment order by merchant_id, environment
on conflict (merchant_id, environment, hour) do update set count = known.count + excluded.count`,
);

/** The content of one call of a facade. */
export interface ReportedRequests {
  readonly requests: readonly RequestValues[];
  readonly unkept: readonly UnkeptValues[];
}

/**
 * Inserts requests and counts. If all requests of a report are stored already, the report repeats a call whose answer was lost, and
 * its counts are not added again.
 *
 * It commits asynchronously, so that payments on the same disk do not wait for the log. A crash of the server may lose the last moments
 * of the log, but never makes data inconsistent.
 */
export async function insertRequests(
  pool: Pool,
  reports: readonly ReportedRequests[],
  at: Date,
): Promise<void> {
  const rows = reports.flatMap((report) => report.requests);
  const hasUnkept = reports.some((report) => report.unkept.length > 0);
  await inTransaction(pool, ['set local synchronous_commit = off'], async (client, _, commitWith) => {
    if (!hasUnkept) {
      await commitWith([requests.with({ request: rows })]);
      return;
    }
    const inserted =
      rows.length > 0 ? await runStatement<{ id: string }>(client, requests.with({ request: rows })) : [];
    const ids = new Set(inserted.map(({ id }) => id));
    const counts = reports
      .filter((report) => report.requests.length === 0 || takeAll(ids, report.requests))
      .flatMap((report) => report.unkept);
    if (counts.length > 0) await client.query(unkept.with({ counted: counts, at }));
  });
}

/** Removes the ids of these requests. Returns whether there was one. */
const takeAll = (ids: Set<string>, taken: readonly { readonly id: string }[]): boolean =>
  taken.filter(({ id }) => ids.delete(id)).length > 0;

/** The number of a merchant's requests that were not stored since then. */
export async function countUnkept(
  pool: Pool,
  merchantId: StoredId<'mer'>,
  environment: Environment,
  since: Date,
): Promise<bigint> {
  const [row] = await runStatement<{ count: string }>(pool, {
    text: `select coalesce(sum(count), 0)::text as count from core.api_requests_unkept
           where merchant_id = $1 and environment = $2 and hour >= $3`,
    values: [merchantId, environment, since],
  });
  return BigInt(row?.count ?? 0);
}
