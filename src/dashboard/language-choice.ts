import type { FastifyReply, FastifyRequest } from 'fastify';
import * as cookies from '../platform/http/language-cookie.ts';
import type { Language } from '../platform/language/language.ts';

const cookieNamed = (isSecure: boolean): cookies.LanguageCookie => ({
  name: 'gatehouse_dashboard_language',
  isSecure,
});

/** Has the browser remember a language, before anything else that is known of its user. */
export const rememberLanguage = (reply: FastifyReply, language: Language, isSecure: boolean): void =>
  cookies.rememberLanguage(reply, language, cookieNamed(isSecure));

/** The language of a request's answer: just chosen, chosen in this browser, the user's own, the browser's. */
export const chooseLanguage = (request: FastifyRequest, reply: FastifyReply, isSecure: boolean): Language =>
  cookies.chooseLanguage(request, reply, cookieNamed(isSecure), request.viewer?.language);
