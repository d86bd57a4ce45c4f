import { Code, ConnectError } from '@connectrpc/connect';
import type { Logger } from '../logger.ts';
import { callerKey, logFieldsKey, uneventfulKey } from './call-context.ts';
import type { CallContext } from './call-context.ts';
import { reasonOf, rpcError } from './rpc-error.ts';

export interface AnswerOptions {
  readonly logger: Logger;
  /** Turns the errors of what a handler depends on (a database, say) into an RPC error; undefined for those it does not know. */
  readonly explain: (error: unknown) => ConnectError | undefined;
}

type ErrorLevel = 'warn' | 'error' | 'info';

/** Has a call answered, leaves its line in the log and lets no error out that has no reason. */
export async function answerCall<Response>(
  handle: () => Promise<Response>,
  context: CallContext,
  options: AnswerOptions,
): Promise<Response> {
  const startedAt = performance.now();
  try {
    const response = await handle();
    logCall(context, startedAt, undefined, options);
    return response;
  } catch (error) {
    const failure = explainFailure(error, context, options);
    logCall(context, startedAt, failure, options);
    throw failure;
  }
}

/** A handler may be waiting for a database that does not answer: the caller is told as soon as its deadline has passed. */
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
    // Every call is aborted when it is over: nobody is left then to whom that would have to be explained.
    signal.removeEventListener('abort', abort);
  }
}

/** A caller hangs up at its own deadline, which comes a little before ours: its clock started when it sent the request. */
const deadlineToleranceMs = 100;

export function abortError(context: CallContext): ConnectError {
  return (context.timeoutMs() ?? Infinity) < deadlineToleranceMs
    ? rpcError('DEADLINE_EXCEEDED', 'the deadline passed before the work was done')
    : rpcError('CALL_CANCELLED', 'the caller went away');
}

/** What a failed call is answered with: always an error that has a reason. */
export function explainFailure(thrown: unknown, context: CallContext, options: AnswerOptions): ConnectError {
  if (thrown instanceof ConnectError && reasonOf(thrown) !== undefined) return thrown;
  if (context.signal.aborted) return abortError(context);
  return (
    options.explain(thrown) ??
    rpcError('INTERNAL', 'an unexpected error; the log has it under this request id', { cause: thrown })
  );
}

function levelOf(error: ConnectError | undefined): ErrorLevel {
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

/** The one line that a call leaves in the log. */
export function logCall(
  context: CallContext,
  startedAt: number,
  error: ConnectError | undefined,
  options: AnswerOptions,
): void {
  const caller = context.values.get(callerKey);
  if (caller.role === 'anyone' && error === undefined) return;
  options.logger[error === undefined && context.values.get(uneventfulKey) ? 'debug' : levelOf(error)](
    {
      request_id: caller.requestId,
      rpc: `${context.service.name}/${context.method.name}`,
      protocol: context.protocolName,
      role: caller.role,
      ...(caller.actor === '' ? {} : { actor: caller.actor }),
      code: error === undefined ? 'ok' : Code[error.code].replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase(),
      ...(error === undefined ? {} : { reason: reasonOf(error), error: error.rawMessage }),
      ...(error?.cause === undefined ? {} : { err: error.cause }),
      duration_ms: Math.round((performance.now() - startedAt) * 100) / 100,
      ...context.values.get(logFieldsKey),
    },
    'rpc',
  );
}
