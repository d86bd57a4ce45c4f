import type { FastifyReply, FastifyRequest } from 'fastify';
import { createRequestLines } from '../platform/http/request-line.ts';
import type { Logger } from '../platform/logger.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Additional fields of the request's log line; null before the request has begun. */
    dashboardFacts: RequestFacts | null;
  }
}

/** Fields that a route adds. Never user input: only ids, and fixed words. */
export interface RequestFacts {
  userId?: string;
  merchantId?: string;
  /** Why the request failed, in UPPER_SNAKE_CASE. */
  reason?: string;
  /** The internal error; never shown. */
  cause?: unknown;
}

/**
 * As `createRequestLines`. It logs the route and not the path, because paths contain one-time links. Requests without a session share
 * lines.
 */
export function createRequestLog({
  logger,
  monotonicMs: nowMs,
}: {
  readonly logger: Logger;
  readonly monotonicMs: () => number;
}) {
  const logLineWhenOver = createRequestLines({ logger, nowMs });
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const found: RequestFacts = {};
    request.dashboardFacts = found;
    logLineWhenOver(request, reply, {
      facts: () => {
        const { userId, merchantId, reason, cause } = found;
        return { user_id: userId, merchant_id: merchantId, reason, cause };
      },
      sharedAs: () => (found.userId === undefined ? `${found.reason}` : undefined),
    });
  };
}

/** Adds fields to the request's log line. */
export function logFacts(request: FastifyRequest, facts: RequestFacts): void {
  if (request.dashboardFacts !== null) Object.assign(request.dashboardFacts, facts);
}
