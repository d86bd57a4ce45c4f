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
   * decided here, because a stranger must not make us record everything.
   */
  readonly beginAtEdge: (name: string, traceparent: string | undefined, options: SpanOptions) => Span;
  /**
   * Begins a span below the span of a trusted peer, and records it if the peer does. Without a usable traceparent a new trace
   * begins.
   */
  readonly follow: (name: string, traceparent: string | undefined, options: SpanOptions) => Span;
  /** Sends the remaining spans. */
  readonly close: () => Promise<void>;
}

export interface TracingOptions {
  readonly settings: TracingSettings;
  /** The name of the process, such as "core". */
  readonly process: string;
  readonly instance: string;
  readonly version: string;
  readonly logger: Logger;
  /** Fills a buffer with random bytes. */
  readonly fillRandom: (bytes: Buffer) => void;
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
  { ratio, fillRandom, random }: Pick<TracingOptions, 'fillRandom' | 'random'> & { readonly ratio: number },
): Tracing {
  const bytes = Buffer.alloc(24 * 256);
  let pool = '';
  let used = 0;
  /** Random hexadecimal digits. All of them being zero, which is no id, will not happen. */
  const randomHex = (digits: number): string => {
    if (used + digits > pool.length) {
      fillRandom(bytes);
      // Many small conversions would cost several times as much.
      pool = bytes.toString('hex');
      used = 0;
    }
    return pool.slice(used, (used += digits));
  };

  const beginBelow: BeginBelow = (name, parent, options) => {
    const isSampled = parent?.isSampled ?? random() < ratio;
    if (isSampled) return sampled.begin(name, parent, options, beginUnsampled);
    return beginUnsampled({ traceId: parent?.traceId ?? randomHex(32), spanId: randomHex(16), isSampled });
  };
  const beginUnsampled = (context: TraceContext): Span => new UnsampledSpan(context, beginBelow);

  return {
    beginAtEdge(name, traceparent, options) {
      const named = parseTraceparent(traceparent);
      // By chance, not by the trace's id, which the client may have chosen so that it is recorded.
      const parent = named === undefined ? undefined : { ...named, isSampled: random() < ratio };
      return beginBelow(name, parent, options);
    },
    follow: (name, traceparent, options) => beginBelow(name, parseTraceparent(traceparent), options),
    close: sampled.close,
  };
}

type BeginBelow = (name: string, parent: TraceContext | undefined, options: SpanOptions) => Span;

/** Almost every request has one, so its methods are shared. Spans below it are itself: nothing records them. */
class UnsampledSpan implements Span {
  readonly context: TraceContext;
  readonly #beginBelow: BeginBelow;

  constructor(context: TraceContext, beginBelow: BeginBelow) {
    this.context = context;
    this.#beginBelow = beginBelow;
  }

  begin(name: string, options?: SpanOptions): Span {
    return options?.parent === undefined ? this : this.#beginBelow(name, options.parent, options);
  }

  set(): void {}
  rename(): void {}
  link(): void {}
  end(): void {}
}
