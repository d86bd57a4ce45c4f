import { ConnectError } from '@connectrpc/connect';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../runtime/logger.ts';

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

/**
 * Writes one line when the request is over, however it ends: answered, or left by the customer. The path is never in it,
 * because it has the token: the route stands for it. Level: warn for what we did wrong (5xx), debug for probes that found
 * everything well, info for all else.
 */
export function logWhenOver(
  request: FastifyRequest,
  reply: FastifyReply,
  { logger, monotonicMs }: { logger: Logger; monotonicMs: () => number },
): void {
  const startedMs = monotonicMs();
  const facts: RequestFacts = {};
  request.checkoutFacts = facts;
  const response = reply.raw;
  response.once('close', () => {
    const status = response.headersSent ? response.statusCode : undefined;
    const route = request.routeOptions.url;
    const probe = (route === '/healthz' || route === '/readyz') && status === 200;
    const level = status !== undefined && status >= 500 ? 'warn' : probe ? 'debug' : 'info';
    logger[level](
      {
        request_id: request.id,
        method: request.method,
        route,
        status,
        ...(response.writableFinished ? {} : { client_gone: true }),
        duration_ms: Math.round((monotonicMs() - startedMs) * 100) / 100,
        ip: request.ip,
        order_id: facts.orderId,
        merchant_id: facts.merchantId,
        stage: facts.stage,
        phone: facts.phone,
        reason: facts.reason,
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

/** Adds what was found out to the request's log line. */
export function logFacts(request: FastifyRequest, facts: RequestFacts): void {
  if (request.checkoutFacts !== null) Object.assign(request.checkoutFacts, facts);
}
