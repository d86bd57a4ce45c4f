import type { Database } from '../database/database.ts';
import { runStatement } from '../../platform/database/run-statement.ts';

/** The events that the relay has not published yet. */
export interface RelayLag {
  /** The number of waiting events, counted up to 10,000. */
  readonly waiting: number;
  /** The time of the oldest waiting event; undefined when none waits. */
  readonly oldestAt: Date | undefined;
}

/** Counts committed events that the broker has not confirmed. */
export async function readRelayLag(database: Database, stream: string): Promise<RelayLag> {
  const rows = await runStatement<{ waiting: string; oldest: Date | null }>(database.pool, {
    text: `
select count(*)::text as waiting, min(e.occurred_at) as oldest from (
  select occurred_at from core.order_events
  where (xid, position) > (
    coalesce((select xid from core.event_relay where stream = $1), '0'::xid8),
    coalesce((select position from core.event_relay where stream = $1), 0)
  )
  order by xid, position limit 10000
) e`,
    values: [stream],
  });
  return { waiting: Number(rows[0]?.waiting ?? 0), oldestAt: rows[0]?.oldest ?? undefined };
}
