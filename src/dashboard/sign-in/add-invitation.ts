import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MemberRole } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { GetInvitationResponse } from '../../gen/gatehouse/v1/account_service_pb.js';
import { tryCall, callOptions } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, readForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { wordsFor } from '../language/words.ts';
import { shellWords } from '../send-page.ts';
import { beginSignIn } from './begin-sign-in.ts';
import { linkOf, linkWords, answerLinkRequest, tokenOf } from './link-pages.ts';
import { refusedTry } from './refused-try.ts';
import { requireSecureConnection } from './secure-connection.ts';
import type { Notice } from './show-sign-in.ts';

/** The same form with and without an account, so that the page does not reveal whether the address has one. */
const Joining = Type.Object({
  name: Type.Optional(Type.String({ maxLength: 128 })),
  password: Type.String({ minLength: 12, maxLength: 256 }),
});

const roleNames = {
  [MemberRole.UNSPECIFIED]: 'operator',
  [MemberRole.OWNER]: 'owner',
  [MemberRole.DEVELOPER]: 'developer',
  [MemberRole.VIEWER]: 'viewer',
} as const;

/** The page to accept an invitation. */
export function addInvitation(app: FastifyInstance, dashboard: Dashboard): void {
  const { browserSecrets, clients, unknownSecrets } = dashboard;

  const read = async (request: FastifyRequest): Promise<GetInvitationResponse> => {
    const token = tokenOf(request);
    const invitation = await clients.accounts.getInvitation({ token }, callOptions(request));
    await unknownSecrets.record(request, linkOf(request), true);
    return invitation;
  };

  app.get('/invitation/:token', (request, reply) =>
    answerLinkRequest(dashboard, request, reply, async () =>
      showInvitation(dashboard, request, reply, await read(request)),
    ),
  );

  app.post('/invitation/:token', (request, reply) =>
    answerLinkRequest(dashboard, request, reply, async () => {
      requireSecureConnection(dashboard, request);
      const invitation = await read(request);
      const { language } = request;
      const forms = shellWords[language].forms;
      const form = readForm(Joining, request.body, forms);
      if (!form.ok) return showInvitation(dashboard, request, reply, invitation, { form, status: 400 });
      const origin = { remoteAddress: request.ip, browserSecret: browserSecrets.ensure(request, reply) };
      const answer = await tryCall(request, (options) =>
        clients.accounts.acceptInvitation(
          { token: tokenOf(request), ...form.value, language, ...origin },
          options,
        ),
      );
      const words = wordsFor(request, linkWords);
      if (!answer.ok) {
        const { refusal } = answer;
        const issues = new Set(refusal.fields.map(({ field }) => field));
        if (issues.size === 0)
          return showInvitation(dashboard, request, reply, invitation, {
            form,
            ...refusedTry(request, reply, refusal, words.invitation.wrong),
          });
        const errors = {
          ...(issues.has('password') ? { password: words.password.weak } : {}),
          ...(issues.has('name') ? { name: words.invitation.nameMissing } : {}),
        };
        return showInvitation(dashboard, request, reply, invitation, {
          form: { ...form, errors },
          status: 400,
        });
      }
      const { user, passwordVersion } = answer.value;
      if (user === undefined) throw new TypeError('core accepted an invitation and did not send its user');
      return beginSignIn(
        { dashboard, request, reply },
        { user, passwordVersion },
        { next: undefined, carried: undefined },
      );
    }),
  );
}

function showInvitation(
  { sendPage }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { email, merchantName, role, asOperator }: GetInvitationResponse,
  {
    form = emptyForm(),
    status = 200,
    notice,
  }: { form?: FormState; status?: number; notice?: Notice | undefined } = {},
): FastifyReply {
  const words = wordsFor(request, linkWords);
  const shell = shellWords[request.language];
  if (status === 401) reply.header('www-authenticate', 'Form');
  reply.code(status);
  return sendPage(request, reply, {
    template: 'invitation/invitation',
    title: words.invitation.title,
    isAlone: true,
    words,
    self: request.url,
    view: {
      path: request.url.split('?')[0],
      email,
      lead: asOperator
        ? words.invitation.operatorLead
        : words.invitation.lead(merchantName, shell.roles[roleNames[role]]),
      form,
      notice,
    },
  });
}
