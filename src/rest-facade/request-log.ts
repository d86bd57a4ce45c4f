import type { FastifyReply, FastifyRequest } from 'fastify';
import { logLineWhenOver } from '../platform/http/request-line.ts';
import type { Logger } from '../platform/logger.ts';
import { maskSensitive } from '../platform/mask-sensitive.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request's one log line will say besides what HTTP knows; null before the request has begun. */
    logged: RequestFacts | null;
  }
}

/** Found out on the way. No phone, no key, nothing a merchant sent that is not a reference of its own. */
export interface RequestFacts {
  /** When it came, on the monotonic clock. */
  readonly startedMs: number;
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

/** As `logLineWhenOver`, for one environment's listener. */
export function logWhenOver(
  request: FastifyRequest,
  reply: FastifyReply,
  { logger, environment, nowMs }: { logger: Logger; environment: string; nowMs: () => number },
): void {
  const found: RequestFacts = { startedMs: nowMs() };
  request.logged = found;
  const facts = () => ({
    environment,
    path: loggablePath(request.originalUrl),
    merchant_id: found.merchantId,
    api_key_id: found.apiKeyId,
    order_number: found.orderNumber,
    reason: found.reason,
    issues: found.issues,
    cause: found.cause,
  });
  logLineWhenOver(request, reply, { logger, nowMs, facts });
}

/**
 * A path as it may be logged: without its query, bounded, and without what somebody may have put there by mistake:
 * whatever `maskSensitive` masks, and any run of seven digits, as no path of ours has one.
 */
export function loggablePath(url: string): string {
  const [path = ''] = url.split(/[?#]/, 1);
  const masked = path
    // What lies across the cut is masked before it.
    .slice(0, 2 * maxPathLength)
    .replace(/svc_(live|test)_[^/]*/gi, 'svc_$1_[masked]')
    .replace(/[0-9](?:[-.\s]|%[0-9a-f]{2})?(?:[0-9](?:[-.\s]|%[0-9a-f]{2})?){6,}/gi, '[digits]');
  return maskSensitive(masked).slice(0, maxPathLength);
}

/** Leaves a merchant's own reference for the log when it can be one: other texts do not belong there. */
export function logOrderNumber(request: FastifyRequest, orderNumber: string): void {
  if (request.logged !== null && /^[!-~]{1,64}$/.test(orderNumber)) request.logged.orderNumber = orderNumber;
}
