import { Code, ConnectError } from '@connectrpc/connect';
import { limitLines } from '../line-limit.ts';
import type { LogLimited } from '../line-limit.ts';
import type { Logger } from '../logger.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { logInSpan } from '../tracing/span.ts';
import { callerKey, failedItemKey, logFieldsKey, spanKey, uneventfulKey } from './call-context.ts';
import type { CallContext } from './call-context.ts';
import { endCallSpan } from './call-span.ts';
import { nameOfCode, reasonOf, rpcError } from './rpc-error.ts';
import type { MeasureCall } from './rpc-metrics.ts';

export interface AnswerOptions {
  readonly logger: Logger;
  /** Translates errors of a handler's dependencies, such as the database, into RPC errors; undefined for other errors. */
  readonly explain: (error: unknown) => ConnectError | undefined;
  readonly measure: MeasureCall;
  readonly logRefused: LogLimited<RefusedCall>;
  readonly logFailed: LogLimited<RefusedCall>;
  readonly logOutage: LogLimited<RefusedCall>;
  /** Undefined when tracing is off. */
  readonly tracing?: Tracing | undefined;
}

type ErrorLevel = 'warn' | 'error' | 'info';

interface RefusedCall {
  readonly level: ErrorLevel;
  readonly facts: object;
}

/** Logs refused calls of a flood. A line for each of them would cost more than the refusal, and hide all other lines. */
export const limitRefusedCalls = (logger: Logger): LogLimited<RefusedCall> =>
  limitLines(({ level, facts }: RefusedCall, count) => logger[level]({ ...facts, count }, 'rpc'));

/** Enough lines to show one merchant's mistakes. */
const failedLinesPerMinute = 20;
/** Enough lines to show with which calls an outage began. The metrics count the calls of each method. */
const outageLinesPerMinute = 2;

const limitFailed = (logger: Logger, linesPerMinute: number): LogLimited<RefusedCall> =>
  limitLines(({ level, facts }: RefusedCall, count) => {
    logger[level](count === 1 ? facts : { ...facts, count }, 'rpc');
  }, linesPerMinute);

/** Logs calls that failed for an expected reason. Unknown callers can cause these through a process, such as with invalid API keys. */
export const limitFailedCalls = (logger: Logger): LogLimited<RefusedCall> =>
  limitFailed(logger, failedLinesPerMinute);

/** Logs calls that failed because something was unavailable, such as the database. An outage fails the calls of all methods. */
export const limitOutageCalls = (logger: Logger): LogLimited<RefusedCall> =>
  limitFailed(logger, outageLinesPerMinute);

/**
 * Answers a call, writes its log line, and ensures that every error has a reason. If an item of a batch failed unexpectedly, the line is that
 * of a failure.
 */
export async function answerCall<Response>(
  handle: () => Promise<Response>,
  context: CallContext,
  options: AnswerOptions,
): Promise<Response> {
  const startedAt = performance.now();
  try {
    const response = await handle();
    logCall(context, startedAt, context.values.get(failedItemKey), options);
    return response;
  } catch (error) {
    const failure = explainFailure(error, context, options);
    logCall(context, startedAt, failure, options);
    throw failure;
  }
}

/** Rejects when the call's deadline passes or its caller disconnects, even if the handler still waits, such as for the database. */
export async function unlessAborted<Response>(
  handle: () => Promise<Response> | Response,
  context: CallContext,
): Promise<Response> {
  const { signal } = context;
  if (signal.aborted) throw abortError(context);
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => (abort = () => reject(abortError(context))));
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([handle(), aborted]);
  } finally {
    // Every call is aborted when it is over. An error at that point has no reader, so it is not created.
    signal.removeEventListener('abort', abort);
  }
}

/** A caller's deadline passes slightly before ours, because its clock starts when it sends the request. */
const deadlineToleranceMs = 100;

export function abortError(context: CallContext): ConnectError {
  return (context.timeoutMs() ?? Infinity) < deadlineToleranceMs
    ? rpcError('DEADLINE_EXCEEDED', 'the deadline passed before the work was done')
    : rpcError('CALL_CANCELLED', 'the caller disconnected');
}

/** The error of a failed call. It always has a reason. */
export function explainFailure(thrown: unknown, context: CallContext, options: AnswerOptions): ConnectError {
  if (thrown instanceof ConnectError && reasonOf(thrown) !== undefined) return thrown;
  if (context.signal.aborted) return abortError(context);
  return (
    options.explain(thrown) ??
    rpcError('INTERNAL', 'an unexpected error; the log has it under this request id', { cause: thrown })
  );
}

function levelOf(error: ConnectError | undefined): ErrorLevel {
  // A stop is planned, and its callers continue at another server.
  if (error !== undefined && reasonOf(error) === draining) return 'info';
  switch (error?.code) {
    case Code.Internal:
    case Code.Unknown:
    case Code.DataLoss:
      return 'error';
    case Code.Unavailable:
    case Code.DeadlineExceeded:
    case Code.ResourceExhausted:
      return 'warn';
    default:
      return 'info';
  }
}

const overload = 'OVERLOADED';
const draining = 'SERVER_DRAINING';

/**
 * Measures a call, and writes its log line. In an outage all calls fail, and processes open their streams again several times a second. So
 * the lines of expected failures are limited, such as overloads and calls without a valid token. An unexpected error always has a line. So
 * does a stream that its caller ends, because unknown callers cannot make a process open one.
 */
export function logCall(
  context: CallContext,
  startedAt: number,
  error: ConnectError | undefined,
  options: AnswerOptions,
): void {
  const caller = context.values.get(callerKey);
  const code = error === undefined ? 'ok' : nameOfCode(error.code);
  const durationMs = performance.now() - startedAt;
  const reason = error === undefined ? undefined : reasonOf(error);
  const isOverload = reason === overload;
  if (isOverload || !isStreamingMethod(context)) {
    const { service, method } = context;
    options.measure({
      service: service.name,
      method: method.name,
      role: caller.role,
      code,
      isOverload,
      seconds: durationMs / 1000,
      span: context.values.get(spanKey),
    });
  }
  const severity = levelOf(error);
  endCallSpan(context, code, severity);
  if (caller.role === 'anyone' && error === undefined) return;
  const level = error === undefined && context.values.get(uneventfulKey) ? 'debug' : severity;
  const facts = {
    request_id: caller.requestId,
    rpc: `${context.service.name}/${context.method.name}`,
    protocol: context.protocolName,
    role: caller.role,
    ...(caller.actor === '' ? {} : { actor: caller.actor }),
    code,
    ...(error === undefined ? {} : { reason, error: error.rawMessage }),
    ...(error?.cause === undefined ? {} : { err: error.cause }),
    duration_ms: Math.round(durationMs * 100) / 100,
    ...context.values.get(logFieldsKey),
  };
  logInSpan(context.values.get(spanKey), () => {
    if (isOverload || caller.role === 'anyone')
      options.logRefused(`${facts.rpc} ${caller.role} ${reason}`, { level: severity, facts });
    else if (error?.code === Code.Unavailable)
      options.logOutage(`${caller.role} ${reason}`, { level: severity, facts });
    else if (
      severity === 'warn' ||
      (error !== undefined && severity === 'info' && !isStreamingMethod(context))
    )
      options.logFailed(`${facts.rpc} ${caller.role} ${reason}`, { level: severity, facts });
    else options.logger[level](facts, 'rpc');
  });
}

/** Whether this is the call of a stream itself, which ends when its caller leaves. */
const isStreamingMethod = ({ method }: CallContext): boolean => method.methodKind.endsWith('streaming');
