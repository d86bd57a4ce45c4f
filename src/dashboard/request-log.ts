import type { FastifyReply, FastifyRequest } from 'fastify';
import { logLineWhenOver } from '../platform/http/request-line.ts';
import type { Logger } from '../platform/logger.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request's one log line will say besides what HTTP knows; null before the request has begun. */
    dashboardFacts: RequestFacts | null;
  }
}

/** Found out on the way. Never what somebody typed: only ids, and words of our own. */
export interface RequestFacts {
  userId?: string;
  merchantId?: string;
  /** Why the request failed, as an UPPER_SNAKE word. */
  reason?: string;
  /** What went wrong inside; never shown. */
  cause?: unknown;
}

/** As `logLineWhenOver`. Paths have one-time links in them: the route stands for the path. */
export function logWhenOver(
  request: FastifyRequest,
  reply: FastifyReply,
  { logger, monotonicMs }: { logger: Logger; monotonicMs: () => number },
): void {
  const found: RequestFacts = {};
  request.dashboardFacts = found;
  const facts = () => {
    const { userId, merchantId, reason, cause } = found;
    return { user_id: userId, merchant_id: merchantId, reason, cause };
  };
  logLineWhenOver(request, reply, { logger, nowMs: monotonicMs, facts });
}

/** Adds what was found out to the request's log line. */
export function logFacts(request: FastifyRequest, facts: RequestFacts): void {
  if (request.dashboardFacts !== null) Object.assign(request.dashboardFacts, facts);
}
