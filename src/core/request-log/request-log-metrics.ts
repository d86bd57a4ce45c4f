import { Counter } from 'prom-client';
import type { Metrics } from '../../platform/metrics.ts';
import type { RequestLogMetrics } from './request-log-service.ts';

/** Counts the requests that facades reported to this core. The sum over all cores is the total. */
export function addRequestLogMetrics({ registry }: Pick<Metrics, 'registry'>): RequestLogMetrics {
  const registers = [registry];
  return {
    kept: new Counter({
      name: 'gatehouse_api_requests_logged_total',
      help: 'Requests of the merchant API that were put into the request log.',
      registers,
    }),
    unkept: new Counter({
      name: 'gatehouse_api_requests_unlogged_total',
      help: 'Requests of the merchant API that were left out of the request log: the merchant was busy, or core was unavailable.',
      registers,
    }),
    unauthenticated: new Counter({
      name: 'gatehouse_api_requests_unauthenticated_total',
      help: "Requests of the merchant API without a valid key. They are in no merchant's log.",
      registers,
    }),
  };
}
