import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Dashboard } from '../dashboard.ts';
import { links as amharic } from '../language/amharic/links.ts';
import { links as english } from '../language/english/links.ts';
import { wordsFor } from '../language/words.ts';
import { PageProblem } from '../page-problem.ts';
import { logFacts } from '../request-log.ts';
import { failureOfRpc } from '../rpc-failure.ts';
import type { Presented } from '../session/limit-unknown-secrets.ts';

export const linkWords = { en: english, am: amharic };

/** The token of a one-time link. */
export const tokenOf = ({ params }: FastifyRequest): string => (params as { readonly token: string }).token;

export const linkOf = (request: FastifyRequest): Presented => ({ kind: 'link', secret: tokenOf(request) });

/** Answers a request for a one-time link. A link that does not work gets its error page, and counts towards the limit of the client's site. */
export async function answerLinkRequest(
  { sendPage, unknownSecrets }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  const refusal = await unknownSecrets.refusalOf(request, linkOf(request));
  if (refusal !== undefined) throw refusal;
  try {
    return await answer();
  } catch (thrown) {
    const failure = failureOfRpc(thrown);
    const reason = thrown instanceof PageProblem ? thrown.reason : failure?.reason;
    // Core refuses a malformed token as an invalid field.
    if (reason === undefined || (reason !== 'LINK_NOT_USABLE' && failure?.fields[0]?.field !== 'token'))
      throw thrown;
    await unknownSecrets.record(request, linkOf(request), false);
    logFacts(request, { reason });
    const words = wordsFor(request, linkWords);
    reply.code(404);
    return sendPage(request, reply, {
      template: 'invitation/not-usable',
      title: words.notUsable.title,
      hasMistake: false,
      isAlone: true,
      words,
      view: { isReset: request.routeOptions.url === '/reset/:token' },
    });
  }
}
