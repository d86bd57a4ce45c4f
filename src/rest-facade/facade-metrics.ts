import { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../platform/metrics.ts';
import type { EndedOrders } from './ended-orders.ts';
import type { WaitingSlots } from './waiting-slots.ts';

export interface FacadeMetricsParts {
  readonly waitingSlots: Pick<WaitingSlots, 'taken' | 'refused'>;
  /** How many may be taken. */
  readonly slotsInAll: number;
  readonly endedOrders: Pick<EndedOrders, 'isOpen'>;
}

/** Adds the metrics of waiting requests. */
export function addFacadeMetrics(
  { registry }: Pick<Metrics, 'registry'>,
  { waitingSlots, slotsInAll, endedOrders }: FacadeMetricsParts,
): void {
  const addGauge = (name: string, help: string, read: () => number): void => {
    new Gauge({
      name: `gatehouse_waiting_${name}`,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  addGauge('requests', 'Requests that wait for the end of an order.', waitingSlots.taken);
  addGauge('requests_limit', 'Requests that may wait in this process.', () => slotsInAll);
  new Counter({
    name: 'gatehouse_waiting_requests_refused_total',
    help: 'Requests that were refused with 429, because too many requests of the merchant waited.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(waitingSlots.refused());
    },
  });
  addGauge(
    'stream_open',
    'Whether the stream of ended orders is open: 1 or 0. It is closed while no request waits.',
    () => (endedOrders.isOpen() ? 1 : 0),
  );
}
