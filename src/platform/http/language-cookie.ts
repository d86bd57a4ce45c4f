import type {} from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isLanguage, languageFor } from '../language/language.ts';
import type { Language } from '../language/language.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The language to answer in. */
    language: Language;
  }
}

/** Where a browser keeps the language its user chose. */
export interface LanguageCookie {
  readonly name: string;
  /** Whether browsers reach the pages over https. */
  readonly isSecure: boolean;
}

const maxAgeSeconds = 365 * 24 * 60 * 60;

/** Has the browser remember a language. */
export function rememberLanguage(
  reply: FastifyReply,
  language: Language,
  { name, isSecure }: LanguageCookie,
): void {
  reply.setCookie(name, language, {
    path: '/',
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure,
    maxAge: maxAgeSeconds,
  });
}

/**
 * The language of a request's answer: just chosen with the page's switch, which the browser then remembers; chosen before
 * in this browser; the user's own, where one is known; what the browser prefers.
 */
export function chooseLanguage(
  request: FastifyRequest,
  reply: FastifyReply,
  cookie: LanguageCookie,
  usersOwn?: Language,
): Language {
  const chosen = new URLSearchParams(request.url.split('?')[1]).get('lang') ?? undefined;
  if (isLanguage(chosen)) rememberLanguage(reply, chosen, cookie);
  return languageFor({
    chosen,
    remembered: request.cookies[cookie.name] ?? usersOwn,
    accepted: request.headers['accept-language'],
  });
}
