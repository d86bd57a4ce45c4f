import type { Database } from '../database/database.ts';
import { runStatement } from '../../platform/database/run-statement.ts';

/** The events that the relay has not published yet. */
export interface RelayLag {
  /** The number of waiting events, counted up to 10,000. */
  readonly waiting: number;
  /** How long the oldest event has waited, by the database's clock; 0 when none waits. */
  readonly lagMs: number;
}

/** Counts committed events that the broker has not confirmed. */
export async function readRelayLag(database: Database, stream: string): Promise<RelayLag> {
  const rows = await runStatement<{ waiting: string; lag_ms: number }>(database.pool, {
    text: `
select count(*)::text as waiting,
  coalesce(greatest(0, extract(epoch from clock_timestamp() - min(e.occurred_at)) * 1000), 0)::float8 as lag_ms
from (
  select occurred_at from core.order_events
  where (xid, position) > (
    coalesce((select xid from core.event_relay where stream = $1), '0'::xid8),
    coalesce((select position from core.event_relay where stream = $1), 0)
  )
  order by xid, position limit 10000
) e`,
    values: [stream],
  });
  return { waiting: Number(rows[0]?.waiting ?? 0), lagMs: rows[0]?.lag_ms ?? 0 };
}
