import type { Logger } from '../logger.ts';
import type { Span, SpanOptions } from './span.ts';
import type { SampledSpans } from './otlp-spans.ts';
import { parseTraceparent } from './trace-context.ts';
import type { TraceContext } from './trace-context.ts';
import type { TracingSettings } from './tracing-settings.ts';

/** Begins the traces of a process. */
export interface Tracing {
  /**
   * Begins the first span of a request from outside. It continues the trace that the client names. Whether it is recorded is
   * decided here, because a caller must not make us record everything. Undefined when no trace is named and none is recorded:
   * the ids of such a trace could not be looked up anywhere.
   */
  readonly beginAtEdge: BeginAt;
  /**
   * Begins a span below the span of a trusted peer, and records it if the peer does. Without a usable traceparent a new trace
   * begins; undefined when that is not recorded.
   */
  readonly follow: BeginAt;
  /** Sends the remaining spans. */
  readonly close: () => Promise<void>;
}

type BeginAt = (name: string, traceparent: string | undefined, options: SpanOptions) => Span | undefined;

export interface TracingOptions {
  readonly settings: TracingSettings;
  /** The name of the process, such as "core". */
  readonly process: string;
  readonly instance: string;
  readonly version: string;
  readonly logger: Logger;
  /** A number from 0 to 1, excluding 1. */
  readonly random: () => number;
}

/** The tracing of a process; undefined when it is off, in which case OpenTelemetry's packages are not loaded. */
export async function startTracing(options: TracingOptions): Promise<Tracing | undefined> {
  const { endpoint, ratio } = options.settings;
  if (endpoint === undefined) return undefined;
  const { createSampledSpans } = await import('./otlp-spans.ts');
  return createTracing(createSampledSpans({ ...options, endpoint }), { ...options, ratio });
}

function createTracing(
  sampled: SampledSpans,
  { ratio, random }: Pick<TracingOptions, 'random'> & { readonly ratio: number },
): Tracing {
  const continueTrace: Continue = (name, parent, options) =>
    parent.isSampled ? sampled.begin(name, parent, options, beginUnsampled) : beginUnsampled(parent);
  const beginUnsampled = (context: TraceContext): Span => new UnsampledSpan(context, continueTrace);
  const beginNew = (name: string, options: SpanOptions): Span | undefined =>
    random() < ratio ? sampled.begin(name, undefined, options, beginUnsampled) : undefined;

  return {
    beginAtEdge(name, traceparent, options) {
      const named = parseTraceparent(traceparent);
      if (named === undefined) return beginNew(name, options);
      // By chance, not by the trace's id, which the client may have chosen so that it is recorded.
      return continueTrace(name, { ...named, isSampled: random() < ratio }, options);
    },
    follow: (name, traceparent, options) => {
      const named = parseTraceparent(traceparent);
      return named === undefined ? beginNew(name, options) : continueTrace(name, named, options);
    },
    close: sampled.close,
  };
}

type Continue = (name: string, parent: TraceContext, options: SpanOptions) => Span;

/** The span of a trace that a caller named and that is not recorded here. It stands for all of its spans, and has the context of the caller's. */
class UnsampledSpan implements Span {
  readonly context: TraceContext;
  readonly #continueTrace: Continue;

  constructor(context: TraceContext, continueTrace: Continue) {
    this.context = context;
    this.#continueTrace = continueTrace;
  }

  begin(name: string, options?: SpanOptions): Span {
    return options?.parent === undefined ? this : this.#continueTrace(name, options.parent, options);
  }

  set(): void {}
  rename(): void {}
  link(): void {}
  end(): void {}
}
