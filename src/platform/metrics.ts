import pTimeout from 'p-timeout';
import { Counter, Registry, collectDefaultMetrics } from 'prom-client';
import type { Logger } from './logger.ts';

/** A page that a server returns for a path. */
export interface Page {
  readonly contentType: string;
  readonly body: string;
}

/** The metrics of a process, in Prometheus' text format. */
export interface Metrics {
  /** For counters and histograms, which are updated at each occurrence. */
  readonly registry: Registry;
  /**
   * Adds gauges whose values must be queried. `prepare` creates them in the given registry and returns a function that
   * queries and sets them. That function runs before the page is shown, at most every two seconds. If it fails or takes too
   * long, its gauges are missing from the page, because old values would mislead.
   */
  readonly addReading: (name: string, prepare: (registry: Registry) => () => Promise<void>) => void;
  /** The page. It succeeds even if a reading fails. */
  readonly page: () => Promise<Page>;
}

export interface MetricsOptions {
  readonly logger: Logger;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

/** A reading is reused for this time, so that frequent requests do not query the database each time. */
const readingHoldsForMs = 2_000;
const readingTimeoutMs = 3_000;
const lateReading = `no answer within ${readingTimeoutMs / 1000} seconds`;

/** Metrics of this process, with those of Node and the system: memory, CPU, event loop, garbage collection. */
export function createMetrics({ logger, nowMs }: MetricsOptions): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const failures = new Counter({
    name: 'gatehouse_metrics_readings_failed_total',
    help: 'Readings for this page that failed or took too long; their metrics were missing from it.',
    labelNames: ['reading'],
    registers: [registry],
  });
  const readings: (() => Promise<Registry | undefined>)[] = [];
  return {
    registry,
    addReading: (name, prepare) => {
      failures.inc({ reading: name }, 0);
      const own = new Registry();
      const read = notOftener(prepare(own), nowMs);
      readings.push(async () => {
        try {
          await pTimeout(read(), { milliseconds: readingTimeoutMs, message: lateReading });
          return own;
        } catch (error) {
          logger.warn({ err: error, reading: name }, 'metrics could not be read; they are left out');
          failures.inc({ reading: name });
          return undefined;
        }
      });
    },
    page: async () => {
      const read = await Promise.all(readings.map((reading) => reading()));
      const shown = [registry, ...read.filter((own) => own !== undefined)];
      const parts = await Promise.all(shown.map((each) => each.metrics()));
      return { contentType: registry.contentType, body: parts.join('\n') };
    },
  };
}

/** Shares one reading between all callers while it runs, and for a while afterwards. */
function notOftener(read: () => Promise<void>, nowMs: () => number): () => Promise<void> {
  let current: Promise<void> | undefined;
  let endedAtMs: number | undefined;
  return () => {
    if (current === undefined || (endedAtMs !== undefined && nowMs() - endedAtMs >= readingHoldsForMs)) {
      endedAtMs = undefined;
      current = read().finally(() => {
        endedAtMs = nowMs();
      });
    }
    return current;
  };
}
