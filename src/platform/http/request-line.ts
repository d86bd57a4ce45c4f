import { ConnectError } from '@connectrpc/connect';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { limitLines } from '../line-limit.ts';
import type { Logger } from '../logger.ts';
import { logInSpan } from '../tracing/span.ts';
import { spanOf } from './trace-requests.ts';

export interface RequestLineOptions {
  readonly logger: Logger;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
}

/** The facts that one request adds to its line. Both are read when the request is over. */
export interface RequestLine {
  /** More fields. They must not contain secrets or unmasked phone numbers. */
  readonly facts: () => { readonly cause?: unknown } & Readonly<Record<string, unknown>>;
  /**
   * A word for a kind of requests that anyone can send as often as they like. Requests with the same word share log lines. Undefined: the
   * request has a line of its own. A caller must not be able to choose the word, because the words of the last minute are kept.
   */
  readonly sharedAs: () => string | undefined;
}

/** Enough for the mistakes of honest clients. */
const sharedLinesPerMinute = 20;

/**
 * Writes one log line at the end of a request, whether it was answered or its client disconnected. Of requests that share lines, twenty in
 * a minute have their own line, for each word, route and status. The others have one together, with their number as `count`.
 * Level: warn for our failures (5xx), debug for successful probes, info for all others.
 */
export function createRequestLines({ logger, nowMs }: RequestLineOptions) {
  const write = ({ level, line }: WrittenLine): void => logger[level](line, 'request');
  const writeShared = limitLines<WrittenLine>(({ level, line }, count) => {
    write({ level, line: count === 1 ? line : { ...line, count } });
  }, sharedLinesPerMinute);
  return (request: FastifyRequest, reply: FastifyReply, { facts, sharedAs }: RequestLine): void => {
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
      const shared = probe ? undefined : sharedAs();
      logInSpan(spanOf(request), () => {
        if (shared === undefined) write({ level, line });
        else writeShared(`${shared} ${request.method} ${route} ${status}`, { level, line });
      });
    });
  };
}

interface WrittenLine {
  readonly level: 'debug' | 'info' | 'warn';
  readonly line: object;
}

/** Core logs its own failures in full under the same request id. Here the reason is enough. */
function causeFields(cause: unknown): object {
  if (cause === undefined) return {};
  return cause instanceof ConnectError ? { error: cause.message } : { err: cause };
}
