import type { FastifyReply, FastifyRequest } from 'fastify';
import { isLanguage, languageFor } from '../runtime/language/language.ts';
import type { Language } from '../runtime/language/language.ts';

const cookieName = 'gatehouse_language';
const maxAgeSeconds = 365 * 24 * 60 * 60;

/** The language of a request's answer. One that was chosen with the page's switch is remembered by the browser. */
export function chooseLanguage(request: FastifyRequest, reply: FastifyReply, secure: boolean): Language {
  const chosen = new URLSearchParams(request.url.split('?')[1]).get('lang') ?? undefined;
  if (isLanguage(chosen)) {
    reply.setCookie(cookieName, chosen, {
      path: '/',
      httpOnly: true,
      sameSite: 'lax',
      secure,
      maxAge: maxAgeSeconds,
    });
  }
  return languageFor({
    chosen,
    remembered: request.cookies[cookieName],
    accepted: request.headers['accept-language'],
  });
}
