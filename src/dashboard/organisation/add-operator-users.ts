import type { CallOptions } from '@connectrpc/connect';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AccountHelp } from '../../gen/gatehouse/v1/account_service_pb.js';
import { signedInUserOf } from '../access/page-context.ts';
import { tryCall, callOptions, loadPanel } from '../try-call.ts';
import type { Answer } from '../try-call.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, readForm } from '../forms/read-form.ts';
import type { FormReading, FormState } from '../forms/read-form.ts';
import { operatorUsers as amharic } from '../language/amharic/operator-users.ts';
import { operatorUsers as english } from '../language/english/operator-users.ts';
import { wordsFor } from '../language/words.ts';
import { momentOf } from '../moment-text.ts';
import { PageProblem } from '../page-problem.ts';
import { resetLink } from '../mail/mail-links.ts';
import { failureOfRpc } from '../rpc-failure.ts';
import type { RpcFailure } from '../rpc-failure.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import { refusedForNow } from '../sign-in/refused-try.ts';
import type { Notice } from '../sign-in/show-sign-in.ts';
import { showInvited, teamWords } from './add-team.ts';
import { teamView } from './team-views.ts';

const dictionary = { en: english, am: amharic };
const path = '/operator/users';

const UserEmail = Type.Object({ email: Type.String({ maxLength: 254, pattern: '^[^\\s@]+@[^\\s@]+$' }) });

const HelpWord = Type.Union([Type.Literal('password'), Type.Literal('codes')]);
const Asked = Type.Object({ email: UserEmail.properties.email, help: HelpWord });
type HelpName = Static<typeof HelpWord>;

const helpNumbers = {
  password: AccountHelp.NEW_PASSWORD,
  codes: AccountHelp.REMOVE_SECOND_FACTOR,
} as const satisfies Record<HelpName, AccountHelp>;

interface UsersPageState {
  readonly invite?: FormState;
  readonly help?: FormState;
  readonly notice?: Notice;
  readonly status?: number;
}

/** The page on which operators invite operators, and help users who cannot sign in. */
export function addOperatorUsers(app: FastifyInstance, dashboard: Dashboard): void {
  const { accounts } = dashboard.clients;
  const read = (request: FastifyRequest): FormReading<{ email: string }> =>
    readForm(UserEmail, request.body, shellWords[request.language].forms, {
      email: wordsFor(request, teamWords).invite.wrongEmail,
    });

  app.get(path, (request, reply) => showUsers(dashboard, request, reply));

  app.post(`${path}/invite`, async (request, reply) => {
    const invite = read(request);
    if (!invite.ok) return showUsers(dashboard, request, reply, { invite, status: 400 });
    const { email } = invite.value;
    const answer = await tryCall(request, (options) =>
      accounts.inviteUser({ email, asOperator: true }, options),
    );
    if (answer.ok)
      return showInvited(
        dashboard,
        request,
        reply,
        { to: email, merchant: undefined, ...answer.value },
        path,
      );
    if (answer.refusal.problem === 'tooManyRequests') {
      const { status, notice } = refusedForNow(request, reply, answer.refusal);
      return showUsers(dashboard, request, reply, { invite, notice, status });
    }
    if (answer.refusal.problem === 'forbidden') throw new PageProblem('forbidden', answer.refusal.reason);
    const isMember = answer.refusal.reason === 'ALREADY_A_MEMBER';
    const error = isMember
      ? wordsFor(request, dictionary).invite.already
      : wordsFor(request, teamWords).invite.wrongEmail;
    const shown = { ...invite, errors: { email: error } };
    return showUsers(dashboard, request, reply, { invite: shown, status: isMember ? 409 : 400 });
  });

  app.post(`${path}/take-back`, async (request, reply) => {
    const form = read(request);
    if (!form.ok) throw new PageProblem('badRequest', 'NO_ADDRESS');
    const { wasAbsent } = await accounts.removeMembership({ email: form.value.email }, callOptions(request));
    const words = wordsFor(request, teamWords);
    // The invitation was accepted, withdrawn or has expired meanwhile.
    if (wasAbsent)
      return showUsers(dashboard, request, reply, {
        notice: { tone: 'bad', ...words.change.meanwhile },
        status: 409,
      });
    flash(request, { tone: 'good', text: words.invited.withdrawn(form.value.email) });
    return reply.redirect(path, 303);
  });

  const askFor = (kind: HelpName) => async (request: FastifyRequest, reply: FastifyReply) => {
    const words = wordsFor(request, dictionary);
    const help = read(request);
    if (!help.ok) return showUsers(dashboard, request, reply, { help, status: 400 });
    const { email } = help.value;
    const answer = await askAbout(request, (options) =>
      accounts.requestAccountHelp({ email, help: helpNumbers[kind] }, options),
    );
    if (!answer.ok) return showUsers(dashboard, request, reply, refusedHelp(request, help, answer.refusal));
    const { isMailed } = answer.value;
    flash(request, { tone: 'good', text: isMailed ? words.asked.mailed(email) : words.asked.waits(email) });
    return reply.redirect(path, 303);
  };
  app.post(`${path}/reset`, askFor('password'));
  app.post(`${path}/remove-totp`, askFor('codes'));

  app.post(`${path}/approve`, async (request, reply) => {
    const words = wordsFor(request, dictionary);
    const form = readForm(Asked, request.body, shellWords[request.language].forms);
    if (!form.ok) throw new PageProblem('badRequest', 'NO_REQUEST');
    const { email, help } = form.value;
    const answer = await askAbout(request, (options) =>
      accounts.approveAccountHelp({ email, help: helpNumbers[help] }, options),
    );
    if (!answer.ok)
      return showUsers(dashboard, request, reply, refusedHelp(request, emptyForm(), answer.refusal));
    const { token, expireTime } = answer.value;
    if (token === '') {
      flash(request, { tone: 'good', text: words.asked.codesRemoved(email) });
      return reply.redirect(path, 303);
    }
    const until = momentOf(expireTime, request.language, dashboard.timeZone)?.text ?? '';
    return dashboard.sendPage(request, reply, {
      template: 'organisation/link-made',
      title: words.reset.title,
      area: 'operatorUsers',
      words,
      self: path,
      view: {
        title: words.reset.title,
        lead: words.reset.lead(email, until),
        link: resetLink(dashboard.baseUrl(), token),
        done: words.reset.done,
        path,
      },
    });
  });

  app.post(`${path}/reject`, async (request, reply) => {
    const form = readForm(Asked, request.body, shellWords[request.language].forms);
    if (!form.ok) throw new PageProblem('badRequest', 'NO_REQUEST');
    const { email, help } = form.value;
    const { wasAbsent } = await accounts.rejectAccountHelp(
      { email, help: helpNumbers[help] },
      callOptions(request),
    );
    // The request was approved meanwhile, and its link still works.
    if (wasAbsent)
      return showUsers(
        dashboard,
        request,
        reply,
        refusedHelp(request, emptyForm(), { reason: 'ACCOUNT_HELP_NOT_FOUND' }),
      );
    flash(request, { tone: 'good', text: wordsFor(request, dictionary).asked.withdrawn(email) });
    return reply.redirect(path, 303);
  });

  const keep = (isDisabled: boolean) => async (request: FastifyRequest, reply: FastifyReply) => {
    const words = wordsFor(request, dictionary);
    const help = read(request);
    if (!help.ok) return showUsers(dashboard, request, reply, { help, status: 400 });
    const { email } = help.value;
    const answer = await askForUser(request, (options) =>
      accounts.setUserDisabled({ email, isDisabled }, options),
    );
    if (answer === 'unknown')
      return showUsers(dashboard, request, reply, unknownUser(help, words.help.unknownEmail));
    if (answer === 'last')
      return showUsers(dashboard, request, reply, {
        help,
        notice: { tone: 'bad', ...words.lastOperator },
        status: 409,
      });
    flash(request, {
      tone: 'good',
      text: isDisabled ? words.help.disabled(email) : words.help.enabled(email),
    });
    return reply.redirect(path, 303);
  };
  app.post(`${path}/disable`, keep(true));
  app.post(`${path}/enable`, keep(false));
}

/** As `ask`, but not found is a refusal too. */
async function askAbout<T>(
  request: FastifyRequest,
  call: (options: CallOptions) => Promise<T>,
): Promise<Answer<T>> {
  try {
    return await tryCall(request, call);
  } catch (thrown) {
    const refusal = failureOfRpc(thrown);
    if (refusal?.problem !== 'notFound' && refusal?.problem !== 'changedMeanwhile') throw thrown;
    return { ok: false, refusal };
  }
}

/** The message of refused help. */
function refusedHelp(
  request: FastifyRequest,
  help: FormState,
  { reason }: Pick<RpcFailure, 'reason'>,
): UsersPageState {
  const words = wordsFor(request, dictionary);
  const refusals: Readonly<Record<string, { readonly title: string; readonly body: string }>> =
    words.refusals;
  const notice = refusals[reason];
  if (reason === 'USER_NOT_FOUND') return unknownUser(help, words.help.unknownEmail);
  if (notice === undefined) throw new PageProblem('badRequest', reason);
  return { help, notice: { tone: 'bad', ...notice }, status: 409 };
}

const unknownUser = (help: FormState, error: string): UsersPageState => ({
  help: { ...help, errors: { email: error } },
  status: 404,
});

async function askForUser(
  request: FastifyRequest,
  call: Parameters<typeof tryCall>[1],
): Promise<'done' | 'unknown' | 'last'> {
  try {
    const answer = await tryCall(request, call);
    if (answer.ok) return 'done';
    if (answer.refusal.reason === 'LAST_OPERATOR') return 'last';
    throw new PageProblem('badRequest', answer.refusal.reason);
  } catch (thrown) {
    if (failureOfRpc(thrown)?.reason === 'USER_NOT_FOUND') return 'unknown';
    throw thrown;
  }
}

async function showUsers(
  { clients, sendPage, timeZone }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { invite = emptyForm(), help = emptyForm(), notice, status = 200 }: UsersPageState = {},
): Promise<FastifyReply> {
  const { language } = request;
  const words = wordsFor(request, dictionary);
  const team = wordsFor(request, teamWords);
  const { userId } = signedInUserOf(request);
  const operators = await loadPanel(request, async (options) =>
    teamView(await clients.accounts.listUsers({}, options), team, shellWords[language].roles, {
      language,
      timeZone,
      userId,
    }),
  );
  const asked = await loadPanel(request, async (options) => {
    const { requests } = await clients.accounts.listAccountHelp({}, options);
    return requests.map(({ email, help: kind, askedBy, askedByEmail, expireTime }) => {
      const name: HelpName = kind === AccountHelp.REMOVE_SECOND_FACTOR ? 'codes' : 'password';
      return {
        email,
        name,
        what: words.asked.kinds[name],
        askedBy: askedByEmail === '' ? askedBy : askedByEmail,
        until: momentOf(expireTime, language, timeZone),
        mayApprove: askedByEmail !== signedInUserOf(request).email && email !== signedInUserOf(request).email,
      };
    });
  });
  reply.code(status);
  return sendPage(request, reply, {
    template: 'organisation/operator-users',
    title: words.title,
    area: 'operatorUsers',
    words,
    self: path,
    view: { operators, asked, invite, help, notice, path, team },
  });
}
