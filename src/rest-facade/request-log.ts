import type { FastifyReply, FastifyRequest } from 'fastify';
import { createRequestLines } from '../platform/http/request-line.ts';
import type { RequestLineOptions } from '../platform/http/request-line.ts';
import { maskSensitive } from '../platform/mask-sensitive.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Additional fields for the request's log line; null before the request has begun. */
    logged: RequestFacts | null;
  }
}

/** Facts about a request for its log line. It contains no phone number and no key. Of the merchant's data it contains only references. */
export interface RequestFacts {
  /** The arrival of the request, on the monotonic clock. */
  readonly startedMs: number;
  merchantId?: string;
  apiKeyId?: string;
  orderNumber?: string;
  /** Why the request failed, as an UPPER_SNAKE word. */
  reason?: string;
  /** The names of the fields that were refused. */
  issues?: readonly string[];
  /** The internal cause, never shown to the merchant. */
  cause?: unknown;
}

const maxPathLength = 128;

/**
 * Reasons for which requests with a known key share lines. All but RECOVERING refuse a request before its body is read, and nothing else
 * limits their number. A recovery lasts for minutes, and shops repeat each request until it ends.
 */
const sharedReasons = new Set([
  'KEY_RATE_LIMITED',
  'MERCHANT_SUSPENDED',
  'OVERLOADED',
  'PRODUCTION_NOT_ACTIVATED',
  'RECOVERING',
]);

/** Like `createRequestLines`, for one environment's listener. Requests that are refused for a shared reason share lines. */
export function createRequestLog({
  environment,
  ...options
}: RequestLineOptions & { readonly environment: string }) {
  const logLineWhenOver = createRequestLines(options);
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const found: RequestFacts = { startedMs: options.nowMs() };
    request.logged = found;
    logLineWhenOver(request, reply, {
      facts: () => ({
        environment,
        path: pathOf(request),
        merchant_id: found.merchantId,
        api_key_id: found.apiKeyId,
        order_number: found.orderNumber,
        reason: found.reason,
        issues: found.issues,
        cause: found.cause,
      }),
      sharedAs: () =>
        found.apiKeyId === undefined || sharedReasons.has(found.reason ?? '')
          ? `${found.apiKeyId} ${found.reason}`
          : undefined,
    });
  };
}

/** Most paths are those of a route, which contain nothing of a client. */
const pathOf = ({ originalUrl, routeOptions }: FastifyRequest): string =>
  originalUrl === routeOptions.url ? originalUrl : loggablePath(originalUrl);

/**
 * A path that is safe to log: without its query, bounded, and masked, because a client may put sensitive data there by
 * mistake. In addition to `maskSensitive`, any run of seven digits is masked, because no path of ours has one.
 */
export function loggablePath(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1);
  const masked = path
    // Mask a longer text, so that a value across the cut is masked completely.
    .slice(0, 2 * maxPathLength)
    .replace(/svc_(live|test)_[^/]*/gi, 'svc_$1_[masked]')
    .replace(/[0-9](?:[-.\s]|%[0-9a-f]{2})?(?:[0-9](?:[-.\s]|%[0-9a-f]{2})?){6,}/gi, '[digits]');
  return maskSensitive(masked).slice(0, maxPathLength);
}

/** Stores a merchant's order_number for the log if it is valid. Other texts must not be logged. */
export function logOrderNumber(request: FastifyRequest, orderNumber: string): void {
  if (request.logged !== null && /^[!-~]{1,64}$/.test(orderNumber)) request.logged.orderNumber = orderNumber;
}
