import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { guardedPath } from '../access/guarded-path.ts';
import { tryCall, callOptions } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, fieldOf, readForm } from '../forms/read-form.ts';
import { wordsFor } from '../language/words.ts';
import { merchantStart } from '../navigation.ts';
import { shellWords } from '../send-page.ts';
import { readCarriedForm } from '../session/session-data.ts';
import type { SessionData } from '../session/session-data.ts';
import { sessionHash } from '../session/session-store.ts';
import { renewSession } from '../session/sign-in-state.ts';
import type { DashboardUser } from '../access/dashboard-user.ts';
import { signedInUserOf } from '../access/page-context.ts';
import { addConfirm } from './add-confirm.ts';
import { addInvitation } from './add-invitation.ts';
import { addReset } from './add-reset.ts';
import { beginSignIn } from './begin-sign-in.ts';
import { linkWords } from './link-pages.ts';
import { takeNextPage } from './next-page.ts';
import { refusedTry } from './refused-try.ts';
import { requireSecureConnection } from './secure-connection.ts';
import { showSignIn, signInWords } from './show-sign-in.ts';
import type { Notice } from './show-sign-in.ts';
import { showNotices } from './show-notices.ts';

const Credentials = Type.Object({
  email: Type.String({ maxLength: 254 }),
  password: Type.String({ maxLength: 256 }),
});
const Code = Type.Object({ code: Type.String({ maxLength: 32 }) });

/** Signing in and out, and the first page. */
export function addSignIn(app: FastifyInstance, dashboard: Dashboard): void {
  addPasswordPage(app, dashboard);
  addCodePage(app, dashboard);
  addSignOut(app, dashboard);
  addFirstPage(app, dashboard);
  addConfirm(app, dashboard);
  addInvitation(app, dashboard);
  addReset(app, dashboard);
}

function addPasswordPage(app: FastifyInstance, dashboard: Dashboard): void {
  const { browserSecrets, clients } = dashboard;

  app.get('/sign-in', async (request, reply) => {
    const { next, out, set } = request.query as Readonly<Record<string, unknown>>;
    if (request.signedInUser !== null) return reply.redirect(guardedPath(next, 'GET') ?? '/', 303);
    const done =
      set !== undefined
        ? wordsFor(request, linkWords).reset.done
        : out !== undefined
          ? wordsFor(request, signInWords).signedOut
          : undefined;
    return showSignIn(dashboard, request, reply, {
      next: guardedPath(next, 'GET'),
      ...(done === undefined ? {} : { notice: { tone: 'good', title: done } }),
    });
  });

  app.post('/sign-in', async (request, reply) => {
    requireSecureConnection(dashboard, request);
    const after = {
      next: guardedPath(fieldOf(request.body, 'next'), 'GET'),
      carried: readCarriedForm(fieldOf(request.body, 'carried')),
    };
    const { lang } = request.query as { readonly lang?: unknown };
    if (lang !== undefined) {
      const form = emptyForm({ email: fieldOf(request.body, 'email') });
      return showSignIn(dashboard, request, reply, { form, ...after });
    }
    const form = readForm(Credentials, request.body, shellWords[request.language].forms);
    if (!form.ok) return showSignIn(dashboard, request, reply, { form, ...after, status: 400 });
    const browserSecret = browserSecrets.ensure(request, reply);
    const answer = await tryCall(request, (options) =>
      clients.accounts.verifyPassword({ ...form.value, remoteAddress: request.ip, browserSecret }, options),
    );
    if (!answer.ok) {
      const { status, notice } = refusedTry(
        request,
        reply,
        answer.refusal,
        wordsFor(request, signInWords).wrong,
      );
      return showSignIn(dashboard, request, reply, { form, ...after, notice, status });
    }
    const { user, passwordVersion } = answer.value;
    if (user === undefined) throw new TypeError('core verified a password and did not send its user');
    return beginSignIn({ dashboard, request, reply }, { user, passwordVersion }, after);
  });
}

function addCodePage(app: FastifyInstance, dashboard: Dashboard): void {
  const { browserSecrets, clients, now } = dashboard;

  app.get('/sign-in/code', async (request, reply) => {
    if (request.session.data?.stage !== 'code') return reply.redirect('/sign-in', 303);
    return showCode(dashboard, request, reply);
  });

  app.post('/sign-in/code', async (request, reply) => {
    const { data, user } = request.session;
    if (data?.stage !== 'code' || user === undefined) return reply.redirect('/sign-in', 303);
    const form = readForm(Code, request.body, shellWords[request.language].forms);
    if (!form.ok) return showCode(dashboard, request, reply, { error: form.errors['code'], status: 400 });
    const answer = await tryCall(request, (options) =>
      clients.accounts.verifyTotp(
        {
          userId: user.userId,
          code: form.value.code,
          remoteAddress: request.ip,
          browserSecret: browserSecrets.of(request),
        },
        options,
      ),
    );
    const words = wordsFor(request, signInWords);
    if (!answer.ok)
      return showCode(
        dashboard,
        request,
        reply,
        refusedTry(request, reply, answer.refusal, words.code.wrong),
      );
    await completeSignIn(request, user, data, now().getTime());
    const { wasRecoveryCode, recoveryCodesLeft } = answer.value;
    if (wasRecoveryCode && request.session.data !== undefined)
      request.session.data.flash = [{ tone: 'warn', text: words.code.recoveryLeft(recoveryCodesLeft) }];
    await showNotices(dashboard, request, user);
    return reply.redirect(takeNextPage(request), 303);
  });
}

function addSignOut(app: FastifyInstance, { clients, isSecure }: Dashboard): void {
  app.post('/sign-out', async (request, reply) => {
    const { data, sessionId } = request.session;
    // A session with only the password was not signed in, so there is no sign-out to record.
    if (data?.stage === 'in') {
      const leaving = { sessionHash: sessionHash(sessionId), isSignOut: true };
      await clients.sessions.deleteSession(leaving, callOptions(request));
    }
    if (data !== undefined) await request.session.destroy();
    const cookie = { path: '/', secure: isSecure };
    const prefix = isSecure ? '__Host-' : '';
    for (const name of ['gatehouse_session', 'gatehouse_csrf']) reply.clearCookie(`${prefix}${name}`, cookie);
    return reply.redirect('/sign-in?out=1', 303);
  });
}

/** The first page leads to the pages of the user. */
function addFirstPage(app: FastifyInstance, { sendPage }: Dashboard): void {
  app.get('/', async (request, reply) => {
    const user = signedInUserOf(request);
    const hasPage = (url: string): boolean => app.hasRoute({ method: 'GET', url });
    const [first] = user.memberships;
    if (first !== undefined) return reply.redirect(merchantStart(first.merchantId, 'sandbox', hasPage), 303);
    if (user.isOperator && hasPage('/operator')) return reply.redirect('/operator', 303);
    const words = wordsFor(request, signInWords);
    return sendPage(request, reply, {
      template: 'sign-in/nowhere',
      title: words.nowhere.title,
      words,
      view: {},
    });
  });
}

/** Signs the user in after a correct code. */
async function completeSignIn(
  request: FastifyRequest,
  user: DashboardUser,
  data: SessionData,
  nowMs: number,
): Promise<void> {
  await renewSession(request, user, {
    ...data,
    stage: 'in',
    signedInAt: nowMs,
    provedAt: nowMs,
    seenAt: nowMs,
  });
}

function showCode(
  { sendPage }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { status = 200, notice, error }: { status?: number; notice?: Notice; error?: string | undefined } = {},
): FastifyReply {
  const words = wordsFor(request, signInWords);
  if (status === 401) reply.header('www-authenticate', 'Form');
  reply.code(status);
  return sendPage(request, reply, {
    template: 'sign-in/code',
    title: words.code.title,
    isAlone: true,
    words,
    self: '/sign-in/code',
    view: { notice, error },
  });
}
