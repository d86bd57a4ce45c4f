import type { PoolClient } from 'pg';
import { runStatement } from '../../runtime/database/run-statement.ts';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';

/** Those of the events that have no delivery. */
export async function withoutDelivery(
  client: PoolClient,
  events: readonly OrderEvent[],
): Promise<readonly OrderEvent[]> {
  if (events.length === 0) return [];
  const rows = await runStatement<{ event_id: string }>(client, {
    text: `
select event.event_id from unnest($1::text[], $2::text[]) as event (merchant_id, event_id)
where not exists (
  select from webhooks.deliveries d where d.merchant_id = event.merchant_id and d.event_id = event.event_id
)`,
    values: [events.map(({ order }) => order?.merchantId ?? ''), events.map(({ eventId }) => eventId)],
  });
  const missing = new Set(rows.map(({ event_id: eventId }) => eventId));
  return events.filter(({ eventId }) => missing.has(eventId));
}
