import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isPublicId } from '../../contract/public-id.ts';
import { pathIn, pageMerchantOf, signedInUserOf } from '../access/page-context.ts';
import { tryCall, loadPanel } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, readForm } from '../forms/read-form.ts';
import type { FormState } from '../forms/read-form.ts';
import { team as amharic } from '../language/amharic/team.ts';
import { team as english } from '../language/english/team.ts';
import { wordsFor } from '../language/words.ts';
import { invitationLink, mailInvitation } from '../mail/mail-links.ts';
import type { InvitingMerchant } from '../mail/mail-links.ts';
import { momentOf } from '../moment-text.ts';
import { PageProblem, notFound } from '../page-problem.ts';
import { textIn } from '../page-query.ts';
import type { RpcFailure } from '../rpc-failure.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { refusedForNow } from '../sign-in/refused-try.ts';
import type { Notice } from '../sign-in/show-sign-in.ts';
import { roleNumbers, teamView } from './team-views.ts';

export const teamWords = { en: english, am: amharic };

const RoleName = Type.Union([Type.Literal('owner'), Type.Literal('developer'), Type.Literal('viewer')]);
const Email = Type.String({ maxLength: 254, pattern: '^[^\\s@]+@[^\\s@]+$' });
const NewMember = Type.Object({ email: Email, role: RoleName });
const NewRole = Type.Object({ role: RoleName, seen: RoleName });
const UserEmail = Type.Object({ email: Email });

function userIdOf({ params }: FastifyRequest): string {
  const { userId } = params as { readonly userId: string };
  if (!isPublicId('usr', userId)) throw notFound('USER_NOT_FOUND');
  return userId;
}

/** A longer text is in no address and no name. */
const maxSearched = 254;
/** With fewer users, the list needs no search. */
const searchedFrom = 20;

interface TeamPageState {
  readonly form?: FormState;
  readonly notice?: Notice;
  readonly status?: number;
}

const path = '/m/:merchantId/team';

/** The team belongs to the merchant and has no environment. */
const selfOf = (request: FastifyRequest): string =>
  pathIn({ ...pageMerchantOf(request), environment: undefined }, 'team');

/** The page on which owners manage the users of their merchant. */
export function addTeam(app: FastifyInstance, dashboard: Dashboard): void {
  app.get(path, (request, reply) => showTeam(dashboard, request, reply));
  addInvite(app, dashboard);
  addRoleChange(app, dashboard);
  addRemoval(app, dashboard);
}

async function showTeam(
  { clients, sendPage, timeZone }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { form = emptyForm({ role: 'developer' }), notice, status = 200 }: TeamPageState = {},
): Promise<FastifyReply> {
  const { language } = request;
  const words = wordsFor(request, teamWords);
  const { roles } = shellWords[language];
  const { merchantId, role } = pageMerchantOf(request);
  const { userId } = signedInUserOf(request);
  const text = textIn(request.query, 'text', maxSearched);
  const members = await loadPanel(request, async (options) =>
    teamView(await clients.accounts.listUsers({ merchantId, text }, options), words, roles, {
      language,
      timeZone,
      userId,
    }),
  );
  reply.code(status);
  return sendPage(request, reply, {
    template: 'organisation/team',
    title: words.title,
    area: 'team',
    words,
    self: selfOf(request),
    view: {
      members,
      text,
      hasSearch: text !== '' || (members.isThere && members.value.users.length >= searchedFrom),
      form,
      notice,
      path: selfOf(request),
      mayChange: role === 'owner',
      roles: Object.entries(words.roleHints),
      roleNames: (['owner', 'developer', 'viewer'] as const).map((name) => [name, roles[name]]),
    },
  });
}

function addInvite(app: FastifyInstance, dashboard: Dashboard): void {
  app.post(`${path}/invite`, async (request, reply) => {
    const words = wordsFor(request, teamWords);
    const form = readForm(NewMember, request.body, shellWords[request.language].forms, {
      email: words.invite.wrongEmail,
    });
    if (!form.ok) return showTeam(dashboard, request, reply, { form, status: 400 });
    const merchant = pageMerchantOf(request);
    const { merchantId } = merchant;
    const { email, role } = form.value;
    const answer = await tryCall(request, (options) =>
      dashboard.clients.accounts.inviteUser({ email, merchantId, role: roleNumbers[role] }, options),
    );
    if (!answer.ok) {
      if (answer.refusal.problem === 'tooManyRequests')
        return showTeam(dashboard, request, reply, {
          form,
          ...refusedForNow(request, reply, answer.refusal),
        });
      if (answer.refusal.problem === 'forbidden') throw new PageProblem('forbidden', answer.refusal.reason);
      const isMember = answer.refusal.reason === 'ALREADY_A_MEMBER';
      const errors = { email: isMember ? words.invite.already : words.invite.wrongEmail };
      return showTeam(dashboard, request, reply, { form: { ...form, errors }, status: isMember ? 409 : 400 });
    }
    const invited = { to: email, merchant, ...answer.value };
    return showInvited(dashboard, request, reply, invited, selfOf(request));
  });
}

function addRoleChange(app: FastifyInstance, dashboard: Dashboard): void {
  app.post(`${path}/:userId/role`, async (request, reply) => {
    const form = readForm(NewRole, request.body, shellWords[request.language].forms);
    if (!form.ok) return showTeam(dashboard, request, reply, { status: 400 });
    const { role, seen } = form.value;
    const answer = await tryCall(request, (options) =>
      dashboard.clients.accounts.changeMembership(
        {
          merchantId: pageMerchantOf(request).merchantId,
          userId: userIdOf(request),
          role: roleNumbers[role],
          expectedRole: roleNumbers[seen],
        },
        options,
      ),
    );
    if (!answer.ok) return showTeam(dashboard, request, reply, refusalNotice(request, answer.refusal));
    const who = answer.value.user?.name ?? '';
    const roleText = shellWords[request.language].roles[role];
    flash(request, { tone: 'good', text: wordsFor(request, teamWords).change.done(who, roleText) });
    return reply.redirect(selfOf(request), 303);
  });
}

/** Removes a user, or withdraws an open invitation. An invitation that was accepted meanwhile is no longer open. */
function addRemoval(app: FastifyInstance, dashboard: Dashboard): void {
  const remove =
    (invitationOnly: boolean, done: (email: string, request: FastifyRequest) => string) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const form = readForm(UserEmail, request.body, shellWords[request.language].forms);
      if (!form.ok) throw new PageProblem('badRequest', 'NO_ADDRESS');
      const { merchantId } = pageMerchantOf(request);
      const { email } = form.value;
      const answer = await tryCall(request, (options) =>
        dashboard.clients.accounts.removeMembership({ merchantId, email, invitationOnly }, options),
      );
      if (!answer.ok) return showTeam(dashboard, request, reply, refusalNotice(request, answer.refusal));
      if (invitationOnly && answer.value.wasAbsent)
        return showTeam(dashboard, request, reply, changedMeanwhile(request));
      flash(request, { tone: 'good', text: done(email, request) });
      return reply.redirect(selfOf(request), 303);
    };
  app.post(
    `${path}/remove`,
    remove(false, (email, request) => wordsFor(request, teamWords).remove.done(email)),
  );
  app.post(
    `${path}/take-back`,
    remove(true, (email, request) => wordsFor(request, teamWords).invited.withdrawn(email)),
  );
}

const changedMeanwhile = (request: FastifyRequest): TeamPageState => ({
  notice: { tone: 'bad', ...wordsFor(request, teamWords).change.meanwhile },
  status: 409,
});

/** The message of a refused change. */
function refusalNotice(request: FastifyRequest, { reason }: RpcFailure): TeamPageState {
  const words = wordsFor(request, teamWords);
  if (reason === 'LAST_OWNER') return { notice: { tone: 'bad', ...words.lastOwner }, status: 409 };
  if (reason === 'CHANGED_MEANWHILE') return changedMeanwhile(request);
  throw new PageProblem('badRequest', reason);
}

interface Invited {
  readonly to: string;
  readonly token: string;
  readonly expireTime?: Parameters<typeof momentOf>[0];
  /** Undefined for an operator. */
  readonly merchant: InvitingMerchant | undefined;
}

/** Mails an invitation. Unless the mail was certainly sent, the answer shows the link once. */
export async function showInvited(
  dashboard: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { to, token, expireTime, merchant }: Invited,
  back: string,
): Promise<FastifyReply> {
  const words = wordsFor(request, teamWords);
  const mail = await mailInvitation(dashboard, request, { to, token, expireTime, merchant });
  if (mail === 'sent') {
    flash(request, { tone: 'good', text: words.invite.mailed(to) });
    return reply.redirect(back, 303);
  }
  const until = momentOf(expireTime, request.language, dashboard.timeZone)?.text ?? '';
  return dashboard.sendPage(request, reply, {
    template: 'organisation/link-made',
    title: words.link.title,
    area: merchant === undefined ? 'operatorUsers' : 'team',
    words,
    self: back,
    view: {
      title: words.link.title,
      notice: mail === 'not-set-up' ? undefined : { tone: 'warn', ...words.link.notMailed[mail] },
      lead: words.link.lead(to, until),
      link: invitationLink(dashboard, token),
      done: words.link.done,
      path: back,
    },
  });
}
