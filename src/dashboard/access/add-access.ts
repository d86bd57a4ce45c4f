import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { callOptions } from '../try-call.ts';
import type { DashboardClients } from '../clients.ts';
import { PageProblem, notFound } from '../page-problem.ts';
import { logFacts } from '../request-log.ts';
import { isAtLeast } from './dashboard-user.ts';
import type { DashboardUser } from './dashboard-user.ts';
import type { AccessRule } from './access-rule.ts';
import { guardedPath } from './guarded-path.ts';
import { isEnvironmentName } from './page-context.ts';
import type { PageMerchant } from './page-context.ts';

export interface AccessOptions {
  readonly rules: Readonly<Record<string, AccessRule>>;
  readonly merchants: DashboardClients['merchants'];
  readonly now: () => Date;
  /** Answers a request whose user must first sign in or confirm the identity. */
  readonly sendToSignIn: SendToSignIn;
}

export type SendToSignIn = (
  why: 'sign-in' | 'step-up',
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply>;

/** How long a confirmed identity is valid. */
const stepUpMs = 10 * 60_000;
/** The shortest interval between two updates of a session's last use. */
const seenEveryMs = 60_000;

type MemberRule = Extract<AccessRule, { readonly who: 'member' }>;

const ruleName = (method: string, url: string): string => `${method === 'HEAD' ? 'GET' : method} ${url}`;

/** Applies its access rule to every route that is added later. */
export function addAccess(app: FastifyInstance, options: AccessOptions): void {
  const { rules, now, sendToSignIn } = options;
  const unused = new Set(Object.keys(rules));
  app.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat().map((each) => ruleName(each, url))) {
      if (!Object.hasOwn(rules, name)) throw new Error(`no access rule for ${name}: see access-rules.ts`);
      unused.delete(name);
    }
  });
  app.addHook('onReady', (done) => {
    done(
      unused.size === 0 ? undefined : new Error(`no route for the access rules ${[...unused].join(', ')}`),
    );
  });
  const enterAsViewer = (request: FastifyRequest): void => {
    const { data, user } = request.session;
    request.signedInUser = null;
    request.hasWaited = !request.raw.complete;
    if (data?.stage !== 'in' || user === undefined) return;
    request.signedInUser = user;
    logFacts(request, { userId: user.userId });
    const nowMs = now().getTime();
    // A page asks for its state by itself, even when nobody looks at it.
    const isUse = request.routeOptions.url?.endsWith('/state') !== true;
    // A time in the future was written before this clock was set back.
    if (isUse && Math.abs(nowMs - data.seenAt) >= seenEveryMs) data.seenAt = nowMs;
  };
  const enterAsMember = async (request: FastifyRequest, user: DashboardUser, rule: MemberRule) => {
    const pageMerchant = await findPageMerchant(request, user, options);
    const isEnough =
      pageMerchant.role === 'operator' ? rule.operators : isAtLeast(pageMerchant.role, rule.role);
    if (!isEnough) throw new PageProblem('forbidden', 'MEMBER_ROLE');
    return pageMerchant;
  };
  app.decorateRequest('recheckAccess', async function recheckAccess(this: FastifyRequest): Promise<void> {
    await this.session.reload();
    enterAsViewer(this);
    const rule = rules[ruleName(this.method, this.routeOptions.url ?? '')];
    if (rule === undefined || rule.who === 'everyone') return;
    if (this.signedInUser === null) throw new PageProblem('forbidden', 'SESSION_ENDED');
    if (rule.who === 'operator') requireOperator(this.signedInUser);
    if (rule.who === 'member') await enterAsMember(this, this.signedInUser, rule);
  });
  app.decorateRequest('hasWaited', false);
  app.addHook('onRequest', async (request) => enterAsViewer(request));
  app.addHook('preHandler', async (request) => {
    // A form may arrive bit by bit, until the time limit of the request, and a request may wait for its turn. Its session may have ended
    // meanwhile, and the user may have lost the role. A session without a user is not stored in core, so it cannot be read again.
    if (!request.hasWaited || request.session.userId === undefined) return;
    await request.session.reload();
    enterAsViewer(request);
  });
  app.addHook('preHandler', async (request, reply) => {
    const rule = rules[ruleName(request.method, request.routeOptions.url ?? '')];
    if (rule === undefined) throw new TypeError('a route without a rule was reached');
    if (rule.who === 'everyone') return;
    if (request.signedInUser === null) return sendToSignIn('sign-in', request, reply);
    if (rule.who === 'operator') requireOperator(request.signedInUser);
    if (rule.who === 'member')
      request.pageMerchant = await enterAsMember(request, request.signedInUser, rule);
    const provedAt = request.session.data?.provedAt ?? 0;
    // A time in the future was written before this clock was set back, or by a process whose clock is wrong.
    const isProved = Math.abs(now().getTime() - provedAt) <= stepUpMs;
    if (rule.stepUp && !isProved) return sendToSignIn('step-up', request, reply);
    const { data } = request.session;
    // The kept form is being sent again now.
    if (data?.carried !== undefined && data.carried.action === guardedPath(request.url, 'POST'))
      delete data.carried;
  });
}

function requireOperator({ isOperator }: DashboardUser): void {
  if (!isOperator) throw notFound('NOT_AN_OPERATOR');
}

async function findPageMerchant(
  request: FastifyRequest,
  { memberships, isOperator }: DashboardUser,
  { merchants }: AccessOptions,
): Promise<PageMerchant> {
  const { merchantId = '', environment } = request.params as {
    readonly merchantId?: string;
    readonly environment?: string;
  };
  if (environment !== undefined && !isEnvironmentName(environment)) throw notFound('UNKNOWN_ENVIRONMENT');
  const member = memberships.find((membership) => membership.merchantId === merchantId);
  logFacts(request, { merchantId });
  if (member !== undefined)
    return { merchantId, merchantName: member.merchantName, environment, role: member.role };
  if (!isOperator) throw notFound('NOT_A_MEMBER');
  if (!/^mer_[a-z0-9]{1,60}$/.test(merchantId)) throw notFound('MERCHANT_NOT_FOUND');
  const { merchant } = await merchants.getMerchant({ merchantId }, callOptions(request));
  return { merchantId, merchantName: merchant?.name ?? '', environment, role: 'operator' };
}
