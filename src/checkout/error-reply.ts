import type { FastifyReply, FastifyRequest } from 'fastify';
import { isFrameworkRefusal } from '../platform/http/framework-refusal.ts';
import { PageProblem } from './page-problem.ts';
import { problemPage, problems } from './problem-page.ts';
import { logFacts } from './request-log.ts';
import type { SendPage } from './send-page.ts';

export type ReplyWithError = (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => void;

/** Answers with the problem, as a page or as JSON for a script. The answer contains no internal details. */
export function createErrorHandler(sendPage: SendPage, pathOf: (token: string) => string): ReplyWithError {
  return (thrown, request, reply) => {
    const { problem, reason, cause, retryAfterSeconds } = pageProblemOf(thrown);
    logFacts(request, { reason, ...(problem === 'unavailable' ? { cause } : {}) });
    if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
    const status = problems[problem];
    reply.code(status);
    const route = request.routeOptions.url;
    if (route === '/c/:token/status') {
      reply.send({ code: status, message: reason });
      return;
    }
    const params = request.params as { readonly token?: string };
    const self = params.token === undefined ? undefined : pathOf(encodeURIComponent(params.token));
    const parts = { language: request.language, self, waitSeconds: retryAfterSeconds ?? 60 };
    sendPage(request, reply, problemPage(problem, parts), self);
  };
}

/** Translates Fastify's refusals and internal errors into a problem for the customer. */
function pageProblemOf(thrown: unknown): PageProblem {
  if (thrown === undefined) return new PageProblem('unknownLink', 'ROUTE_NOT_FOUND');
  if (thrown instanceof PageProblem) return thrown;
  return isFrameworkRefusal(thrown)
    ? new PageProblem('badRequest', 'BAD_REQUEST')
    : new PageProblem('unavailable', 'UNEXPECTED', { cause: thrown });
}
