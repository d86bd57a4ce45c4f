import cookie from '@fastify/cookie';
import type { Client } from '@connectrpc/connect';
import Fastify, { LogController } from 'fastify';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { CheckoutService } from '../gen/gatehouse/v1/checkout_service_pb.js';
import type { Health } from '../gen/health/v1/health_pb.js';
import type { Logger } from '../runtime/logger.ts';
import { readAssets } from './assets.ts';
import { createBrowserSecrets } from './browser-secret.ts';
import { accessCheckouts } from './checkout-access.ts';
import { addCheckoutRoutes } from './checkout-routes.ts';
import { createErrorHandler } from './error-reply.ts';
import { chooseLanguage } from './language-choice.ts';
import { languageFor } from '../runtime/language/language.ts';
import { serveAssets } from '../runtime/http/assets.ts';
import { addProbes } from '../runtime/http/core-probes.ts';
import { usableRequestId } from '../runtime/http/request-id.ts';
import { createRenderer } from './render.ts';
import { logWhenOver } from './request-log.ts';
import { securityHeaders } from './security-headers.ts';
import { createSendPage } from './send-page.ts';
import { addFormParser } from './submitted-form.ts';
import { createUnknownLinkLimit } from './unknown-link-limit.ts';

export interface CheckoutOptions {
  readonly checkout: Client<typeof CheckoutService>;
  readonly health: Client<typeof Health>;
  /** Where customers reach the pages: scheme, host and, when a proxy takes it off, a path. Asked once it listens. */
  readonly baseUrl: () => string;
  /** Addresses and networks whose X-Forwarded-For says who the customer is: balancers in front of this process. */
  readonly trustedProxies: readonly string[];
  /** How many links that lead nowhere one address may open in a minute. */
  readonly unknownLinksPerMinute: number;
  readonly logger: Logger;
  /** Aborted when the process is about to stop: from then on `/readyz` says 503 and connections are not kept alive. */
  readonly draining: AbortSignal;
  readonly now: () => Date;
  /** A monotonic clock, in milliseconds. */
  readonly monotonicMs: () => number;
  readonly randomBytes: (size: number) => Buffer;
  readonly newRequestId: () => string;
}

const timeoutsMs = {
  /** For the request line and headers. */
  headers: 5_000,
  /** For the whole request to arrive. */
  request: 10_000,
  /** Longer than the 60 s after which common balancers drop an idle connection, so that they never use one we closed. */
  keepAlive: 65_000,
};

/**
 * The hosted checkout, ready to listen or to be injected into. Stateless: all it knows of a payment it asks core for.
 * `close()` lets requests under way finish.
 */
export async function buildCheckout(options: CheckoutOptions): Promise<FastifyInstance> {
  const { baseUrl, logger, draining } = options;
  let closing = false;
  const isDraining = (): boolean => closing || draining.aborted;
  const isSecure = (): boolean => baseUrl().startsWith('https:');
  const prefix = (): string => new URL(baseUrl()).pathname.replace(/\/$/, '');
  const begin = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.headers(securityHeaders(isSecure())).header('x-request-id', request.id);
    logWhenOver(request, reply, options);
  };
  const assets = await readAssets();
  const sendPage = createSendPage(createRenderer(assets), prefix);
  const replyWithError = createErrorHandler(sendPage, (token) => `${prefix()}/c/${token}`);
  const loggerInstance: FastifyBaseLogger = logger;
  const app = Fastify({
    loggerInstance,
    logController: new LogController({ disableRequestLogging: true }),
    // One line a request is written by us, with the request's id in it: no need for a child logger each.
    childLoggerFactory: (parent) => parent,
    genReqId: (request) => usableRequestId(request) ?? options.newRequestId(),
    trustProxy: options.trustedProxies.length > 0 && [...options.trustedProxies],
    requestTimeout: timeoutsMs.request,
    keepAliveTimeout: timeoutsMs.keepAlive,
    http: { headersTimeout: timeoutsMs.headers, connectionsCheckingInterval: 1_000 },
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      // The path cannot be decoded. Hooks do not run for these, and cookies are not read.
      begin(request, reply);
      request.language = languageFor({ accepted: request.headers['accept-language'] });
      replyWithError(error, request, reply);
    },
  });
  await app.register(cookie);
  app.decorateRequest('checkoutFacts', null);
  app.decorateRequest('language', 'en');
  app.addHook('preClose', (done) => {
    closing = true;
    done();
  });
  app.addHook('onRequest', async (request, reply) => {
    begin(request, reply);
    request.language = chooseLanguage(request, reply, isSecure());
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (isDraining()) reply.header('connection', 'close');
    done(null, payload);
  });
  app.setErrorHandler(replyWithError);
  app.setNotFoundHandler((request, reply) => replyWithError(undefined, request, reply));

  addProbes(app, { health: options.health, isDraining, nowMs: options.monotonicMs });
  serveAssets(app, [assets.style, assets.script, assets.icon]);
  addFormParser(app);
  addCheckoutRoutes(app, {
    checkouts: accessCheckouts(options.checkout, createUnknownLinkLimit(options.unknownLinksPerMinute)),
    secrets: createBrowserSecrets(isSecure, options.randomBytes),
    sendPage,
    pathOf: (token) => `${prefix()}/c/${token}`,
    baseUrl,
    now: options.now,
  });
  return app;
}
