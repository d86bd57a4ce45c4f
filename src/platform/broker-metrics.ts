import { Gauge } from 'prom-client';
import type { Metrics } from './metrics.ts';
import type { EventBus } from './nats/nats-event-bus.ts';

/** Adds the gauge that shows whether this process is connected to the broker. */
export function addBrokerMetrics({ registry }: Metrics, bus: Pick<EventBus, 'isConnected'>): void {
  new Gauge({
    name: 'gatehouse_broker_connected',
    help: 'Whether this process is connected to the broker: 1 or 0.',
    registers: [registry],
    collect() {
      this.set(bus.isConnected() ? 1 : 0);
    },
  });
}
