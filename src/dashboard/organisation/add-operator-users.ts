import { Type } from '@sinclair/typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { viewerOf } from '../access/place.ts';
import { ask, callOptions, panel } from '../ask.ts';
import type { Dashboard } from '../dashboard.ts';
import { emptyForm, readForm } from '../forms/read-form.ts';
import type { FormReading, FormState } from '../forms/read-form.ts';
import { operatorUsers as amharic } from '../language/amharic/operator-users.ts';
import { operatorUsers as english } from '../language/english/operator-users.ts';
import { wordsFor } from '../language/words.ts';
import { momentOf } from '../moment-text.ts';
import { PageProblem } from '../page-problem.ts';
import { failureOfRpc } from '../rpc-failure.ts';
import { shellWords } from '../send-page.ts';
import { flash } from '../session/sign-in-state.ts';
import type { Notice } from '../sign-in/show-sign-in.ts';
import { showInvited, teamWords } from './add-team.ts';
import { teamView } from './team-views.ts';

const dictionary = { en: english, am: amharic };
const path = '/operator/users';

const Someone = Type.Object({ email: Type.String({ maxLength: 254, pattern: '^[^\\s@]+@[^\\s@]+$' }) });

interface Said {
  readonly invite?: FormState;
  readonly help?: FormState;
  readonly notice?: Notice;
  readonly status?: number;
}

/** The page on which operators let each other in, and help users who cannot come in. */
export function addOperatorUsers(app: FastifyInstance, dashboard: Dashboard): void {
  const { accounts } = dashboard.clients;
  const read = (request: FastifyRequest): FormReading<{ email: string }> =>
    readForm(Someone, request.body, shellWords[request.language].forms, {
      email: wordsFor(request, teamWords).invite.wrongEmail,
    });

  app.get(path, (request, reply) => showUsers(dashboard, request, reply));

  app.post(`${path}/invite`, async (request, reply) => {
    const invite = read(request);
    if (!invite.ok) return showUsers(dashboard, request, reply, { invite, status: 400 });
    const { email } = invite.value;
    const answer = await ask(request, (options) => accounts.inviteUser({ email, asOperator: true }, options));
    if (answer.ok)
      return showInvited(
        dashboard,
        request,
        reply,
        { to: email, merchantName: undefined, ...answer.value },
        path,
      );
    const isThere = answer.refusal.reason === 'ALREADY_A_MEMBER';
    const error = isThere
      ? wordsFor(request, dictionary).invite.already
      : wordsFor(request, teamWords).invite.wrongEmail;
    const shown = { ...invite, errors: { email: error } };
    return showUsers(dashboard, request, reply, { invite: shown, status: isThere ? 409 : 400 });
  });

  app.post(`${path}/take-back`, async (request, reply) => {
    const form = read(request);
    if (!form.ok) throw new PageProblem('badRequest', 'NO_ADDRESS');
    await accounts.removeMembership({ email: form.value.email }, callOptions(request));
    const { takenBack } = wordsFor(request, teamWords).invited;
    flash(request, { tone: 'good', text: takenBack(form.value.email) });
    return reply.redirect(path, 303);
  });

  app.post(`${path}/reset`, async (request, reply) => {
    const words = wordsFor(request, dictionary);
    const help = read(request);
    if (!help.ok) return showUsers(dashboard, request, reply, { help, status: 400 });
    const { email } = help.value;
    const answer = await ask(request, (options) => accounts.startPasswordReset({ email }, options));
    if (!answer.ok) {
      if (answer.refusal.problem !== 'tooManyRequests')
        throw new PageProblem('badRequest', answer.refusal.reason);
      return showUsers(dashboard, request, reply, {
        help,
        notice: { tone: 'bad', ...words.tooMany },
        status: 429,
      });
    }
    const { token, expireTime } = answer.value;
    if (token === '') return showUsers(dashboard, request, reply, nobody(help, words.help.nobody));
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
        link: `${dashboard.baseUrl()}/reset/${token}`,
        done: words.reset.done,
        path,
      },
    });
  });

  const keep = (isDisabled: boolean) => async (request: FastifyRequest, reply: FastifyReply) => {
    const words = wordsFor(request, dictionary);
    const help = read(request);
    if (!help.ok) return showUsers(dashboard, request, reply, { help, status: 400 });
    const { email } = help.value;
    const answer = await askForUser(request, (options) =>
      accounts.setUserDisabled({ email, isDisabled }, options),
    );
    if (answer === 'nobody') return showUsers(dashboard, request, reply, nobody(help, words.help.nobody));
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

const nobody = (help: FormState, error: string): Said => ({
  help: { ...help, errors: { email: error } },
  status: 404,
});

async function askForUser(
  request: FastifyRequest,
  call: Parameters<typeof ask>[1],
): Promise<'done' | 'nobody' | 'last'> {
  try {
    const answer = await ask(request, call);
    if (answer.ok) return 'done';
    if (answer.refusal.reason === 'LAST_OPERATOR') return 'last';
    throw new PageProblem('badRequest', answer.refusal.reason);
  } catch (thrown) {
    if (failureOfRpc(thrown)?.reason === 'USER_NOT_FOUND') return 'nobody';
    throw thrown;
  }
}

async function showUsers(
  { clients, sendPage, timeZone }: Dashboard,
  request: FastifyRequest,
  reply: FastifyReply,
  { invite = emptyForm(), help = emptyForm(), notice, status = 200 }: Said = {},
): Promise<FastifyReply> {
  const { language } = request;
  const words = wordsFor(request, dictionary);
  const team = wordsFor(request, teamWords);
  const { userId } = viewerOf(request);
  const operators = await panel(request, async (options) =>
    teamView(await clients.accounts.listUsers({}, options), team, shellWords[language].roles, {
      language,
      timeZone,
      userId,
    }),
  );
  reply.code(status);
  return sendPage(request, reply, {
    template: 'organisation/operator-users',
    title: words.title,
    area: 'operatorUsers',
    words,
    self: path,
    view: { operators, invite, help, notice, path, team },
  });
}
