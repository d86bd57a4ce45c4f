import type { Pool, PoolClient } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Subscription } from '../domain/webhook-endpoint.ts';

// A subscription that was written while the database's clock was ahead began by now at the latest (docs/adr/0058).
const statement = `
select e.merchant_id as "merchantId", e.environment, e.id as "endpointId", e.url, t.event_type as "eventType",
  least(t.since, now()) as since
from webhooks.webhook_endpoints e
join webhooks.webhook_endpoint_types t on t.merchant_id = e.merchant_id and t.endpoint_id = e.id
where e.merchant_id = any($1::text[]) and e.deleted_at is null`;

/** The types of event that the webhook endpoints of these merchants receive, paused endpoints included. */
export const readSubscriptions = (
  client: Pool | PoolClient,
  merchantIds: readonly string[],
): Promise<Subscription[]> =>
  runStatement(client, { name: 'read-subscriptions', text: statement, values: [merchantIds] });
