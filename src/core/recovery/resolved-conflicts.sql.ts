import type { Pool } from 'pg';
import { uuidOfId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { StreamEvent } from './read-stream.ts';

/** Whether an operator has resolved an order with this event, which could not be rebuilt. */
export type IsResolved = (event: StreamEvent) => boolean;

/**
 * The reading of the stream begins before the lost time, so it meets events of an earlier recovery again. The operator has resolved the
 * orders that this recovery could not rebuild, and must not do so twice. A later event of such an order is not resolved.
 */
export async function readResolvedConflicts(pool: Pool): Promise<IsResolved> {
  const rows = await runStatement<{ order_id: string; until: Date }>(pool, {
    text: `
select o.order_id, r.until
from core.recovered_orders o
cross join (select max(stream_until) as until from core.recoveries where conflicts_accepted_by <> '') r
where o.state <> 'REBUILT' and r.until is not null`,
  });
  const resolvedUntil = new Map(rows.map(({ order_id: id, until }) => [id, new Date(until)]));
  return ({ event, storedAt }) => {
    const until = resolvedUntil.get(uuidOfId(event.order?.orderId ?? '') ?? '');
    return until !== undefined && storedAt <= until;
  };
}
