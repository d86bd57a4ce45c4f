import { Counter } from 'prom-client';
import type { Metrics } from '../metrics.ts';
import type { Span } from '../tracing/span.ts';

/** A call that is over. */
export interface EndedCall {
  readonly service: string;
  readonly method: string;
  readonly role: string;
  /** `ok`, or the gRPC code in lower case. */
  readonly code: string;
  /** Whether it was refused because too many calls waited. */
  readonly isOverload: boolean;
  readonly seconds: number;
  readonly span: Span | undefined;
}

export type MeasureCall = (call: EndedCall) => void;

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Creates the metrics of the calls that a process answers. */
export function createRpcMetrics({
  addDurations,
  registry,
}: Pick<Metrics, 'addDurations' | 'registry'>): MeasureCall {
  const observe = addDurations({
    name: 'gatehouse_rpc_duration_seconds',
    help: 'Duration of calls, by service, method, role of the caller and gRPC code. A batch on a stream is one call. Streams themselves are left out, because they last as long as their callers wish.',
    labelNames: ['service', 'method', 'role', 'code'],
    buckets,
  });
  const overloads = new Counter({
    name: 'gatehouse_rpc_overloaded_total',
    help: 'Calls that were refused because too many calls waited, by service, method and role of the caller.',
    labelNames: ['service', 'method', 'role'],
    registers: [registry],
  });
  return ({ seconds, span, isOverload, code, ...labels }) => {
    if (isOverload) overloads.inc(labels);
    observe({ ...labels, code }, seconds, span);
  };
}
