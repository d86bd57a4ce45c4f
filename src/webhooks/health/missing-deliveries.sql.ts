import type { PoolClient } from 'pg';
import { bulkStatement, column, rowList } from '../../platform/database/bulk-statement.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';

const statement = bulkStatement(
  undefined,
  {
    event: rowList<OrderEvent>({
      merchant_id: column('text', ({ order }) => order?.merchantId ?? ''),
      event_id: column('text', ({ eventId }) => eventId),
    }),
  },
  (sql) => `
select event.event_id from ${sql.event}
where not exists (
  select from webhooks.deliveries d where d.merchant_id = event.merchant_id and d.event_id = event.event_id
)`,
);

/** The events that have no delivery. */
export async function withoutDelivery(
  client: PoolClient,
  events: readonly OrderEvent[],
): Promise<readonly OrderEvent[]> {
  if (events.length === 0) return [];
  const rows = await runStatement<{ event_id: string }>(client, statement.with({ event: events }));
  const missing = new Set(rows.map(({ event_id: eventId }) => eventId));
  return events.filter(({ eventId }) => missing.has(eventId));
}
