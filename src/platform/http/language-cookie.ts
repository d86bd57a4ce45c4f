import type {} from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isLanguage, languageFor } from '../language/language.ts';
import type { Language } from '../language/language.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The language of the answer. */
    language: Language;
  }
}

/** The cookie with the language that the user chose. */
export interface LanguageCookie {
  readonly name: string;
  /** Whether browsers reach the pages over https. */
  readonly isSecure: boolean;
}

const maxAgeSeconds = 365 * 24 * 60 * 60;

/** Stores a language in the browser. */
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
 * The language of a request's answer. It is the language just chosen on the page, which is then stored in the browser. Without
 * a choice it is the stored language, then the user's own if known, and then the browser's preference.
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
