import type { PoolClient } from 'pg';
import { bulkStatement, column, rowList } from '../../platform/database/bulk-statement.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { OwedDelivery } from '../intake/write-deliveries.ts';

const statement = bulkStatement(
  undefined,
  {
    owed: rowList<OwedDelivery>(
      {
        merchant_id: column('text', ({ event }) => event.order?.merchantId ?? ''),
        event_id: column('text', ({ eventId }) => eventId),
        endpoint: column('text', ({ endpoint }) => endpoint),
      },
      { ordinal: 'number' },
    ),
  },
  (sql) => `
select owed.number::int from ${sql.owed}
where not exists (
  select from webhooks.deliveries d
  where d.merchant_id = owed.merchant_id and d.event_id = owed.event_id and d.endpoint = owed.endpoint
)
order by owed.number`,
);

/** Returns the deliveries of the list that the database lacks. */
export async function missingDeliveries(
  client: PoolClient,
  owed: readonly OwedDelivery[],
): Promise<readonly OwedDelivery[]> {
  if (owed.length === 0) return [];
  const rows = await runStatement<{ number: number }>(client, statement.with({ owed }));
  const missing = new Set(rows.map(({ number }) => number));
  return owed.filter((_, index) => missing.has(index + 1));
}
