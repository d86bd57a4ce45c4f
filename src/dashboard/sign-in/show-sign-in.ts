import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { signIn as amharic } from '../language/amharic/sign-in.ts';
import { signIn as english } from '../language/english/sign-in.ts';
import { wordsFor } from '../language/words.ts';
import { writeCarriedForm } from '../session/session-data.ts';
import type { CarriedForm } from '../session/session-data.ts';

export const signInWords = { en: english, am: amharic };

/** A message above a form. */
export interface Notice {
  readonly tone: 'good' | 'warn' | 'bad';
  readonly title: string;
  readonly body?: string;
}

export interface SignInPage {
  readonly form?: FormState;
  readonly next?: string | undefined;
  readonly carried?: CarriedForm | undefined;
  readonly notice?: Notice;
  readonly status?: number;
}

/** Answers with the sign-in page. */
export function showSignIn(
  { sendPage }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { form = emptyForm(), next, carried, notice, status = 200 }: SignInPage,
): FastifyReply {
  const words = wordsFor(request, signInWords);
  // RFC 9110, 15.5.2: a 401 names a scheme. Browsers do not know this one, and show the page.
  if (status === 401) reply.header('www-authenticate', 'Form');
  reply.code(status);
  return sendPage(request, reply, {
    template: 'sign-in/sign-in',
    title: words.title,
    isAlone: true,
    // An expired session is none.
    hasMistake: notice?.tone === 'bad' || Object.keys(form.errors).length > 0,
    words,
    self: next === undefined ? '/sign-in' : `/sign-in?next=${encodeURIComponent(next)}`,
    hasOwnLanguage: carried !== undefined,
    view: {
      form,
      next,
      carried: carried === undefined ? undefined : writeCarriedForm(carried),
      notice: notice ?? (carried === undefined ? undefined : { tone: 'warn', title: words.kept }),
    },
  });
}
