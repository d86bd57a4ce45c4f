import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { guardedPath } from '../access/guarded-path.ts';
import { signedInUserOf } from '../access/page-context.ts';
import { tryCall } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';

import { readForm } from '../forms/read-form.ts';
import { wordsFor } from '../language/words.ts';
import { shellWords } from '../send-page.ts';
import { renewSession } from '../session/sign-in-state.ts';
import { carriedFacts } from './carried-facts.ts';
import { takeNextPage } from './next-page.ts';
import { refusedTry } from './refused-try.ts';
import { signInWords } from './show-sign-in.ts';
import type { Notice } from './show-sign-in.ts';

const Password = Type.Object({ password: Type.String({ maxLength: 256 }) });
const Code = Type.Object({ code: Type.String({ maxLength: 32 }) });

/** The page to confirm the identity again, after which the kept form is sent. */
export function addConfirm(app: FastifyInstance, dashboard: Dashboard): void {
  const { browserSecrets, clients, now, sendPage } = dashboard;

  app.get('/confirm', async (request, reply) => {
    const { next } = request.query as { readonly next?: unknown };
    const path = guardedPath(next, 'GET');
    const { data } = request.session;
    if (data !== undefined && path !== undefined) data.next = path;
    return showConfirm(dashboard, request, reply);
  });

  app.post('/confirm', async (request, reply) => {
    const user = signedInUserOf(request);
    const { data } = request.session;
    if (data === undefined) throw new TypeError('somebody is signed in without a session');
    const form = readForm(
      user.isTotpEnabled ? Code : Password,
      request.body,
      shellWords[request.language].forms,
    );
    if (!form.ok)
      return showConfirm(dashboard, request, reply, {
        error: form.errors['code'] ?? form.errors['password'],
        status: 400,
      });
    const proof = form.value;
    const answer = await tryCall(request, async (options) => {
      const origin = { remoteAddress: request.ip, browserSecret: browserSecrets.of(request) };
      const submitted = { ...proof, ...origin, isConfirmation: true };
      if ('code' in submitted)
        await clients.accounts.verifyTotp({ userId: user.userId, ...submitted }, options);
      else await clients.accounts.verifyPassword({ email: user.email, ...submitted }, options);
    });
    const words = wordsFor(request, signInWords);
    if (!answer.ok) {
      const wrong = user.isTotpEnabled ? words.code.wrong : words.confirm.wrongPassword;
      return showConfirm(dashboard, request, reply, refusedTry(request, reply, answer.refusal, wrong));
    }
    await renewSession(request, user, { ...data, provedAt: now().getTime() });
    return reply.redirect(takeNextPage(request), 303);
  });

  app.get('/carry-on', async (request, reply) => {
    const { data } = request.session;
    if (data?.carried === undefined) return reply.redirect('/', 303);
    const { leave } = request.query as { readonly leave?: unknown };
    if (leave !== undefined) {
      delete data.carried;
      return reply.redirect('/', 303);
    }
    const { action, fields } = data.carried;
    const words = wordsFor(request, signInWords);
    return sendPage(request, reply, {
      template: 'sign-in/carry-on',
      title: words.carryOn.title,
      isAlone: true,
      words,
      view: { action, fields, facts: carriedFacts(request, { fields }) },
    });
  });
}

function showConfirm(
  { sendPage }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { status = 200, notice, error }: { status?: number; notice?: Notice; error?: string | undefined } = {},
): FastifyReply {
  const words = wordsFor(request, signInWords);
  if (status === 401) reply.header('www-authenticate', 'Form');
  reply.code(status);
  return sendPage(request, reply, {
    template: 'sign-in/confirm',
    title: words.confirm.title,
    isAlone: true,
    words,
    self: '/confirm',
    view: {
      notice,
      error,
      byCode: signedInUserOf(request).isTotpEnabled,
      email: signedInUserOf(request).email,
    },
  });
}
