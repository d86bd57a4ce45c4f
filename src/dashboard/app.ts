import cookie from '@fastify/cookie';
import csrf from '@fastify/csrf-protection';
import formbody from '@fastify/formbody';
import Fastify from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { serveAssets } from '../platform/http/assets.ts';
import { createBrowserSecrets } from '../platform/http/browser-secret.ts';
import { addProbes } from '../platform/http/core-probes.ts';
import { closeConnectionsWhenDraining } from '../platform/http/draining.ts';
import { edgeServerOptions, protectEdge } from '../platform/http/edge-server.ts';
import type { MeasureRequests } from '../platform/http/http-metrics.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import { pageHeaders } from '../platform/http/page-headers.ts';
import { isFromOurPages } from '../platform/http/same-origin.ts';
import { tooLargePage } from '../platform/http/too-large-page.ts';
import type { Logger } from '../platform/logger.ts';
import { addAccount } from './account/add-account.ts';
import { addSecondFactor } from './account/add-second-factor.ts';
import { accessRules } from './access/access-rules.ts';
import { addAccess } from './access/add-access.ts';
import { addPageTurns } from './access/page-turns.ts';
import { addMerchantWallets } from './wallets/add-merchant-wallets.ts';
import { addWalletAccounts } from './wallets/add-wallet-accounts.ts';
import { createWalletDirectory, directoryOf } from '../contract/wallet-directory.ts';
import { readAssets } from './assets.ts';
import type { DashboardClients } from './clients.ts';
import type { Dashboard } from './dashboard.ts';
import { addQuickStart } from './developers/add-quick-start.ts';
import { addKeys } from './developers/add-keys.ts';
import { addWebhookEndpoints } from './developers/add-webhook-endpoints.ts';
import { addWebhookSecrets } from './developers/add-webhook-secrets.ts';
import { addWebhooks } from './developers/add-webhooks.ts';
import { createErrorHandler } from './error-reply.ts';
import { chooseLanguage } from './language-choice.ts';
import { useForm } from './forms/use-form.ts';
import { addHome } from './home/add-home.ts';
import type { Mailer } from './mail/mailer.ts';
import { addAudit } from './organisation/add-audit.ts';
import { addOperatorUsers } from './organisation/add-operator-users.ts';
import { addTeam } from './organisation/add-team.ts';
import { PageProblem } from './page-problem.ts';
import { addMerchants } from './operator/add-merchants.ts';
import { addOverview } from './operator/add-overview.ts';
import { addEndpoints } from './operator/add-endpoints.ts';
import { addPipeline } from './operator/add-pipeline.ts';
import { addBalances } from './operator/add-balances.ts';
import { addPersonalData } from './operator/add-personal-data.ts';
import { addReconciliations } from './operator/add-reconciliations.ts';
import { addSettlements } from './operator/add-settlements.ts';
import { addStrayPayments } from './operator/add-stray-payments.ts';
import { addOrderSearch } from './operator/add-order-search.ts';
import { zoneText } from './local-time.ts';
import { addWallets } from './operator/add-wallets.ts';
import { addRequests } from './requests/add-requests.ts';
import { addOrder } from './payments/add-order.ts';
import { addOrders } from './payments/add-orders.ts';
import { addNewLink } from './payments/add-new-link.ts';
import { addPaymentLinks } from './payments/add-payment-links.ts';
import { addMerchantStrays } from './refunds/add-merchant-strays.ts';
import { addRefund } from './refunds/add-refund.ts';
import { addRefundApproval } from './refunds/add-refund-approval.ts';
import { addRefundForm } from './refunds/add-refund-form.ts';
import { addRefunds } from './refunds/add-refunds.ts';
import { createRender } from './render.ts';
import { createRequestLog } from './request-log.ts';
import { createSendPage } from './send-page.ts';
import { createUnknownSecretLimits } from './session/limit-unknown-secrets.ts';
import { addSessions } from './session/session-plugin.ts';
import { createSessionStore } from './session/session-store.ts';
import type { SessionLimits } from './session/session-store.ts';
import { addSignIn } from './sign-in/add-sign-in.ts';
import { createSendToSignIn } from './sign-in/send-to-sign-in.ts';

export interface DashboardOptions {
  readonly clients: DashboardClients;
  /** The public URL of the pages: scheme, host and port. The listening address when absent. */
  readonly baseUrl: string | undefined;
  /** Addresses and networks of trusted balancers, whose X-Forwarded-For and -Proto are used. */
  readonly trustedProxies: readonly string[];
  /** The public URL of the merchant API in each environment. */
  readonly restUrls: Dashboard['restUrls'];
  readonly mailer: Mailer | undefined;
  /** The time zone of dates and times. */
  readonly timeZone: string;
  readonly sessionLimits: SessionLimits;
  readonly logger: Logger;
  readonly measureRequests?: MeasureRequests;
  /** Undefined when tracing is off. */
  readonly tracing?: Tracing | undefined;
  /** Aborts when the process begins to stop. From then on `/readyz` answers 503, and connections are not kept alive. */
  readonly draining: AbortSignal;
  readonly now: () => Date;
  /** A monotonic clock, in milliseconds. */
  readonly monotonicMs: () => number;
  readonly randomBytes: (size: number) => Buffer;
  readonly newRequestId: () => string;
}

const ownHeaders = {
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'referrer-policy': 'same-origin',
};

/** The lifetime of a form's token. A form in a reopened browser can still be sent after signing in. */
const csrfSeconds = 30 * 24 * 60 * 60;

/** Core forgets a browser sooner, 30 days after the user's last sign-in there. */
const browserSecretSeconds = 365 * 24 * 60 * 60;

/** The wallets by their ids, until core was asked for their names. */
const noWallets = directoryOf([]);

/** Several times the size of the longest form. */
const bodyLimitBytes = 64 * 1024;

/** The dashboard, ready to listen or to inject requests into. Stateless. `close()` waits for running requests. */
export async function buildDashboard(options: DashboardOptions): Promise<FastifyInstance> {
  const { clients } = options;
  const isSecure = options.baseUrl?.startsWith('https:') ?? false;
  const headers = pageHeaders(ownHeaders, isSecure);
  const assets = await readAssets();
  const logWhenOver = createRequestLog(options);
  const begin = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.headers(headers).header('x-request-id', request.id);
    logWhenOver(request, reply);
  };
  const app = Fastify({
    ...edgeServerOptions({ ...options, tooLargePage }),
    bodyLimit: bodyLimitBytes,
    routerOptions: { ignoreTrailingSlash: true },
  });
  const dashboard: Dashboard = {
    clients,
    sendPage: createSendPage({
      render: createRender(),
      assets,
      hasPage: (url) => app.hasRoute({ method: 'GET', url }),
      zone: () => zoneText(options.timeZone, options.now()),
      randomBytes: options.randomBytes,
    }),
    baseUrl: () => options.baseUrl ?? app.listeningOrigin,
    isSecure,
    restUrls: options.restUrls,
    mailer: options.mailer,
    timeZone: options.timeZone,
    now: options.now,
    randomBytes: options.randomBytes,
    browserSecrets: createBrowserSecrets({
      name: 'gatehouse_browser',
      maxAgeSeconds: browserSecretSeconds,
      secure: () => isSecure,
      randomBytes: options.randomBytes,
    }),
    unknownSecrets: createUnknownSecretLimits(),
    assets,
  };
  const replyWithError = createErrorHandler(dashboard.sendPage);
  await app.register(cookie);
  await addCsrf(app, isSecure);
  app.removeAllContentTypeParsers();
  await app.register(formbody);
  app.decorateRequest('facts', null);
  app.decorateRequest('signedInUser', null);
  app.decorateRequest('pageMerchant', null);
  app.decorateRequest('language', 'en');
  app.decorateRequest('wallets');
  app.addHook('onRequest', async (request, reply) => {
    begin(request, reply);
    request.wallets = noWallets;
    request.language = chooseLanguage(request, reply, isSecure);
  });
  protectEdge(app, options, ({ field }) => new PageProblem('badRequest', `BAD_${field.toUpperCase()}`));
  const isDraining = closeConnectionsWhenDraining(app, options.draining);
  app.setErrorHandler(replyWithError);
  app.setNotFoundHandler((request, reply) => replyWithError(undefined, request, reply));
  addProbes(app, {
    health: clients.health,
    role: 'dashboard',
    isDraining,
    logger: options.logger,
    nowMs: options.monotonicMs,
  });
  serveAssets(app, Object.values(assets));

  await app.register(async (pages) => {
    await addPageHooks(pages, dashboard, options);
    addSignIn(pages, dashboard);
    addAccount(pages, dashboard);
    addSecondFactor(pages, dashboard);
    addAudit(pages, dashboard);
    addMerchantPages(pages, dashboard);
    addOperatorPages(pages, dashboard);
  });
  return app;
}

/** Tokens of forms, so that no other site can send a form of ours. */
async function addCsrf(app: FastifyInstance, isSecure: boolean): Promise<void> {
  await app.register(csrf, {
    cookieKey: isSecure ? '__Host-gatehouse_csrf' : 'gatehouse_csrf',
    cookieOpts: { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure, maxAge: csrfSeconds },
    getToken: (request) => {
      const { body } = request;
      return typeof body === 'object' && body !== null && '_csrf' in body && typeof body._csrf === 'string'
        ? body._csrf
        : undefined;
    },
    logLevel: 'debug',
  });
}

/**
 * The hooks of all pages. Their order matters: the session comes first, a form is checked before the access rule, and the user's language
 * is known after the session.
 */
async function addPageHooks(
  pages: FastifyInstance,
  dashboard: Dashboard,
  { clients, sessionLimits, randomBytes, monotonicMs, now }: DashboardOptions,
): Promise<void> {
  const { isSecure, unknownSecrets } = dashboard;
  const store = createSessionStore(clients.sessions, sessionLimits, now);
  await addSessions(pages, { store, unknownSecrets, isSecure, randomBytes });
  pages.addHook('preHandler', (request, reply, done) => {
    if (request.method === 'GET' || request.method === 'HEAD') done();
    else if (!isFromOurPages(request.headers, dashboard.baseUrl(), true))
      done(new PageProblem('foreignForm', 'FOREIGN_ORIGIN'));
    else pages.csrfProtection(request, reply, done);
  });
  addAccess(pages, {
    rules: accessRules,
    merchants: clients.merchants,
    now,
    sendToSignIn: createSendToSignIn(dashboard),
  });
  pages.addHook('preHandler', (request) => useForm(clients.sessions, request));
  addPageTurns(pages);
  pages.addHook('onRequest', async (request, reply) => {
    // The user, and so the user's language, is known now.
    request.language = chooseLanguage(request, reply, isSecure);
  });
  const wallets = createWalletDirectory(clients.wallets, monotonicMs);
  pages.addHook('preHandler', async (request) => {
    // Without core, the pages that need it show their own error. Until then wallets have their ids as names.
    request.wallets = await wallets().catch(() => noWallets);
  });
}

/** The pages of one merchant, for its members and for operators. */
function addMerchantPages(pages: FastifyInstance, dashboard: Dashboard): void {
  addTeam(pages, dashboard);
  addQuickStart(pages, dashboard);
  addHome(pages, dashboard);
  addOrders(pages, dashboard);
  addOrder(pages, dashboard);
  addRefundForm(pages, dashboard);
  addRefunds(pages, dashboard);
  addRefund(pages, dashboard);
  addRefundApproval(pages, dashboard);
  addMerchantStrays(pages, dashboard);
  addPaymentLinks(pages, dashboard);
  addNewLink(pages, dashboard);
  addKeys(pages, dashboard);
  addWebhooks(pages, dashboard);
  addWebhookEndpoints(pages, dashboard);
  addWebhookSecrets(pages, dashboard);
  addRequests(pages, dashboard);
  addMerchantWallets(pages, dashboard);
  addWalletAccounts(pages, dashboard);
}

/** The pages for operators only. */
function addOperatorPages(pages: FastifyInstance, dashboard: Dashboard): void {
  addOperatorUsers(pages, dashboard);
  addOverview(pages, dashboard);
  addMerchants(pages, dashboard);
  addOrderSearch(pages, dashboard);
  addWallets(pages, dashboard);
  addStrayPayments(pages, dashboard);
  addSettlements(pages, dashboard);
  addBalances(pages, dashboard);
  addPersonalData(pages, dashboard);
  addReconciliations(pages, dashboard);
  addPipeline(pages, dashboard);
  addEndpoints(pages, dashboard);
}
