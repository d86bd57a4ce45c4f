import { Gauge } from 'prom-client';
import type { Metrics } from '../../platform/metrics.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Database } from '../database/database.ts';

/** Adds how far the chains of events are behind the events. All cores show the same values, because only one of them seals. */
export function addSealMetrics(metrics: Metrics, { pool }: Pick<Database, 'pool'>): void {
  metrics.addReading('event seal', (registry) => {
    const registers = [registry];
    const waiting = new Gauge({
      name: 'gatehouse_events_not_sealed',
      help: 'Committed order events that are in no block of their chain yet, counted up to 10000.',
      registers,
    });
    const lag = new Gauge({
      name: 'gatehouse_events_seal_lag_seconds',
      help: 'Age of the oldest event that is in no block of its chain. 0 when there is none.',
      registers,
    });
    return async () => {
      const [row] = await runStatement<{ waiting: number; age: number }>(pool, {
        text: `
select count(*)::integer as waiting, coalesce(greatest(extract(epoch from now() - min(e.occurred_at)), 0), 0)::float8 as age from (
  select occurred_at from core.order_events
  where (xid, position) > (
    coalesce((select xid from core.event_seal), '0'::xid8), coalesce((select position from core.event_seal), 0)
  )
  order by xid, position limit 10000
) e`,
      });
      waiting.set(row?.waiting ?? 0);
      lag.set(row?.age ?? 0);
    };
  });
}
