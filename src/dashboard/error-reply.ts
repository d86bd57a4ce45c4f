import type { FastifyReply, FastifyRequest } from 'fastify';
import { isFrameworkRefusal } from '../platform/http/framework-refusal.ts';
import { ownPath } from '../platform/http/own-path.ts';
import { waitText } from '../platform/language/duration-text.ts';
import { problems as amharic } from './language/amharic/problems.ts';
import { problems as english } from './language/english/problems.ts';
import { wordsFor } from './language/words.ts';
import { PageProblem, problems } from './page-problem.ts';
import type { Problem } from './page-problem.ts';
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
      // The title already states the problem.
      hasMistake: false,
      words,
      view: {
        body,
        again: againOf(problem, request, words),
        isUnanswered: request.method === 'POST' && (isOurs || mayBeRepeated.has(problem)),
        wait:
          retryAfterSeconds === undefined
            ? undefined
            : words.tryAgainIn(waitText(retryAfterSeconds, request.language)),
      },
    });
  };
}

interface Again {
  readonly href: string;
  readonly text: string;
}

/** The link to the page that may answer later, or to the page of the form. A form is not repeated, because its change may have been saved. */
function againOf(
  problem: Problem,
  request: FastifyRequest,
  words: { readonly tryAgain: string; readonly openAgain: string },
): Again | undefined {
  if (hasNoPage.has(problem)) return undefined;
  if (request.method !== 'POST')
    return problems[problem] >= 500 ? { href: samePage(request), text: words.tryAgain } : undefined;
  const href = pageOfForm(request);
  return href === undefined ? undefined : { href, text: words.openAgain };
}

/** Where nothing was wrong with the form, so that the page of the form shows again what was typed. */
const mayBeRepeated: ReadonlySet<Problem> = new Set(['tooManyRequests', 'foreignForm']);

/** Where the user has no page to go back to. */
const hasNoPage: ReadonlySet<Problem> = new Set(['forbidden', 'notFound', 'insecureConnection']);

function samePage({ url }: FastifyRequest): string {
  const { path, query } = ownPath(url);
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

/** The page that shows the form: at its address, such as `/m/…/keys`, or above it, for `/m/…/keys/…/rotate`. */
function pageOfForm({ url, routeOptions, server }: FastifyRequest): string | undefined {
  const names = ownPath(url).path.split('/');
  const route = (routeOptions.url ?? '').split('/');
  for (let length = route.length; length > 1; length--) {
    if (server.hasRoute({ method: 'GET', url: route.slice(0, length).join('/') }))
      return names.slice(0, length).join('/');
  }
  return undefined;
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
