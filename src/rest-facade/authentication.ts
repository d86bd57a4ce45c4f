import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify';
import { ApiKeyScope } from '../gen/gatehouse/v1/api_key_service_pb.js';
import { acceptedForMs } from './api-key-authenticator.ts';
import type { AuthenticateKey, KeyVerdict } from './api-key-authenticator.ts';
import { keyHintFor } from './key-hint.ts';
import type { RateLimits } from './rate-limits.ts';
import { RequestFailure } from './request-failure.ts';
import type { FailureReason } from './request-failure.ts';
import { spanOf } from '../platform/http/trace-requests.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The merchant and key of the request; null before authentication. */
    caller: Caller | null;
    /** Whether the body was incomplete when the key was checked. */
    isBodyLate: boolean;
  }
}

export interface Caller {
  readonly merchantId: string;
  readonly apiKeyId: string;
  readonly scopes: readonly ApiKeyScope[];
  /** Cached answers about ended orders are valid while this version is unchanged. Empty if answers must not be cached. */
  readonly endedOrdersVersion: string;
}

/** Keys have about 60 characters. A much longer text cannot be a key and is refused without a call to core. */
const maxKeyLength = 256;

/** Checks the key of a request again. @throws RequestFailure when it was revoked since */
export type RecheckKey = (request: FastifyRequest) => Promise<void>;

/**
 * Refuses requests without a valid key before their bodies are read. A body may arrive bit by bit, until the
 * time limit of the request. A key that was revoked meanwhile is refused after the body. Endpoints that wait check the key again.
 */
export function requireApiKey(
  app: FastifyInstance,
  environment: 'production' | 'sandbox',
  authenticate: AuthenticateKey,
  limits: RateLimits,
): RecheckKey {
  app.decorateRequest('caller', null);
  app.decorateRequest('isBodyLate', false);
  // Callbacks, because the promises of an async function would cost more than the check of a known key.
  app.addHook('onRequest', (request, _reply, done) => {
    const proceed = (verdict: Verdict): void => {
      if (verdict.kind !== 'accepted') {
        refusalOf(verdict, request, environment, limits).then(done, done);
        return;
      }
      const { merchantId, apiKeyId, requestsPerSecond } = verdict;
      request.caller = verdict;
      if (request.logged !== null) {
        request.logged.merchantId = merchantId;
        request.logged.apiKeyId = apiKeyId;
      }
      limits.countRequest(verdict, requestsPerSecond).then((retryAfterSeconds) => {
        // Node has parsed all that arrived together with the head by now.
        request.isBodyLate = !request.raw.complete;
        if (retryAfterSeconds === undefined) done();
        else done(tooMany(retryAfterSeconds, 'KEY_RATE_LIMITED'));
      }, done);
    };
    const verdict = verdictOn(request, authenticate, limits);
    if (verdict instanceof Promise) verdict.then(proceed, done);
    else proceed(verdict);
  });
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.isBodyLate) recheckKey(request).then(() => done(), done);
    else done();
  });
  const recheckKey: RecheckKey = async (request) => {
    const verdict = await verdictOn(request, authenticate, limits);
    if (verdict.kind !== 'accepted') throw await refusalOf(verdict, request, environment, limits);
    request.caller = verdict;
  };
  return recheckKey;
}

/** The merchant and key of the request. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null)
    throw new TypeError(`${request.method} ${request.routeOptions.url ?? ''} has no rule for API keys`);
  return request.caller;
}

/** An onRequest hook that refuses keys without the scope for refunds before the body is read. Core checks it again. */
export const requireRefundScope: onRequestHookHandler = (request, _reply, done) => {
  if (callerOf(request).scopes.includes(ApiKeyScope.REFUNDS)) done();
  else done(new RequestFailure({ kind: 'forbidden', scope: 'refunds' }, 'API_KEY_NOT_ALLOWED'));
};

type Verdict = KeyVerdict | { readonly kind: 'missing'; readonly reason: 'NO_API_KEY' };

function verdictOn(
  request: FastifyRequest,
  authenticate: AuthenticateKey,
  limits: RateLimits,
): Verdict | Promise<Verdict> {
  const apiKey = request.headers['apikey'];
  if (typeof apiKey !== 'string' || apiKey === '' || isGivenTwice(apiKey, request))
    return { kind: 'missing', reason: 'NO_API_KEY' };
  if (apiKey.length > maxKeyLength) return { kind: 'refused', reason: 'INVALID_API_KEY' };
  const options = { timeoutMs: acceptedForMs, headers: { 'x-request-id': request.id } };
  return authenticate(apiKey, options, spanOf(request), async () => {
    const retryAfterSeconds = await limits.countUnknownKey(request.ip);
    if (retryAfterSeconds !== undefined) throw tooMany(retryAfterSeconds, 'TOO_MANY_FAILED_KEYS');
  });
}

/** Node joins repeated headers by a comma, which no key contains. */
const isGivenTwice = (apiKey: string, { raw }: FastifyRequest): boolean =>
  apiKey.includes(',') && (raw.headersDistinct['apikey'] ?? []).length > 1;

async function refusalOf(
  verdict: Exclude<Verdict, { kind: 'accepted' }>,
  request: FastifyRequest,
  environment: 'production' | 'sandbox',
  limits: RateLimits,
): Promise<RequestFailure> {
  const unauthorized = () =>
    new RequestFailure({ kind: 'unauthorized', issue: keyHintFor(request, environment) }, verdict.reason);
  switch (verdict.kind) {
    case 'barred': {
      const { merchantId, apiKeyId } = verdict;
      if (merchantId !== undefined && apiKeyId !== undefined)
        Object.assign(request.logged ?? {}, { merchantId, apiKeyId });
      return new RequestFailure({ kind: 'forbidden' }, verdict.reason);
    }
    case 'missing':
      return unauthorized();
    case 'refused': {
      // Only failures are counted, because a valid key behind the same address must continue to work.
      const retryAfterSeconds = await limits.countFailedKey(request.ip);
      return retryAfterSeconds === undefined
        ? unauthorized()
        : tooMany(retryAfterSeconds, 'TOO_MANY_FAILED_KEYS');
    }
  }
}

const tooMany = (retryAfterSeconds: number, reason: FailureReason): RequestFailure =>
  new RequestFailure({ kind: 'too_many_requests', retryAfterSeconds }, reason);
