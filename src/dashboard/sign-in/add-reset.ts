import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { tryCall, callOptions } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, readForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { wordsFor } from '../language/words.ts';
import { mailReset } from '../mail/mail-links.ts';
import { PageProblem } from '../page-problem.ts';
import { shellWords } from '../send-page.ts';
import { linkOf, linkWords, answerLinkRequest, tokenOf } from './link-pages.ts';
import { refusedTry } from './refused-try.ts';
import { requireSecureConnection } from './secure-connection.ts';
import { signInWords } from './show-sign-in.ts';
import type { Notice } from './show-sign-in.ts';

const Address = Type.Object({ email: Type.String({ maxLength: 254, pattern: '^[^@\\s]+@[^@\\s]+$' }) });
const NewPassword = Type.Object({ password: Type.String({ minLength: 12, maxLength: 256 }) });

interface Shown {
  readonly form?: FormState;
  readonly notice?: Notice | undefined;
  readonly status?: number;
}

/** The pages to choose a new password after forgetting the old one. */
export function addReset(app: FastifyInstance, dashboard: Dashboard): void {
  const { browserSecrets, clients, mailer, unknownSecrets } = dashboard;

  /** @throws NOT_FOUND LINK_NOT_USABLE */
  const requireUsable = async (request: FastifyRequest): Promise<void> => {
    await clients.accounts.getPasswordReset({ token: tokenOf(request) }, callOptions(request));
    await unknownSecrets.record(request, linkOf(request), true);
  };

  app.get('/reset', async (request, reply) => showAsk(dashboard, request, reply));

  app.post('/reset', async (request, reply) => {
    if (mailer === undefined) throw new PageProblem('refused', 'NO_MAIL');
    const form = readForm(Address, request.body, shellWords[request.language].forms);
    if (!form.ok) return showAsk(dashboard, request, reply, { form, status: 400 });
    const { email } = form.value;
    const browserSecret = browserSecrets.of(request);
    const answer = await tryCall(request, (options) =>
      clients.accounts.startPasswordReset({ email, remoteAddress: request.ip, browserSecret }, options),
    );
    const words = wordsFor(request, linkWords);
    const sent: Notice = { tone: 'good', title: words.ask.sentTitle, body: words.ask.sentBody };
    if (!answer.ok) {
      if (answer.refusal.problem !== 'tooManyRequests')
        return showAsk(dashboard, request, reply, {
          form: { ...form, errors: { email: shellWords[request.language].forms.malformed } },
          status: 400,
        });
      return showAsk(dashboard, request, reply, {
        form,
        ...refusedTry(request, reply, answer.refusal, words.invitation.wrong),
      });
    }
    const { token, expireTime, email: to } = answer.value;
    // Neither the text nor the duration of the answer reveals whether the address has an account.
    if (token !== '') mailReset(dashboard, request, { to, token, expireTime });
    return showAsk(dashboard, request, reply, { form, notice: sent });
  });

  app.get('/reset/:token', (request, reply) =>
    answerLinkRequest(dashboard, request, reply, async () => {
      await requireUsable(request);
      return showReset(dashboard, request, reply);
    }),
  );

  app.post('/reset/:token', (request, reply) =>
    answerLinkRequest(dashboard, request, reply, async () => {
      requireSecureConnection(dashboard, request);
      await requireUsable(request);
      const form = readForm(NewPassword, request.body, shellWords[request.language].forms);
      if (!form.ok) return showReset(dashboard, request, reply, { form, status: 400 });
      const { password } = form.value;
      const answer = await tryCall(request, (options) =>
        clients.accounts.resetPassword({ token: tokenOf(request), password }, options),
      );
      if (answer.ok) return reply.redirect('/sign-in?set=1', 303);
      if (answer.refusal.fields.some(({ field }) => field === 'token'))
        throw new PageProblem('notFound', 'LINK_NOT_USABLE');
      const { weak } = wordsFor(request, linkWords).password;
      return showReset(dashboard, request, reply, {
        form: { ...form, errors: { password: weak } },
        status: 400,
      });
    }),
  );
}

function showAsk(
  { sendPage, mailer }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { form = emptyForm(), notice, status = 200 }: Shown = {},
): FastifyReply {
  const words = wordsFor(request, linkWords);
  reply.code(status);
  return sendPage(request, reply, {
    template: 'invitation/ask-reset',
    title: words.ask.title,
    isAlone: true,
    words: { ...words, email: wordsFor(request, signInWords).email },
    self: '/reset',
    view: { form, notice, sendsMail: mailer !== undefined },
  });
}

function showReset(
  { sendPage }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { form = emptyForm(), status = 200 }: Shown = {},
): FastifyReply {
  const words = wordsFor(request, linkWords);
  reply.code(status);
  return sendPage(request, reply, {
    template: 'invitation/reset',
    title: words.reset.title,
    isAlone: true,
    words,
    self: request.url,
    view: { form, path: request.url.split('?')[0] },
  });
}
