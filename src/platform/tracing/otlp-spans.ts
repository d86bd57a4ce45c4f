import {
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind as ApiSpanKind,
  SpanStatusCode,
  TraceFlags,
  diag,
  trace,
} from '@opentelemetry/api';
import type { Context, Link, Span as ApiSpan, SpanContext } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { defaultResource, resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace-base';
import { limitFailures } from '../line-limit.ts';
import type { Logger } from '../logger.ts';
import { logInSpan } from './span.ts';
import type { Span, SpanKind, SpanOptions } from './span.ts';
import type { TraceContext } from './trace-context.ts';
import type { TracingSettings } from './tracing-settings.ts';

/*
 * The only file that loads OpenTelemetry's packages. It is imported when tracing is on. The packages read the settings that are
 * passed here, and some rarely used variables of OpenTelemetry, such as OTEL_BSP_MAX_QUEUE_SIZE.
 */

/** Spans that are recorded and sent to the collector. */
export interface SampledSpans {
  /** `unsampled` continues a trace that is not recorded. */
  readonly begin: (
    name: string,
    parent: TraceContext | undefined,
    options: SpanOptions,
    unsampled: (context: TraceContext) => Span,
  ) => Span;
  readonly close: () => Promise<void>;
}

export interface SampledSpansOptions {
  readonly settings: TracingSettings;
  readonly endpoint: string;
  readonly process: string;
  readonly instance: string;
  readonly version: string;
  readonly logger: Logger;
}

/** ExportResultCode.SUCCESS of OpenTelemetry. */
const succeeded = 0;
/** The shortest time between two log lines about a failing collector. */
const complainEveryMs = 60_000;
/** The time limit of one request to the collector, retries included. */
const exportMs = 5_000;
/** Longer values are cut. No attribute of ours is that long. */
const longestValue = 256;

const kinds = {
  internal: ApiSpanKind.INTERNAL,
  server: ApiSpanKind.SERVER,
  client: ApiSpanKind.CLIENT,
  producer: ApiSpanKind.PRODUCER,
  consumer: ApiSpanKind.CONSUMER,
} as const satisfies Record<SpanKind, ApiSpanKind>;

/** Sends spans in the background. At most 2,048 wait; more are dropped, so a missing collector costs no memory. */
export function createSampledSpans(options: SampledSpansOptions): SampledSpans {
  const { settings, endpoint, logger } = options;
  logWarnings(logger);
  const exporter = new OTLPTraceExporter({
    url: endpoint,
    headers: { ...settings.headers },
    timeoutMillis: exportMs,
  });
  const provider = new BasicTracerProvider({
    // Whether a trace is recorded is decided before its spans are created.
    sampler: new AlwaysOnSampler(),
    spanLimits: { attributeValueLengthLimit: longestValue },
    // The default one names the SDK and its language, which every collector may expect.
    resource: defaultResource().merge(
      resourceFromAttributes({
        ...settings.resourceAttributes,
        'service.name': settings.serviceName ?? `gatehouse-${options.process}`,
        'service.version': options.version,
        'service.instance.id': options.instance,
      }),
    ),
    spanProcessors: [
      new BatchSpanProcessor(complainRarely(exporter, logger), {
        scheduledDelayMillis: settings.delayMs,
        exportTimeoutMillis: 2 * exportMs,
      }),
    ],
  });
  const tracer = provider.getTracer('gatehouse', options.version);

  const start = (
    name: string,
    below: Context,
    { kind = 'internal', attributes = {}, links = [] }: SpanOptions,
    unsampled: (context: TraceContext) => Span,
  ): Span => {
    const recorded = tracer.startSpan(
      name,
      { kind: kinds[kind], attributes, links: links.map((each): Link => ({ context: apiContext(each) })) },
      below,
    );
    return spanOf(recorded, unsampled);
  };
  const spanOf = (recorded: ApiSpan, unsampled: (context: TraceContext) => Span): Span => {
    const { traceId, spanId } = recorded.spanContext();
    const context = { traceId, spanId, isSampled: true };
    return {
      context,
      begin(name, begun = {}) {
        const { parent } = begun;
        if (parent === undefined) return start(name, trace.setSpan(ROOT_CONTEXT, recorded), begun, unsampled);
        if (!parent.isSampled) return unsampled(parent);
        return start(name, trace.setSpanContext(ROOT_CONTEXT, apiContext(parent)), begun, unsampled);
      },
      set: (attributes) => void recorded.setAttributes(attributes),
      rename: (name) => void recorded.updateName(name),
      link: (other) => void recorded.addLink({ context: apiContext(other) }),
      end(error) {
        if (error !== undefined) {
          recorded.setAttribute('error.type', error);
          recorded.setStatus({ code: SpanStatusCode.ERROR });
        }
        recorded.end();
      },
    };
  };

  return {
    begin(name, parent, begun, unsampled) {
      const below =
        parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, apiContext(parent));
      return start(name, below, begun, unsampled);
    },
    // The last batch may fail. The failure is logged already, and the process stops.
    close: () => provider.shutdown().catch(() => undefined),
  };
}

const apiContext = ({ traceId, spanId }: TraceContext): SpanContext => ({
  traceId,
  spanId,
  traceFlags: TraceFlags.SAMPLED,
  isRemote: true,
});

/** Logs a failed batch at most once a minute, and then the end of the failures. */
function complainRarely(exporter: SpanExporter, logger: Logger): SpanExporter {
  let lost = 0;
  let saidAt: number | undefined;
  let isSaid = false;
  // A batch is sent in the context of the request that began it, and has spans of others too.
  const log = (writeLine: () => void): void => {
    logInSpan(undefined, writeLine);
  };
  const complain = (error: Error | undefined): void => {
    const now = performance.now();
    if (saidAt !== undefined && now - saidAt < complainEveryMs) return;
    saidAt = now;
    isSaid = true;
    log(() => {
      logger.warn(
        { err: error, lost_spans: lost },
        'the collector did not accept spans, which are lost; check OTEL_EXPORTER_OTLP_ENDPOINT',
      );
    });
  };
  return {
    export(spans: ReadableSpan[], done) {
      exporter.export(spans, (result) => {
        // The processor would write its own lines about a failure.
        done({ code: succeeded });
        const code: number = result.code;
        if (code === succeeded) {
          // The minute is not reset, so a collector that fails every other time is not logged each time.
          if (!isSaid) return;
          log(() => {
            logger.info({ lost_spans: lost }, 'the collector accepts spans again');
          });
          lost = 0;
          isSaid = false;
        } else {
          lost += spans.length;
          complain(result.error);
        }
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}

/**
 * Logs the warnings of OpenTelemetry's packages, each kind at most once a minute. They are about spans that are lost although the collector
 * answers: it is too slow, or refuses some spans of a batch. The packages report these losses in no other way.
 */
function logWarnings(logger: Logger): void {
  const warn = limitFailures<[warning: string]>((_kind, warning) => {
    logInSpan(undefined, () => {
      logger.warn({ warning }, 'OpenTelemetry reports a problem with spans');
    });
  });
  const ignore = (): void => undefined;
  diag.setLogger(
    {
      verbose: ignore,
      debug: ignore,
      info: ignore,
      error: ignore,
      warn: (...parts) => {
        const warning = parts.join(' ');
        // Warnings are limited by their first two words, because later words may be ids.
        warn(warning.split(' ', 2).join(' '), warning.slice(0, longestValue));
      },
    },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
