import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import { isWebhookEndpoint } from '../database/webhook-endpoint.sql.ts';
import type { Environment, SecretOwner } from '../domain/delivery.ts';

/** A signing secret that was not shown to anyone yet, and the deliveries that wait for it. */
export interface AwaitedSecret extends SecretOwner {
  /** Counted up to 10,000. */
  readonly pendingCount: bigint;
  /** When the first of the deliveries began to wait. */
  readonly since: Date;
}

const statement = `
select l.merchant_id as "merchantId", l.environment, owner."endpointId",
  least(sum(pending.count), 10000)::text as count, min(l.awaits_secret_since) as since
from webhooks.lanes l
cross join lateral (
  select case when ${isWebhookEndpoint('l.endpoint')} then l.endpoint else '' end as "endpointId"
) owner
cross join lateral (
  select count(*) as count from (
    select from webhooks.deliveries d
    where d.merchant_id = l.merchant_id and d.environment = l.environment and d.endpoint = l.endpoint
      and d.state = 'PENDING'
    limit 10000
  ) counted
) pending
where l.merchant_id = $1 and ($2::webhooks.environment is null or l.environment = $2)
  and l.awaits_secret_since is not null
group by l.merchant_id, l.environment, owner."endpointId"
order by l.environment, owner."endpointId"`;

interface Row extends SecretOwner, Record<string, unknown> {
  readonly count: string;
  readonly since: Date;
}

/** The awaited secrets of a merchant, sandbox before production. */
export async function readAwaitedSecrets(
  pool: Pool,
  merchantId: string,
  environment: Environment | undefined,
): Promise<AwaitedSecret[]> {
  const rows = await runStatement<Row>(pool, { text: statement, values: [merchantId, environment ?? null] });
  return rows.map(({ count, ...row }) => ({ ...row, pendingCount: BigInt(count) }));
}
