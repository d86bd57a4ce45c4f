import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { waitText } from '../../platform/language/duration-text.ts';
import { signedInUserOf } from '../access/page-context.ts';
import { tryCall, callOptions } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { fieldOf, readForm } from '../forms/read-form.ts';
import { wordsFor } from '../language/words.ts';
import { PageProblem } from '../page-problem.ts';
import { shellWords } from '../send-page.ts';
import { sessionHash } from '../session/session-store.ts';
import { flash } from '../session/sign-in-state.ts';
import { qrCode } from './qr-path.ts';
import { accountWords } from './show-account.ts';

/**
 * The hidden field with the new secret, so that a mistyped code does not require another secret. Forms that are kept for
 * later omit it by its name, because the secret must not be stored.
 */
const SetUp = Type.Object({
  secret_uri: Type.String({ maxLength: 1024, pattern: '^otpauth://totp/[!-~]*$' }),
  code: Type.String({ maxLength: 32 }),
});

/** The pages to turn one-time codes on and off. */
export function addSecondFactor(app: FastifyInstance, dashboard: Dashboard): void {
  const { accounts } = dashboard.clients;

  app.post('/account/codes/begin', async (request, reply) => {
    const { uri } = await accounts.beginTotp(
      { userId: signedInUserOf(request).userId },
      callOptions(request),
    );
    return showSetUp(dashboard, request, reply, { uri });
  });

  app.post('/account/codes/confirm', async (request, reply) => {
    const words = wordsFor(request, accountWords);
    const form = readForm(SetUp, request.body, shellWords[request.language].forms);
    const uri = fieldOf(request.body, 'secret_uri');
    if (!form.ok) {
      if ('secret_uri' in form.errors) {
        flash(request, { tone: 'warn', text: words.codes.setUp.again });
        return reply.redirect('/account', 303);
      }
      return showSetUp(dashboard, request, reply, { uri, error: form.errors['code'], status: 400 });
    }
    const { code } = form.value;
    const answer = await tryCall(request, (options) =>
      accounts.confirmTotp(
        {
          userId: signedInUserOf(request).userId,
          code,
          browserSecret: dashboard.browserSecrets.of(request),
          keepSessionHash: sessionHash(request.session.sessionId),
        },
        options,
      ),
    );
    if (answer.ok)
      return dashboard.sendPage(request, reply, {
        template: 'account/recovery-codes',
        title: words.codes.recovery.title,
        words,
        self: '/account',
        view: { codes: answer.value.recoveryCodes },
      });
    const { problem, reason, retryAfterSeconds = 60 } = answer.refusal;
    if (problem === 'tooManyRequests') {
      reply.header('retry-after', retryAfterSeconds);
      const error = words.tooMany(waitText(retryAfterSeconds, request.language));
      return showSetUp(dashboard, request, reply, { uri, error, status: 429 });
    }
    if (problem !== 'forbidden') throw new PageProblem('changedMeanwhile', reason);
    return showSetUp(dashboard, request, reply, { uri, error: words.codes.setUp.wrong, status: 400 });
  });

  app.post('/account/codes/off', async (request, reply) => {
    await accounts.disableTotp({ userId: signedInUserOf(request).userId }, callOptions(request));
    flash(request, { tone: 'good', text: wordsFor(request, accountWords).codes.turnedOff });
    return reply.redirect('/account', 303);
  });
}

function showSetUp(
  { sendPage }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { uri, error, status = 200 }: { uri: string; error?: string | undefined; status?: number },
): FastifyReply {
  const words = wordsFor(request, accountWords);
  const secret = new URL(uri).searchParams.get('secret') ?? '';
  reply.code(status);
  return sendPage(request, reply, {
    template: 'account/set-up-codes',
    title: words.codes.setUp.title,
    words,
    self: '/account',
    view: { uri, error, qr: qrCode(uri), secret: secret.replace(/.{4}(?=.)/g, '$& ') },
  });
}
