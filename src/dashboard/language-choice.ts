import type { FastifyReply, FastifyRequest } from 'fastify';
import { isLanguage, languageFor } from '../runtime/language/language.ts';
import type { Language } from '../runtime/language/language.ts';

const cookieName = 'gatehouse_dashboard_language';
const maxAgeSeconds = 365 * 24 * 60 * 60;

/** Has the browser remember a language, before anything else that is known of its user. */
export function rememberLanguage(reply: FastifyReply, language: Language, isSecure: boolean): void {
  reply.setCookie(cookieName, language, {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure,
    maxAge: maxAgeSeconds,
  });
}

/** The language of a request's answer: just chosen, chosen in this browser, the user's own, the browser's. */
export function chooseLanguage(request: FastifyRequest, reply: FastifyReply, isSecure: boolean): Language {
  const chosen = new URLSearchParams(request.url.split('?')[1]).get('lang') ?? undefined;
  if (isLanguage(chosen)) rememberLanguage(reply, chosen, isSecure);
  return languageFor({
    chosen,
    // Unsigned requests to other scopes have no cookies parsed when their path cannot be read.
    remembered:
      (request.cookies as FastifyRequest['cookies'] | undefined)?.[cookieName] ?? request.viewer?.language,
    accepted: request.headers['accept-language'],
  });
}
