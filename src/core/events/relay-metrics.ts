import { Gauge } from 'prom-client';
import type { Metrics } from '../../platform/metrics.ts';
import type { Database } from '../database/database.ts';
import { readRelayLag } from './relay-lag.ts';

export interface RelayMetricsParts {
  readonly database: Database;
  readonly stream: string;
}

/** Adds metrics of the broker's lag behind the database. All cores show the same values, because only one of them relays. */
export function addRelayMetrics(metrics: Metrics, { database, stream }: RelayMetricsParts): void {
  metrics.addReading('event relay', (registry) => {
    const registers = [registry];
    const waiting = new Gauge({
      name: 'gatehouse_events_not_relayed',
      help: 'Committed order events that the broker has not confirmed yet, counted up to 10000.',
      registers,
    });
    const lag = new Gauge({
      name: 'gatehouse_events_relay_lag_seconds',
      help: 'Age of the oldest event that the broker has not confirmed. 0 when there is none.',
      registers,
    });
    return async () => {
      const { waiting: count, lagMs } = await readRelayLag(database, stream);
      waiting.set(count);
      lag.set(lagMs / 1000);
    };
  });
}
