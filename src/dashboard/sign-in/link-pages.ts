import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Dashboard } from '../dashboard.ts';
import { links as amharic } from '../language/amharic/links.ts';
import { links as english } from '../language/english/links.ts';
import { wordsFor } from '../language/words.ts';
import { logFacts } from '../request-log.ts';
import { failureOfRpc } from '../rpc-failure.ts';

export const linkWords = { en: english, am: amharic };

/** The token of a one-time link. */
export const tokenOf = ({ params }: FastifyRequest): string => (params as { readonly token: string }).token;

/** Answers a request for a one-time link. A link that does not work gets its error page. */
export async function sayNotUsable(
  { sendPage }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await answer();
  } catch (thrown) {
    const failure = failureOfRpc(thrown);
    // Core refuses a malformed token as an invalid field.
    if (failure?.reason !== 'LINK_NOT_USABLE' && failure?.fields[0]?.field !== 'token') throw thrown;
    logFacts(request, { reason: failure.reason });
    const words = wordsFor(request, linkWords);
    reply.code(404);
    return sendPage(request, reply, {
      template: 'invitation/not-usable',
      title: words.notUsable.title,
      isAlone: true,
      words,
      view: {},
    });
  }
}
