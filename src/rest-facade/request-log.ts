import { ConnectError } from '@connectrpc/connect';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../runtime/logger.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request's one log line will say besides what HTTP knows; null before the request has begun. */
    logged: RequestFacts | null;
  }
}

/** Found out on the way. No phone, no key, nothing a merchant sent that is not a reference of its own. */
export interface RequestFacts {
  merchantId?: string;
  apiKeyId?: string;
  orderNumber?: string;
  /** Why the request failed, as an UPPER_SNAKE word. */
  reason?: string;
  /** The names of the fields that were refused. */
  issues?: readonly string[];
  /** What went wrong inside; never shown to the merchant. */
  cause?: unknown;
}

const maxPathLength = 128;

/**
 * Writes one line when the request is over, however it ends: answered, or left by the client.
 * Level: warn for what we did wrong (5xx), debug for probes that found everything well, info for all else.
 */
export function logWhenOver(
  request: FastifyRequest,
  reply: FastifyReply,
  { logger, environment, nowMs }: { logger: Logger; environment: string; nowMs: () => number },
): void {
  const startedMs = nowMs();
  const facts: RequestFacts = {};
  request.logged = facts;
  const response = reply.raw;
  response.once('close', () => {
    const status = response.headersSent ? response.statusCode : undefined;
    const route = request.routeOptions.url;
    const probe = (route === '/healthz' || route === '/readyz') && status === 200;
    const level = status !== undefined && status >= 500 ? 'warn' : probe ? 'debug' : 'info';
    logger[level](
      {
        request_id: request.id,
        environment,
        method: request.method,
        ...(route === undefined
          ? { path: loggablePath(request.url) }
          : { route, path: loggablePath(request.url) }),
        status,
        ...(response.writableFinished ? {} : { client_gone: true }),
        duration_ms: Math.round((nowMs() - startedMs) * 100) / 100,
        ip: request.ip,
        merchant_id: facts.merchantId,
        api_key_id: facts.apiKeyId,
        order_number: facts.orderNumber,
        reason: facts.reason,
        issues: facts.issues,
        ...causeFields(facts.cause),
      },
      'request',
    );
  });
}

/** Core logs its own failures in full under the same request id; here its word is enough. */
function causeFields(cause: unknown): object {
  if (cause === undefined) return {};
  return cause instanceof ConnectError ? { error: cause.message } : { err: cause };
}

/**
 * A path as it may be logged: without its query, bounded, and without what somebody may have put there by mistake,
 * a key or a phone number.
 */
export function loggablePath(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1);
  return path
    .slice(0, maxPathLength)
    .replace(/svc_(live|test)_[^/]*/gi, 'svc_$1_[masked]')
    .replace(/[0-9](?:[-.\s]|%[0-9a-f]{2})?(?:[0-9](?:[-.\s]|%[0-9a-f]{2})?){6,}/gi, '[digits]');
}

/** Leaves a merchant's own reference for the log when it can be one: other texts do not belong there. */
export function logOrderNumber(request: FastifyRequest, orderNumber: string): void {
  if (request.logged !== null && /^[!-~]{1,64}$/.test(orderNumber)) request.logged.orderNumber = orderNumber;
}
