import { Gauge } from 'prom-client';
import type { Metrics } from '../platform/metrics.ts';
import type { EndedOrders } from './ended-orders.ts';
import type { WaitingPlaces } from './waiting-places.ts';

export interface FacadeMetricsParts {
  readonly waitingPlaces: Pick<WaitingPlaces, 'taken'>;
  /** How many may be taken. */
  readonly placesInAll: number;
  readonly endedOrders: Pick<EndedOrders, 'isOpen'>;
}

/** Adds the metrics of waiting requests. */
export function addFacadeMetrics(
  { registry }: Pick<Metrics, 'registry'>,
  { waitingPlaces, placesInAll, endedOrders }: FacadeMetricsParts,
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
  addGauge('requests', 'Requests that wait for the end of an order.', waitingPlaces.taken);
  addGauge('places', 'Requests that may wait in this process.', () => placesInAll);
  addGauge(
    'stream_open',
    'Whether the stream of ended orders is open: 1 or 0. It is closed while no request waits.',
    () => (endedOrders.isOpen() ? 1 : 0),
  );
}
