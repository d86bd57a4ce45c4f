import type { FastifyReply, FastifyRequest } from 'fastify';
import { createRequestLines } from '../platform/http/request-line.ts';
import type { Logger } from '../platform/logger.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Additional fields for the request's log line; null before the request has begun. */
    checkoutFacts: RequestFacts | null;
  }
}

/** Facts about a request for its log line. The order's id replaces the token, because a holder of the token can pay. */
export interface RequestFacts {
  orderId?: string;
  merchantId?: string;
  /** The stage that the page showed. */
  stage?: string;
  /** The phone of the payer, masked. */
  phone?: string;
  /** Why the request failed, as an UPPER_SNAKE word. */
  reason?: string;
  /** The internal cause, never shown to the customer. */
  cause?: unknown;
}

/**
 * Like `createRequestLines`. The line has the route instead of the path, because the path contains the token. Requests without a valid
 * token share lines, and so do those about one order, because anyone who has its link can repeat them without end.
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
    request.checkoutFacts = found;
    logLineWhenOver(request, reply, {
      facts: () => {
        const { orderId, merchantId, stage, phone, reason, cause } = found;
        return { order_id: orderId, merchant_id: merchantId, stage, phone, reason, cause };
      },
      sharedAs: () => `${found.orderId} ${found.stage} ${found.reason}`,
    });
  };
}

/** Adds facts to the request's log line. */
export function logFacts(request: FastifyRequest, facts: RequestFacts): void {
  if (request.checkoutFacts !== null) Object.assign(request.checkoutFacts, facts);
}
