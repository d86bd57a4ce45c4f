import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { waitText } from '../../platform/language/duration-text.ts';
import { languages } from '../../platform/language/language.ts';
import { signedInUserOf } from '../access/page-context.ts';
import { tryCall, callOptions } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { readForm } from '../forms/read-form.ts';
import { rememberLanguage } from '../language-choice.ts';
import { wordsFor } from '../language/words.ts';
import { PageProblem } from '../page-problem.ts';
import type { RpcFailure } from '../rpc-failure.ts';
import { shellWords } from '../send-page.ts';
import { sessionHash } from '../session/session-store.ts';
import { flash } from '../session/sign-in-state.ts';
import { accountWords, showAccount } from './show-account.ts';
import type { AccountPage } from './show-account.ts';

const Profile = Type.Object({
  name: Type.String({ maxLength: 128 }),
  language: Type.Union(languages.map((language) => Type.Literal(language))),
});
const NewPassword = Type.Object({
  current_password: Type.String({ maxLength: 256 }),
  new_password: Type.String({ minLength: 12, maxLength: 256 }),
});

/** The page of the user's account: name, language, password, and other sessions. */
export function addAccount(app: FastifyInstance, dashboard: Dashboard): void {
  const { accounts, sessions } = dashboard.clients;

  app.get('/account', (request, reply) => showAccount(dashboard, request, reply));

  app.post('/account/profile', async (request, reply) => {
    const { forms } = shellWords[request.language];
    const form = readForm(Profile, request.body, forms);
    if (!form.ok) return showAccount(dashboard, request, reply, { profile: form, status: 400 });
    const { userId } = signedInUserOf(request);
    const answer = await tryCall(request, (options) =>
      accounts.updateProfile({ userId, ...form.value }, options),
    );
    if (!answer.ok) {
      if (answer.refusal.problem === 'tooManyRequests')
        return showTooMany(dashboard, request, reply, answer.refusal, { profile: form });
      const profile = { ...form, errors: { name: forms.malformed } };
      return showAccount(dashboard, request, reply, { profile, status: 400 });
    }
    const { language } = form.value;
    rememberLanguage(reply, language, dashboard.isSecure);
    flash(request, { tone: 'good', text: accountWords[language].profile.done });
    return reply.redirect('/account', 303);
  });

  app.post('/account/password', async (request, reply) => {
    const words = wordsFor(request, accountWords);
    const form = readForm(NewPassword, request.body, shellWords[request.language].forms);
    if (!form.ok) return showAccount(dashboard, request, reply, { password: form, status: 400 });
    const { current_password: currentPassword, new_password: newPassword } = form.value;
    const change = {
      userId: signedInUserOf(request).userId,
      currentPassword,
      newPassword,
      keepSessionHash: sessionHash(request.session.sessionId),
      remoteAddress: request.ip,
      browserSecret: dashboard.browserSecrets.of(request),
    };
    const answer = await tryCall(request, (options) => accounts.changePassword(change, options));
    if (answer.ok) {
      flash(request, { tone: 'good', text: words.password.done });
      return reply.redirect('/account', 303);
    }
    const { refusal } = answer;
    switch (refusal.problem) {
      case 'forbidden': {
        const password = { ...form, errors: { current_password: words.password.wrong } };
        return showAccount(dashboard, request, reply, { password, status: 400 });
      }
      case 'badRequest': {
        const password = { ...form, errors: { new_password: words.password.weak } };
        return showAccount(dashboard, request, reply, { password, status: 400 });
      }
      case 'tooManyRequests':
        return showTooMany(dashboard, request, reply, refusal);
      default:
        throw new PageProblem('changedMeanwhile', refusal.reason);
    }
  });

  app.post('/account/sessions/end', async (request, reply) => {
    const { userId } = signedInUserOf(request);
    const keepSessionHash = sessionHash(request.session.sessionId);
    await sessions.endUserSessions({ userId, keepSessionHash }, callOptions(request));
    flash(request, { tone: 'good', text: wordsFor(request, accountWords).sessions.done });
    return reply.redirect('/account', 303);
  });
}

/** Shows the wait above a limit. */
function showTooMany(
  dashboard: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { retryAfterSeconds: seconds = 60 }: RpcFailure,
  page: AccountPage = {},
): FastifyReply {
  reply.header('retry-after', seconds);
  const title = wordsFor(request, accountWords).tooMany(waitText(seconds, request.language));
  return showAccount(dashboard, request, reply, { ...page, notice: { tone: 'bad', title }, status: 429 });
}
