import type { FastifyReply, FastifyRequest } from 'fastify';
import { signedInUserOf } from '../access/page-context.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { account as amharic } from '../language/amharic/account.ts';
import { account as english } from '../language/english/account.ts';
import { wordsFor } from '../language/words.ts';
import { shellWords } from '../send-page.ts';
import type { Notice } from '../sign-in/show-sign-in.ts';

export const accountWords = { en: english, am: amharic };

export interface AccountPage {
  readonly profile?: FormState;
  readonly password?: FormState;
  readonly notice?: Notice;
  readonly status?: number;
}

/** Answers with the page of the user's account. */
export function showAccount(
  { sendPage }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { profile, password = emptyForm(), notice, status = 200 }: AccountPage = {},
): FastifyReply {
  const words = wordsFor(request, accountWords);
  const { roles } = shellWords[request.language];
  const {
    email,
    name,
    language = request.language,
    isOperator,
    isTotpEnabled,
    memberships,
  } = signedInUserOf(request);
  reply.code(status);
  return sendPage(request, reply, {
    template: 'account/account',
    title: words.title,
    words,
    self: '/account',
    view: {
      email,
      profile: profile ?? emptyForm({ name, language }),
      languages: Object.entries(words.profile.languages),
      password,
      notice,
      isOperator,
      isTotpEnabled,
      memberships: memberships.map(({ merchantName, role }) => ({ merchantName, role: roles[role] })),
    },
  });
}
