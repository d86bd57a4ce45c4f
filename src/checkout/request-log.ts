import type { FastifyReply, FastifyRequest } from 'fastify';
import { logLineWhenOver } from '../platform/http/request-line.ts';
import type { Logger } from '../platform/logger.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What the request's one log line will say besides what HTTP knows; null before the request has begun. */
    checkoutFacts: RequestFacts | null;
  }
}

/** Found out on the way. Never the token: whoever has it can pay, so only the order's id stands for it. */
export interface RequestFacts {
  orderId?: string;
  merchantId?: string;
  /** What the page showed. */
  stage?: string;
  /** The phone asked to pay, masked. */
  phone?: string;
  /** Why the request failed, as an UPPER_SNAKE word. */
  reason?: string;
  /** What went wrong inside; never shown to the customer. */
  cause?: unknown;
}

/** As `logLineWhenOver`. The path is never in the line, because it has the token: the route stands for it. */
export function logWhenOver(
  request: FastifyRequest,
  reply: FastifyReply,
  { logger, monotonicMs }: { logger: Logger; monotonicMs: () => number },
): void {
  const found: RequestFacts = {};
  request.checkoutFacts = found;
  const facts = () => {
    const { orderId, merchantId, stage, phone, reason, cause } = found;
    return { order_id: orderId, merchant_id: merchantId, stage, phone, reason, cause };
  };
  logLineWhenOver(request, reply, { logger, nowMs: monotonicMs, facts });
}

/** Adds what was found out to the request's log line. */
export function logFacts(request: FastifyRequest, facts: RequestFacts): void {
  if (request.checkoutFacts !== null) Object.assign(request.checkoutFacts, facts);
}
