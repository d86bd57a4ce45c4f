import Negotiator from 'negotiator';
import pTimeout from 'p-timeout';
import { Counter, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { Metric, OpenMetricsContentType, RegistryContentType } from 'prom-client';
import { limitFailures } from './line-limit.ts';
import type { Logger } from './logger.ts';
import type { Span } from './tracing/span.ts';
import type { Tracing } from './tracing/tracing.ts';

/** A page that a server returns for a path. */
export interface Page {
  readonly contentType: string;
  readonly body: string;
}

const bytesOf = new WeakMap<Page, Buffer>();

/** The body of a page as bytes. All readers of one page share them, while Node would copy a text for each reader. */
export function bytesOfPage(page: Page): Buffer {
  const bytes = bytesOf.get(page) ?? Buffer.from(page.body);
  bytesOf.set(page, bytes);
  return bytes;
}

/** A histogram of durations. */
export interface DurationsOptions<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  /** The upper limits of its buckets, in seconds. */
  readonly buckets: readonly number[];
}

/** Counts a duration. If the span is recorded, its trace becomes the exemplar of the bucket. */
export type ObserveDuration<Label extends string> = (
  labels: Readonly<Record<Label, string>>,
  seconds: number,
  span: Span | undefined,
) => void;

/** The metrics of a process, in Prometheus' text format or in that of OpenMetrics, which has exemplars. */
export interface Metrics {
  /** For counters and histograms, which are updated at each occurrence. */
  readonly registry: Registry<OpenMetricsContentType>;
  /** Adds a histogram of durations. */
  readonly addDurations: <Label extends string>(options: DurationsOptions<Label>) => ObserveDuration<Label>;
  /**
   * Adds gauges whose values must be queried. `prepare` creates them in the given registry and returns a function that
   * queries and sets them. That function runs before the page is shown, at most every two seconds. If it fails or takes too
   * long, its gauges are missing from the page, because old values would mislead.
   */
  readonly addReading: (name: string, prepare: (registry: Registry) => () => Promise<void>) => void;
  /**
   * The page, in the format of OpenMetrics if the request's Accept header prefers it. Metrics have the same names in both. It succeeds even
   * if a reading fails. Callers at the same time get the same page.
   */
  readonly page: (accept?: string) => Promise<Page>;
}

export interface MetricsOptions {
  readonly logger: Logger;
  /** Undefined when tracing is off. Then there are no exemplars, which would cost time at each duration. */
  readonly tracing?: Tracing | undefined;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

/** The help text of a metric's former name, which is exported for one more release: docs/operating/upgrades.md. */
export const deprecatedHelp = (name: string): string => `Deprecated: use ${name}, which has the same value.`;

/** A reading is reused for this time, so that frequent requests do not query the database each time. */
const readingHoldsForMs = 2_000;
const readingTimeoutMs = 3_000;
const lateReading = `no answer within ${readingTimeoutMs / 1000} seconds`;

let nodeRegistry: Registry | undefined;

/** The metrics of Node and the system. They are collected once in a process: each collection has a timer that never ends. */
function metricsOfNode(): Registry {
  if (nodeRegistry === undefined) {
    nodeRegistry = new Registry();
    collectDefaultMetrics({ register: nodeRegistry });
  }
  return nodeRegistry;
}

/** Metrics of this process, with those of Node and the system: memory, CPU, event loop, garbage collection. */
export function createMetrics({ logger, nowMs, tracing }: MetricsOptions): Metrics {
  // The library has exemplars only in registries of this type. `page` decides about the format.
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  const ofNode = metricsOfNode();
  const failures = new Counter({
    name: 'gatehouse_metrics_readings_failed_total',
    help: 'Readings for this page that failed or took too long; their metrics were missing from it.',
    labelNames: ['reading'],
    registers: [registry],
  });
  const readings: (() => Promise<Registry | undefined>)[] = [];
  const makePage = async (format: RegistryContentType): Promise<Page> => {
    const read = await Promise.all(readings.map((reading) => reading()));
    const shown = [ofNode, registry, ...read.filter((own) => own !== undefined)];
    return pageOf(
      shown.flatMap((each) => each.getMetricsAsArray().map(({ name }) => each.getSingleMetric(name))),
      format,
    );
  };
  const making = new Map<RegistryContentType, Promise<Page>>();
  return {
    registry,
    addDurations: <Label extends string>({ labelNames, buckets, ...named }: DurationsOptions<Label>) => {
      const histogram = new Histogram<string>({
        ...named,
        labelNames: [...labelNames],
        buckets: [...buckets],
        registers: [registry],
        enableExemplars: tracing !== undefined,
      });
      if (tracing === undefined) return (labels, seconds) => histogram.observe(labels, seconds);
      return (labels, value, span) =>
        histogram.observe(
          span?.context.isSampled === true
            ? { labels, value, exemplarLabels: { trace_id: span.context.traceId } }
            : { labels, value },
        );
    },
    addReading: (name, prepare) => {
      failures.inc({ reading: name }, 0);
      const own = new Registry();
      const read = notOftener(prepare(own), nowMs);
      // Anyone may ask for the page, and an outage of the database fails every reading.
      const logFailed = limitFailures((error) =>
        logger.warn(
          { err: error, reading: name },
          'some metrics could not be read; the reply leaves them out',
        ),
      );
      readings.push(async () => {
        try {
          await pTimeout(read(), { milliseconds: readingTimeoutMs, message: lateReading });
          return own;
        } catch (error) {
          logFailed(error);
          failures.inc({ reading: name });
          return undefined;
        }
      });
    },
    page: (accept = '') => {
      const format = prefersOpenMetrics(accept)
        ? Registry.OPENMETRICS_CONTENT_TYPE
        : Registry.PROMETHEUS_CONTENT_TYPE;
      // A page takes milliseconds, and anyone can ask core for a thousand at once.
      const page = making.get(format) ?? makePage(format).finally(() => making.delete(format));
      making.set(format, page);
      return page;
    },
  };
}

/** Prometheus sends some 200 characters. A long header takes milliseconds to read. */
const readCharacters = 1_000;
/** The media ranges of both formats. The wildcards stand for the older one, which every reader knows. */
const metricRanges = ['application/openmetrics-text', 'text/plain', 'text/*', '*/*'];

/** Whether the Accept header (RFC 9110, section 12.5.1) gives OpenMetrics the largest weight. */
function prefersOpenMetrics(accept: string): boolean {
  const headers = { accept: accept.slice(0, readCharacters) };
  const preferred = new Negotiator({ headers }).mediaTypes().map((range) => range.toLowerCase());
  return preferred.find((range) => metricRanges.includes(range)) === metricRanges[0];
}

async function pageOf(metrics: readonly (Metric | undefined)[], format: RegistryContentType): Promise<Page> {
  const page = new Registry<RegistryContentType>();
  page.setContentType(format);
  for (const metric of metrics) {
    if (metric === undefined) continue;
    // For a page of OpenMetrics, the library removes _total from the names in the counters that it gets. The next page in the other
    // format would lack it. So the library gets objects that inherit from the counters, and changes only those.
    page.registerMetric(metric instanceof Counter ? (Object.create(metric) as Metric) : metric);
  }
  return { contentType: format, body: await page.metrics() };
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
