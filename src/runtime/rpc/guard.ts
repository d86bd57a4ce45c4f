import type { DescMessage, Message, MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import type { HandlerContext, MethodImplSpec, ServiceImplSpec } from '@connectrpc/connect';
import type { Logger } from '../logger.ts';
import { callerKey, isRequestId, logFieldsKey, uneventfulKey } from './call-context.ts';
import type { Caller } from './call-context.ts';
import { reasonOf, rpcError } from './rpc-error.ts';
import type { Access, RpcService } from './rpc-service.ts';
import { authenticateService } from './service-tokens.ts';
import type { ServiceTokens } from './service-tokens.ts';

export interface GuardOptions {
  readonly tokens: ServiceTokens;
  readonly logger: Logger;
  /** Makes an id for a call that came without a usable one. */
  readonly newRequestId: () => string;
  /** Turns the errors of what a handler depends on (a database, say) into an RPC error; undefined for those it does not know. */
  readonly explain: (error: unknown) => ConnectError | undefined;
}

type ErrorLevel = 'warn' | 'error' | 'info';

/** Wraps every method of a service: who calls, may they, one log line a call, and no error without a reason. */
export function guard({ spec, access }: RpcService, options: GuardOptions): ServiceImplSpec {
  const methods = Object.entries(spec.methods).map(([name, method]) => {
    return [name, guardMethod(method, access.get(name) ?? [], options)] as const;
  });
  return { service: spec.service, methods: Object.fromEntries(methods) };
}

function guardMethod(spec: MethodImplSpec, access: Access, options: GuardOptions): MethodImplSpec {
  switch (spec.kind) {
    case 'unary':
      return {
        ...spec,
        impl: (request: Message, context: HandlerContext) =>
          once(() => spec.impl(request, context), context, access, options),
      };
    case 'client_streaming':
      return {
        ...spec,
        impl: (requests: AsyncIterable<Message>, context: HandlerContext) =>
          once(() => spec.impl(requests, context), context, access, options),
      };
    case 'server_streaming':
      return {
        ...spec,
        impl: (request: Message, context: HandlerContext) =>
          many(() => spec.impl(request, context), context, access, options),
      };
    case 'bidi_streaming':
      return {
        ...spec,
        impl: (requests: AsyncIterable<Message>, context: HandlerContext) =>
          many(() => spec.impl(requests, context), context, access, options),
      };
  }
}

type Response = MessageInitShape<DescMessage>;

async function once(
  handle: () => Promise<Response> | Response,
  context: HandlerContext,
  access: Access,
  options: GuardOptions,
): Promise<Response> {
  const startedAt = performance.now();
  try {
    admit(context, access, options);
    const response = await unlessAborted(handle, context);
    logCall(context, startedAt, undefined, options);
    return response;
  } catch (error) {
    const failure = explain(error, context, options);
    logCall(context, startedAt, failure, options);
    throw failure;
  }
}

async function* many(
  handle: () => AsyncIterable<Response>,
  context: HandlerContext,
  access: Access,
  options: GuardOptions,
): AsyncIterable<Response> {
  const startedAt = performance.now();
  let failure: ConnectError | undefined;
  try {
    admit(context, access, options);
    yield* handle();
    // A handler that ends because its time is over has not come to an end of its own: that is what the caller must hear.
    if (context.signal.aborted) throw abortError(context);
  } catch (error) {
    failure = explain(error, context, options);
    throw failure;
  } finally {
    // Here, because a stream that its caller leaves neither ends nor fails.
    logCall(context, startedAt, failure, options);
  }
}

function admit(context: HandlerContext, access: Access, { tokens, newRequestId }: GuardOptions): void {
  const given = context.requestHeader.get('x-request-id') ?? '';
  const requestId = isRequestId(given) ? given : newRequestId();
  const named = context.requestHeader.get('x-gatehouse-actor') ?? '';
  // The audit log takes no control characters, and nobody is to act off the record by sending some.
  const actor = named.slice(0, 64).replace(/\p{Cc}/gu, '?');
  const role = authenticateService(tokens, context.requestHeader.get('authorization'));
  const caller: Caller = { role: role ?? 'anyone', actor, requestId };
  context.values.set(callerKey, caller);
  context.values.set(logFieldsKey, {});
  if (access === 'anyone') return;
  if (role === undefined) {
    throw rpcError(
      'INVALID_SERVICE_TOKEN',
      'send "authorization: Bearer <service token>" with a token this server knows',
    );
  }
  if (!access.includes(role)) {
    throw rpcError(
      'ROLE_NOT_ALLOWED',
      `this method is open to ${access.join(', ')}; the token has the role ${role}`,
    );
  }
}

/** A handler may be waiting for a database that does not answer: the caller is told as soon as its deadline has passed. */
async function unlessAborted(
  handle: () => Promise<Response> | Response,
  context: HandlerContext,
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

function abortError(context: HandlerContext): ConnectError {
  return (context.timeoutMs() ?? Infinity) < deadlineToleranceMs
    ? rpcError('DEADLINE_EXCEEDED', 'the deadline passed before the work was done')
    : rpcError('CALL_CANCELLED', 'the caller went away');
}

function explain(thrown: unknown, context: HandlerContext, options: GuardOptions): ConnectError {
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

function logCall(
  context: HandlerContext,
  startedAt: number,
  error: ConnectError | undefined,
  options: GuardOptions,
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
