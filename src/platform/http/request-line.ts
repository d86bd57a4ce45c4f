import { ConnectError } from '@connectrpc/connect';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../logger.ts';
import { logInSpan } from '../tracing/span.ts';
import { spanOf } from './trace-requests.ts';

export interface RequestLineOptions {
  readonly logger: Logger;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  /** More fields for the line, read when the request is over. They must not contain secrets or unmasked phone numbers. */
  readonly facts: () => { readonly cause?: unknown } & Readonly<Record<string, unknown>>;
}

/**
 * Writes one log line at the end of a request, whether it was answered or its client disconnected.
 * Level: warn for our failures (5xx), debug for successful probes, info for all others.
 */
export function logLineWhenOver(
  request: FastifyRequest,
  reply: FastifyReply,
  options: RequestLineOptions,
): void {
  const { logger, nowMs, facts } = options;
  const startedMs = nowMs();
  const response = reply.raw;
  response.once('close', () => {
    const status = response.headersSent ? response.statusCode : undefined;
    const route = request.routeOptions.url;
    const probe = (route === '/healthz' || route === '/readyz') && status === 200;
    const level = status !== undefined && status >= 500 ? 'warn' : probe ? 'debug' : 'info';
    const found = facts();
    const line = {
      request_id: request.id,
      method: request.method,
      // The logger omits undefined fields.
      route,
      status,
      client_gone: response.writableFinished ? undefined : true,
      duration_ms: Math.round((nowMs() - startedMs) * 100) / 100,
      ip: request.ip,
      ...found,
      cause: undefined,
      ...causeFields(found.cause),
    };
    logInSpan(spanOf(request), () => logger[level](line, 'request'));
  });
}

/** Core logs its own failures in full under the same request id. Here the reason is enough. */
function causeFields(cause: unknown): object {
  if (cause === undefined) return {};
  return cause instanceof ConnectError ? { error: cause.message } : { err: cause };
}
