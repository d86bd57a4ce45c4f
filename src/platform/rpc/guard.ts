import type { DescMessage, Message, MessageInitShape } from '@bufbuild/protobuf';
import type { ConnectError, HandlerContext, MethodImplSpec, ServiceImplSpec } from '@connectrpc/connect';
import {
  abortError,
  answerCall,
  explainFailure,
  limitFailedCalls,
  limitOutageCalls,
  limitRefusedCalls,
  logCall,
  unlessAborted,
} from './answer-call.ts';
import type { AnswerOptions } from './answer-call.ts';
import { answerWithin } from './answer-within.ts';
import { inCallSpan } from './call-span.ts';
import { isRequestId } from '../request-id.ts';
import { answerWithinKey, callerKey, logFieldsKey } from './call-context.ts';
import type { Caller } from './call-context.ts';
import { rpcError } from './rpc-error.ts';
import type { Access, RpcService } from './rpc-service.ts';
import { expectedRoleHeader } from '../expected-role.ts';
import { authenticateService } from './service-tokens.ts';
import type { ServiceTokens } from './service-tokens.ts';
import { peerCertificateKey, roleOfCertificate } from '../tls/peer-certificate.ts';
import type { PeerRules } from '../tls/peer-certificate.ts';

export interface GuardOptions extends Omit<AnswerOptions, 'logRefused' | 'logFailed' | 'logOutage'> {
  readonly tokens: ServiceTokens;
  /** Undefined when connections carry no certificates. */
  readonly peers?: PeerRules | undefined;
  /** Creates an id for a call without a usable one. */
  readonly newRequestId: () => string;
}

/**
 * Wraps every method of a process's services with authentication, authorisation, one log line per call, and a reason for every error. Calls
 * that are refused as OVERLOADED share lines, and so do failed calls without a valid token. Of calls that fail in an outage, two in a minute
 * have a line, for each role and reason. Of other failures with an expected reason, twenty have one, for each method, role and reason.
 */
export function createGuard(options: GuardOptions): (service: RpcService) => ServiceImplSpec {
  const guarding = {
    ...options,
    logRefused: limitRefusedCalls(options.logger),
    logFailed: limitFailedCalls(options.logger),
    logOutage: limitOutageCalls(options.logger),
  };
  return ({ spec, access }) => {
    const methods = Object.entries(spec.methods).map(([name, method]) => {
      return [name, guardMethod(method, access.get(name) ?? [], guarding)] as const;
    });
    return { service: spec.service, methods: Object.fromEntries(methods) };
  };
}

type GuardingOptions = GuardOptions & AnswerOptions;

function guardMethod(spec: MethodImplSpec, access: Access, options: GuardingOptions): MethodImplSpec {
  switch (spec.kind) {
    case 'unary':
      return {
        ...spec,
        impl: (request: Message, context: HandlerContext) =>
          guardSingleResponse(() => spec.impl(request, context), context, access, options),
      };
    case 'client_streaming':
      return {
        ...spec,
        impl: (requests: AsyncIterable<Message>, context: HandlerContext) =>
          guardSingleResponse(() => spec.impl(requests, context), context, access, options),
      };
    case 'server_streaming':
      return {
        ...spec,
        impl: (request: Message, context: HandlerContext) =>
          guardResponseStream(() => spec.impl(request, context), context, access, options),
      };
    case 'bidi_streaming':
      return {
        ...spec,
        impl: (requests: AsyncIterable<Message>, context: HandlerContext) =>
          guardResponseStream(() => spec.impl(requests, context), context, access, options),
      };
  }
}

type Response = MessageInitShape<DescMessage>;

function guardSingleResponse(
  handle: () => Promise<Response> | Response,
  context: HandlerContext,
  access: Access,
  options: GuardingOptions,
): Promise<Response> {
  return answerCall(
    () => {
      admitCall(context, access, options);
      const traceparent = context.requestHeader.get('traceparent') ?? '';
      return inCallSpan(context, traceparent, options, () => unlessAborted(handle, context));
    },
    context,
    options,
  );
}

async function* guardResponseStream(
  handle: () => AsyncIterable<Response>,
  context: HandlerContext,
  access: Access,
  options: GuardingOptions,
): AsyncIterable<Response> {
  const startedAt = performance.now();
  let failure: ConnectError | undefined;
  try {
    admitCall(context, access, options);
    context.values.set(answerWithinKey, answerWithin(context, options));
    yield* handle();
    // A handler that ends because of the deadline has no result of its own. So the caller gets the deadline error.
    if (context.signal.aborted) throw abortError(context);
  } catch (error) {
    failure = explainFailure(error, context, options);
    throw failure;
  } finally {
    // In `finally`, because a stream neither ends nor fails when its caller leaves.
    logCall(context, startedAt, failure, options);
  }
}

function admitCall(context: HandlerContext, access: Access, options: GuardOptions): void {
  const { tokens, newRequestId } = options;
  const given = context.requestHeader.get('x-request-id') ?? '';
  const requestId = isRequestId(given) ? given : newRequestId();
  const named = context.requestHeader.get('x-gatehouse-actor') ?? '';
  // The audit log rejects control characters. Replacing them here ensures that every action is recorded.
  const actor = named.slice(0, 64).replace(/\p{Cc}/gu, '?');
  const authorization = context.requestHeader.get('authorization');
  const ofToken = authenticateService(tokens, authorization);
  const certified =
    options.peers === undefined
      ? { role: undefined }
      : roleOfCertificate(context.values.get(peerCertificateKey), options.peers);
  const ofCertificate = 'role' in certified ? certified.role : undefined;
  const role = ofCertificate ?? ofToken;
  const caller: Caller = { role: role ?? 'anyone', actor, requestId };
  context.values.set(callerKey, caller);
  context.values.set(logFieldsKey, {});
  if ('refused' in certified) throw rpcError('INVALID_CLIENT_CERTIFICATE', certified.refused);
  if (ofCertificate !== undefined && authorization !== null && ofToken !== ofCertificate) {
    throw rpcError(
      'INVALID_CLIENT_CERTIFICATE',
      `the client certificate has the role ${ofCertificate}, and the service token ` +
        `${ofToken === undefined ? 'is unknown' : `has the role ${ofToken}`}; send only one of them, or two of one role`,
    );
  }
  if (role === undefined) {
    // A wrong token is refused all the same: the probes of a process whose calls are all refused must fail.
    if (access === 'anyone' && authorization === null) return;
    throw rpcError(
      'INVALID_SERVICE_TOKEN',
      'send "authorization: Bearer <service token>" with a token this server knows',
    );
  }
  if (access !== 'anyone' && access !== 'any role' && !access.includes(role)) {
    throw rpcError(
      'ROLE_NOT_ALLOWED',
      `this method is open to ${access.join(', ')}; the ${ofCertificate === undefined ? 'token' : 'client certificate'} has the role ${role}`,
    );
  }
  const expected = context.requestHeader.get(expectedRoleHeader) ?? role;
  if (expected !== role) {
    throw rpcError(
      'ROLE_NOT_ALLOWED',
      `the caller expects the role ${expected}; its ${ofCertificate === undefined ? 'token' : 'client certificate'} has the role ${role}`,
    );
  }
}
