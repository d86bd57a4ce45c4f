import type { FastifyReply, FastifyRequest } from 'fastify';
import * as cookies from '../platform/http/language-cookie.ts';
import type { Language } from '../platform/language/language.ts';

const cookieNamed = (isSecure: boolean): cookies.LanguageCookie => ({
  name: 'gatehouse_dashboard_language',
  isSecure,
});

/** Stores a language in the browser. It takes precedence over the user's setting. */
export const rememberLanguage = (reply: FastifyReply, language: Language, isSecure: boolean): void =>
  cookies.rememberLanguage(reply, language, cookieNamed(isSecure));

/** The language of an answer: chosen in this request, stored in the browser, the user's setting, or the browser's. */
export const chooseLanguage = (request: FastifyRequest, reply: FastifyReply, isSecure: boolean): Language =>
  cookies.chooseLanguage(request, reply, cookieNamed(isSecure), request.signedInUser?.language);
