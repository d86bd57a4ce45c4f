import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../logger.ts';
import { createRequestLines } from './request-line.ts';
import type { RequestLine } from './request-line.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Facts for the request's log line; null before the request has begun. */
    facts: object | null;
  }
}

/**
 * The request log of a process with pages. Its routes add facts to a request, and `fields` puts them into the log line. The line has the
 * route instead of the path, because paths contain tokens and one-time links. `sharedAs` is that of `createRequestLines`.
 */
export function defineRequestLog<Facts extends object>({
  fields,
  sharedAs,
}: {
  readonly fields: (found: Facts) => ReturnType<RequestLine['facts']>;
  readonly sharedAs: (found: Facts) => ReturnType<RequestLine['sharedAs']>;
}) {
  return {
    createRequestLog: ({
      logger,
      monotonicMs: nowMs,
    }: {
      readonly logger: Logger;
      readonly monotonicMs: () => number;
    }) => {
      const logLineWhenOver = createRequestLines({ logger, nowMs });
      return (request: FastifyRequest, reply: FastifyReply): void => {
        const found = {} as Facts;
        request.facts = found;
        logLineWhenOver(request, reply, { facts: () => fields(found), sharedAs: () => sharedAs(found) });
      };
    },
    /** Adds facts to the request's log line. */
    logFacts: (request: FastifyRequest, facts: Facts): void => {
      if (request.facts !== null) Object.assign(request.facts, facts);
    },
  };
}
