import cookie from '@fastify/cookie';
import type { Client } from '@connectrpc/connect';
import Fastify from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { CheckoutService } from '../gen/gatehouse/v1/checkout_service_pb.js';
import type { WalletService } from '../gen/gatehouse/v1/wallet_service_pb.js';
import { createWalletDirectory } from '../contract/wallet-directory.ts';
import type { Health } from '../gen/health/v1/health_pb.js';
import type { Logger } from '../platform/logger.ts';
import { readAssets } from './assets.ts';
import { createAwaitedOutcomes } from './awaited-outcome.ts';
import { accessCheckouts } from './checkout-access.ts';
import { addCheckoutRoutes } from './checkout-routes.ts';
import { createErrorHandler } from './error-reply.ts';
import { serveAssets } from '../platform/http/assets.ts';
import { createBrowserSecrets } from '../platform/http/browser-secret.ts';
import { addProbes } from '../platform/http/core-probes.ts';
import { closeConnectionsWhenDraining } from '../platform/http/draining.ts';
import { edgeServerOptions, protectEdge } from '../platform/http/edge-server.ts';
import type { MeasureRequests } from '../platform/http/http-metrics.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import { chooseLanguage } from '../platform/http/language-cookie.ts';
import { pageHeaders } from '../platform/http/page-headers.ts';
import { tooLargePage } from '../platform/http/too-large-page.ts';
import { PageProblem } from './page-problem.ts';
import { createRenderer } from './render.ts';
import { createRequestLog } from './request-log.ts';
import { createPaymentLimit } from './payment-limit.ts';
import type { PaymentLimitSettings } from './payment-limit.ts';
import { createSendPage } from './send-page.ts';
import { addFormParser } from './submitted-form.ts';
import { createUnknownLinkLimit } from './unknown-link-limit.ts';

export interface CheckoutOptions {
  readonly checkout: Client<typeof CheckoutService>;
  readonly wallets: Client<typeof WalletService>;
  readonly health: Client<typeof Health>;
  /** The public URL of the pages: scheme, host and, if a proxy removes it, a path. Called after the listener has started. */
  readonly baseUrl: () => string;
  /** Addresses and networks of trusted balancers, whose X-Forwarded-For names the customer. */
  readonly trustedProxies: readonly string[];
  /** How many unknown links one address may open per minute. */
  readonly unknownLinksPerMinute: number;
  readonly paymentLimits: PaymentLimitSettings;
  /** The time zone of receipts: an IANA name. */
  readonly timeZone: string;
  readonly logger: Logger;
  readonly measureRequests?: MeasureRequests;
  /** Undefined when tracing is off. */
  readonly tracing?: Tracing | undefined;
  /** Aborts when the process begins to stop. From then on `/readyz` answers 503 and connections are not kept alive. */
  readonly draining: AbortSignal;
  readonly now: () => Date;
  /** A monotonic clock, in milliseconds. */
  readonly monotonicMs: () => number;
  readonly randomBytes: (size: number) => Buffer;
  readonly newRequestId: () => string;
}

const languageCookieName = 'gatehouse_language';

/** Longer than any payment session. That of a payment link lasts up to 30 days. */
const keptSeconds = 31 * 24 * 60 * 60;

/** A page's address is sufficient to pay, so it must not reach the shop or another site as a referrer. */
const ownHeaders = { 'referrer-policy': 'no-referrer' };

/**
 * The hosted checkout, ready to listen or for injected requests. It is stateless: it reads all data of a payment from core.
 * `close()` waits for running requests.
 */
export async function buildCheckout(options: CheckoutOptions): Promise<FastifyInstance> {
  const { baseUrl } = options;
  const isSecure = (): boolean => baseUrl().startsWith('https:');
  const prefix = (): string => new URL(baseUrl()).pathname.replace(/\/$/, '');
  const logWhenOver = createRequestLog(options);
  const begin = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.headers(pageHeaders(ownHeaders, isSecure())).header('x-request-id', request.id);
    logWhenOver(request, reply);
  };
  const assets = await readAssets();
  const sendPage = createSendPage(createRenderer(assets), prefix);
  const replyWithError = createErrorHandler(sendPage, (token) => `${prefix()}/c/${token}`);
  const app = Fastify(edgeServerOptions({ ...options, tooLargePage }));
  await app.register(cookie);
  app.decorateRequest('facts', null);
  app.decorateRequest('language', 'en');
  app.addHook('onRequest', async (request, reply) => {
    begin(request, reply);
    request.language = chooseLanguage(request, reply, {
      name: languageCookieName,
      isSecure: isSecure(),
    });
  });
  protectEdge(app, options, ({ field }) => new PageProblem('badRequest', `BAD_${field.toUpperCase()}`));
  const isDraining = closeConnectionsWhenDraining(app, options.draining);
  app.setErrorHandler(replyWithError);
  app.setNotFoundHandler((request, reply) => replyWithError(undefined, request, reply));

  addProbes(app, {
    health: options.health,
    role: 'checkout',
    isDraining,
    logger: options.logger,
    nowMs: options.monotonicMs,
  });
  serveAssets(app, [assets.style, assets.script, assets.icon]);
  addFormParser(app);
  addCheckoutRoutes(app, {
    checkouts: accessCheckouts(
      options.checkout,
      createUnknownLinkLimit(options.unknownLinksPerMinute),
      options.now,
    ),
    secrets: createBrowserSecrets({
      name: 'gatehouse_checkout',
      maxAgeSeconds: keptSeconds,
      secure: isSecure,
      randomBytes: options.randomBytes,
    }),
    awaited: createAwaitedOutcomes({ secure: isSecure, maxAgeSeconds: keptSeconds }),
    sendPage,
    pathOf: (token) => `${prefix()}/c/${token}`,
    directory: createWalletDirectory(options.wallets, options.monotonicMs),
    logoPath: (file) => `${prefix()}/wallets/${file}`,
    baseUrl,
    timeZone: options.timeZone,
    paymentLimit: createPaymentLimit(options.paymentLimits),
  });
  return app;
}
