import { AsyncLocalStorage } from 'node:async_hooks';
import { formatTraceparent } from './trace-context.ts';
import type { TraceContext } from './trace-context.ts';

export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';
/** Attributes by their name in OpenTelemetry's semantic conventions. Never secrets, phone numbers, bodies, queries or free text. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanOptions {
  /** internal by default. */
  readonly kind?: SpanKind;
  readonly attributes?: SpanAttributes;
  /** The parent, if it is not the span itself: a span of another process, whose sampling is followed. */
  readonly parent?: TraceContext | undefined;
  /** Spans of other traces that share the work. */
  readonly links?: readonly TraceContext[];
}

/** A step of a trace. A span that is not sampled belongs to a trace that a caller named. It has that trace's id, and records nothing. */
export interface Span {
  readonly context: TraceContext;
  /** Begins a span below this one, which the caller ends. */
  readonly begin: (name: string, options?: SpanOptions) => Span;
  readonly set: (attributes: SpanAttributes) => void;
  readonly rename: (name: string) => void;
  /** Refers to a span of another trace. */
  readonly link: (context: TraceContext) => void;
  /** Ends the span. `error` names a failure in a word, such as "timeout" or "500". Its details are in the log. */
  readonly end: (error?: string) => void;
}

/** The span of the running code. It is empty while tracing is off, and then costs nothing. */
const active = new AsyncLocalStorage<Span | undefined>();

export const activeSpan = (): Span | undefined => active.getStore();

/** Runs code, and all that it starts, in a span; with undefined, in none. */
export const runInSpan = <Result>(span: Span | undefined, run: () => Result): Result =>
  span === active.getStore() ? run() : active.run(span, run);

/** Runs work in a new span below the active one, and ends it with the work. Without an active span it only runs the work. */
export const inChildSpan = <Result>(
  name: string,
  options: SpanOptions,
  run: () => Promise<Result>,
): Promise<Result> => {
  const above = active.getStore();
  return above?.context.isSampled === true ? untilEnd(above.begin(name, options), run) : run();
};

/** Runs work in a span, and ends the span with the work. */
export async function untilEnd<Result>(span: Span, run: () => Promise<Result>): Promise<Result> {
  try {
    const result = await runInSpan(span, run);
    span.end();
    return result;
  } catch (error) {
    span.end(errorType(error));
    throw error;
  }
}

/** The class or the code of an error. Its message may quote data. */
export const errorType = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

/** The traceparent header of the active span; empty without one. */
export const activeTraceparent = (): string => {
  const span = active.getStore();
  return span === undefined ? '' : formatTraceparent(span.context);
};

/**
 * As `activeTraceparent`, but empty if the trace is not recorded. For stored rows, messages and other organisations' systems, for which a trace
 * without spans has no use.
 */
export const recordedTraceparent = (): string => {
  const span = active.getStore();
  return span?.context.isSampled === true ? formatTraceparent(span.context) : '';
};

const isRecorded = (span: Span | undefined): span is Span => span?.context.isSampled === true;

/**
 * Runs work that several callers share. Its span belongs to the trace of the first caller that is recorded. It and the other
 * callers' spans refer to each other, so each trace leads to the work.
 */
export function inSharedSpan<Result>(
  name: string,
  callers: readonly (Span | undefined)[],
  run: () => Promise<Result>,
): Promise<Result> {
  const [first, ...others] = callers.filter(isRecorded);
  // The work may be started by code of another caller, whose span must not be used.
  if (first === undefined) return runInSpan(callers[0], run);
  const shared = first.begin(name, {
    attributes: { 'gatehouse.batch.items': callers.length },
    links: others.map(({ context }) => context),
  });
  for (const other of others) other.link(shared.context);
  return untilEnd(shared, run);
}

/** The span of the log line that is being written, if it is not the active one. */
let spanOfLine: Span | 'active' | undefined = 'active';

/** Writes a log line about a span that is no longer active. To make it active costs as much as a tenth of a line. */
export function logInSpan(span: Span | undefined, writeLine: () => void): void {
  spanOfLine = span;
  try {
    writeLine();
  } finally {
    spanOfLine = 'active';
  }
}

/**
 * The JSON members of a log line that name its span, after a comma; empty without one. Ids need no escaping. The id of a span that
 * is not recorded leads nowhere, and a longer line costs more.
 */
export const traceMembersOfLine = (): string => {
  const span = spanOfLine === 'active' ? active.getStore() : spanOfLine;
  if (span === undefined) return '';
  const { traceId, spanId, isSampled } = span.context;
  return isSampled ? `,"trace_id":"${traceId}","span_id":"${spanId}"` : `,"trace_id":"${traceId}"`;
};
