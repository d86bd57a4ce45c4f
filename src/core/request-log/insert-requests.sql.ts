import type { Pool } from 'pg';
import { inTransaction } from '../../runtime/database/in-transaction.ts';
import { runStatement } from '../../runtime/database/run-statement.ts';
import type { ApiRequestRow } from '../database/entities.ts';
import type { Environment } from '../domain/order.ts';

export type RequestValues = Omit<ApiRequestRow, symbol | 'durationMicros'> & {
  readonly durationMicros: bigint;
};

export interface UnkeptValues {
  readonly merchantId: string;
  readonly environment: Environment;
  readonly count: bigint;
}

const requests = `
insert into core.api_requests (
  merchant_id, environment, id, api_key_id, request_id, endpoint, method, path, status, reason, duration_micros,
  order_number, request_body, response_body
)
select * from unnest(
  $1::uuid[], $2::core.environment[], $3::uuid[], $4::uuid[], $5::text[], $6::core.api_endpoint[], $7::text[],
  $8::text[], $9::smallint[], $10::text[], $11::bigint[], $12::text[], $13::text[], $14::text[]
)
on conflict do nothing`;

const unkept = `
insert into core.api_requests_unkept as known (merchant_id, environment, hour, count)
select merchant_id, environment, date_trunc('hour', $4::timestamptz, 'UTC'), sum(count)
from unnest($1::uuid[], $2::core.environment[], $3::bigint[]) as t (merchant_id, environment, count)
group by merchant_id, environment order by merchant_id, environment
on conflict (merchant_id, environment, hour) do update set count = known.count + excluded.count`;

/**
 * One commit, which is not waited for until it is on disk: a crash of the server may cost the last moments of this log,
 * and never makes it, or anything else, inconsistent. Payments share the disk and need not stand behind it.
 */
export async function insertRequests(
  pool: Pool,
  rows: readonly RequestValues[],
  counts: readonly UnkeptValues[],
  at: Date,
): Promise<void> {
  await inTransaction(pool, ['set local synchronous_commit = off'], async (client) => {
    if (rows.length > 0) {
      await client.query({
        name: 'insert-api-requests',
        text: requests,
        values: [
          rows.map((row) => row.merchantId),
          rows.map((row) => row.environment),
          rows.map((row) => row.id),
          rows.map((row) => row.apiKeyId),
          rows.map((row) => row.requestId),
          rows.map((row) => row.endpoint),
          rows.map((row) => row.method),
          rows.map((row) => row.path),
          rows.map((row) => row.status),
          rows.map((row) => row.reason),
          rows.map((row) => row.durationMicros),
          rows.map((row) => row.orderNumber),
          rows.map((row) => row.requestBody),
          rows.map((row) => row.responseBody),
        ],
      });
    }
    if (counts.length > 0) {
      const values = [
        counts.map(({ merchantId }) => merchantId),
        counts.map(({ environment }) => environment),
        counts.map(({ count }) => count),
        at,
      ];
      await client.query({ text: unkept, values });
    }
  });
}

/** How many requests of a merchant were not kept since then. */
export async function countUnkept(
  pool: Pool,
  merchantId: string,
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
