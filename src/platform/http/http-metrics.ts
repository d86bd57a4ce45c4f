import type { FastifyInstance } from 'fastify';
import { Gauge } from 'prom-client';
import type { Metrics } from '../metrics.ts';
import { spanOf } from './trace-requests.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether the client asked to wait. Such a request takes as long as the client said, even if it ends without an answer. */
    isWaiting: boolean;
  }
}

/** Measures the requests of a listener. Call the function before the routes are added. */
export type MeasureRequests = (app: FastifyInstance) => void;

/** Most answers take a few milliseconds. A waiting request of the merchant API takes up to 30 seconds. */
const buckets = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Creates the metrics of the HTTP requests of a process. A label names the listener. Routes are those of the program,
 * never paths of clients, so that their number is limited.
 */
export function createHttpMetrics({
  registry,
  addDurations,
}: Pick<Metrics, 'registry' | 'addDurations'>): (listener: string) => MeasureRequests {
  const observe = addDurations({
    name: 'gatehouse_http_request_duration_seconds',
    help: 'Duration of HTTP requests, from their headers to the last byte of the answer. The route of a waiting request ends in (waiting). The status is none when the client disconnected before the answer.',
    labelNames: ['listener', 'method', 'route', 'status'],
    buckets,
  });
  const inFlight = new Map<string, { requests: number }>();
  new Gauge({
    name: 'gatehouse_http_requests_in_flight',
    help: 'HTTP requests that are not answered yet, waiting requests included.',
    labelNames: ['listener'],
    registers: [registry],
    collect() {
      for (const [listener, { requests }] of inFlight) this.set({ listener }, requests);
    },
  });
  return (listener) => (app) => {
    const running = { requests: 0 };
    inFlight.set(listener, running);
    app.decorateRequest('isWaiting', false);
    app.addHook('onRequest', (request, reply, done) => {
      const begunMs = performance.now();
      running.requests += 1;
      reply.raw.on('close', () => {
        running.requests -= 1;
        const route = request.routeOptions.url ?? 'none';
        observe(
          {
            listener,
            method: request.method,
            route: request.isWaiting ? `${route} (waiting)` : route,
            status: reply.raw.writableFinished ? String(reply.raw.statusCode) : 'none',
          },
          (performance.now() - begunMs) / 1000,
          spanOf(request),
        );
      });
      done();
    });
  };
}
