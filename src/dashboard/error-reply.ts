import type { FastifyReply, FastifyRequest } from 'fastify';
import { isFrameworkRefusal } from '../platform/http/framework-refusal.ts';
import { ownPath } from '../platform/http/own-path.ts';
import { waitText } from '../platform/language/duration-text.ts';
import { problems as amharic } from './language/amharic/problems.ts';
import { problems as english } from './language/english/problems.ts';
import { wordsFor } from './language/words.ts';
import { PageProblem, problems } from './page-problem.ts';
import { logFacts } from './request-log.ts';
import { failureOfRpc } from './rpc-failure.ts';
import type { SendPage } from './send-page.ts';

export type ReplyWithError = (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;

const dictionary = { en: english, am: amharic };

/** Answers with an error page, which shows the request id for the logs. */
export function createErrorHandler(sendPage: SendPage): ReplyWithError {
  return (thrown, request, reply) => {
    const { problem, reason, cause, retryAfterSeconds } = pageProblemOf(thrown);
    const isOurs = problems[problem] >= 500;
    logFacts(request, { reason, ...(isOurs ? { cause } : {}) });
    if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
    reply.code(problems[problem]);
    const words = wordsFor(request, dictionary);
    const { title, body } = words[problem];
    return sendPage(request, reply, {
      template: 'problem',
      title,
      words,
      view: {
        body,
        again: mayRepeat(problem, request) ? samePage(request) : undefined,
        wait:
          retryAfterSeconds === undefined
            ? undefined
            : words.tryAgainIn(waitText(retryAfterSeconds, request.language)),
      },
    });
  };
}

/** Whether the same address may answer later. A form is not repeated, because its change may have been saved. */
const mayRepeat = (problem: PageProblem['problem'], { method }: FastifyRequest): boolean =>
  problems[problem] >= 500 && problem !== 'insecureConnection' && method === 'GET';

function samePage({ url }: FastifyRequest): string {
  const { path, query } = ownPath(url);
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

/** The error page for errors of Fastify, of core and of this process. */
function pageProblemOf(thrown: unknown): PageProblem {
  if (thrown === undefined) return new PageProblem('notFound', 'ROUTE_NOT_FOUND');
  if (thrown instanceof PageProblem) return thrown;
  const failure = failureOfRpc(thrown);
  if (failure !== undefined) {
    const { problem, reason, retryAfterSeconds } = failure;
    return new PageProblem(problem, reason, { cause: thrown, retryAfterSeconds });
  }
  if (isForeignForm(thrown)) return new PageProblem('foreignForm', 'CSRF_TOKEN');
  return isFrameworkRefusal(thrown)
    ? new PageProblem('badRequest', 'BAD_REQUEST')
    : new PageProblem('unexpected', 'UNEXPECTED', { cause: thrown });
}

const isForeignForm = (thrown: unknown): boolean =>
  thrown instanceof Error &&
  'code' in thrown &&
  typeof thrown.code === 'string' &&
  thrown.code.startsWith('FST_CSRF_');
