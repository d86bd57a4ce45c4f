import type { Client } from '@connectrpc/connect';
import Fastify from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiKeyService } from '../gen/gatehouse/v1/api_key_service_pb.js';
import { Environment } from '../gen/gatehouse/v1/order_pb.js';
import type { OrderService } from '../gen/gatehouse/v1/order_service_pb.js';
import type { OrderStoryService } from '../gen/gatehouse/v1/order_story_service_pb.js';
import type { WebhookService } from '../gen/gatehouse/v1/webhook_service_pb.js';
import type { RefundService } from '../gen/gatehouse/v1/refund_service_pb.js';
import { ApiEndpoint } from '../gen/gatehouse/v1/request_log_service_pb.js';
import type { Health } from '../gen/health/v1/health_pb.js';
import type { Logger } from '../platform/logger.ts';
import type { ApiRequestLog } from './api-request-log.ts';
import { createKeyAuthenticator } from './api-key-authenticator.ts';
import { requireApiKey } from './authentication.ts';
import { addJsonBodyParser } from './body-parser.ts';
import { addDirectEndpoint, directAliases, directFields, directPath } from './direct-endpoint.ts';
import { addExplainEndpoint, explainFields, explainPath } from './explain-endpoint.ts';
import { noSuchMethod, noSuchPath, replyWithError } from './error-reply.ts';
import { addProbes } from '../platform/http/core-probes.ts';
import { closeConnectionsWhenDraining } from '../platform/http/draining.ts';
import { edgeServerOptions, protectEdge } from '../platform/http/edge-server.ts';
import type { MeasureRequests } from '../platform/http/http-metrics.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import { createRateLimits } from './rate-limits.ts';
import type { RateLimitSettings } from './rate-limits.ts';
import type { PublicUrls } from './reference/openapi-document.ts';
import { addReference } from './reference/reference-page.ts';
import { createEndedAnswers } from './ended-answers.ts';
import type { EndedOrders } from './ended-orders.ts';
import { createOrderCalls } from './order-calls.ts';
import type { OrderStreams } from './order-streams.ts';
import { createOrderWaits } from './order-waits.ts';
import { createRefusals } from './refuse-when-full.ts';
import { addRegisterEndpoint, registerFields, registerPath } from './register-endpoint.ts';
import { invalidRequest } from './request-failure.ts';
import type { RequestFailure } from './request-failure.ts';
import { createRequestLog } from './request-log.ts';
import { addRefundEndpoint, refundFields, refundPath } from './refund-endpoint.ts';
import { addVerifyRefundEndpoint, verifyRefundFields, verifyRefundPath } from './verify-refund-endpoint.ts';
import type { WaitingSlots } from './waiting-slots.ts';
import { addWelcome } from './welcome.ts';
import { addVerifyEndpoint, verifyFields, verifyPath } from './verify-endpoint.ts';

export interface RestFacadeOptions {
  readonly environment: 'production' | 'sandbox';
  readonly orders: Client<typeof OrderService>;
  readonly refunds: Client<typeof RefundService>;
  readonly orderStories: Client<typeof OrderStoryService>;
  /** A client of the `webhooks` process, which explains what the webhooks of ended orders wait for. */
  readonly webhooks: Pick<Client<typeof WebhookService>, 'explainOrderDeliveries'>;
  /** The streams to core for both environments. */
  readonly streams: Pick<OrderStreams, 'send'>;
  /** The stream of ended orders, and the slots of waiting requests, for both environments. */
  readonly endedOrders: EndedOrders;
  readonly waitingSlots: WaitingSlots;
  readonly apiKeys: Client<typeof ApiKeyService>;
  readonly health: Client<typeof Health>;
  /** The public base URLs for the reference, read at its first request. */
  readonly publicUrls: () => PublicUrls;
  readonly rateLimits: RateLimitSettings;
  /** Records every answer, so that merchants can see it later. */
  readonly apiRequestLog: ApiRequestLog;
  /** Addresses and networks of trusted balancers, whose X-Forwarded-For names the client. */
  readonly trustedProxies: readonly string[];
  readonly logger: Logger;
  readonly measureRequests?: MeasureRequests;
  /** Undefined when tracing is off. */
  readonly tracing?: Tracing | undefined;
  /** Aborts when the process begins to stop. From then on `/readyz` answers 503 and connections are not kept alive. */
  readonly draining: AbortSignal;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number;
  readonly newRequestId: () => string;
}

const environments = { production: Environment.PRODUCTION, sandbox: Environment.SANDBOX } as const;

/** A connection is closed gracefully after this many requests, so that balancers can redistribute long-lived clients. */
const maxRequestsPerConnection = 10_000;

const safeHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

const endpoints: ReadonlyMap<string, ApiEndpoint> = new Map<string, ApiEndpoint>([
  [registerPath, ApiEndpoint.REGISTER],
  [verifyPath, ApiEndpoint.VERIFY],
  [refundPath, ApiEndpoint.REFUND],
  [verifyRefundPath, ApiEndpoint.VERIFY_REFUND],
  [explainPath, ApiEndpoint.EXPLAIN],
  ...[directPath, ...directAliases].map((path): [string, ApiEndpoint] => [path, ApiEndpoint.DIRECT]),
]);

/** A payment_option in the body is refused with advice to put it into the query. */
const directNames = [...directFields, 'payment_option'];

/** The names that are read from a JSON body, by route. A duplicate key is reported on its field. */
const fieldsByRoute: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  [registerPath, registerFields],
  [verifyPath, verifyFields],
  [refundPath, refundFields],
  [verifyRefundPath, verifyRefundFields],
  [explainPath, explainFields],
  ...[directPath, ...directAliases].map((path): [string, readonly string[]] => [path, directNames]),
]);

/**
 * The merchant API of one environment, ready to listen or for injected requests. Its only state is a short-lived cache of
 * keys and the counts of its rate limits. `close()` waits for running requests.
 */
export async function buildRestFacade(options: RestFacadeOptions): Promise<FastifyInstance> {
  const edge = {
    ...options,
    rawHeaders: safeHeaders,
    tracedFrom: 'preValidation',
    maxRequestsPerConnection,
  } as const;
  const logWhenOver = createRequestLog(options);
  const begin = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.headers(safeHeaders).header('x-request-id', request.id);
    logWhenOver(request, reply);
  };
  const app = Fastify({
    ...edgeServerOptions(edge),
    ajv: {
      customOptions: {
        allErrors: true,
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        // Formats are documentation. Core validates the texts.
        validateFormats: false,
        // The schemas are fixed, and a test checks them. Ajv would compile the schema of all schemas at each start.
        validateSchema: false,
      },
    },
  });
  app.decorateRequest('logged', null);
  app.addHook('onRequest', (request, reply, done) => {
    begin(request, reply);
    done();
  });
  protectEdge(app, edge, (problem) => invalidRequest([problem]));
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404 || isEncoded(request.url)) done(noSuchRoute(request));
    else done();
  });
  const isDraining = closeConnectionsWhenDraining(app, options.draining);
  app.setErrorHandler(replyWithError);
  app.setNotFoundHandler((request, reply) => replyWithError(noSuchRoute(request), request, reply));

  await addReference(app, options.publicUrls, options.environment);
  addWelcome(app, options.environment);
  addProbes(app, {
    health: options.health,
    role: 'facade',
    isDraining,
    logger: options.logger,
    nowMs: options.nowMs,
  });
  await app.register(async (api) => addMerchantApi(api, options));
  return app;
}

/**
 * Whether a path contains percent-encoding. No path of this API needs it, and another spelling must not bypass a proxy that
 * filters paths.
 */
const isEncoded = (url: string): boolean => url.includes('%') && (url.split('?', 1)[0] ?? '').includes('%');

function noSuchRoute({ url, server }: FastifyRequest): RequestFailure {
  const path = url.split('?', 1)[0] ?? '';
  // A client that calls the base URL has forgotten the path.
  if (path === '/') return noSuchPath();
  const allowed = (['POST', 'GET'] as const).find((method) => server.hasRoute({ url: path, method }));
  return allowed === undefined ? noSuchPath() : noSuchMethod(allowed);
}

function addMerchantApi(app: FastifyInstance, options: RestFacadeOptions): void {
  const environment = environments[options.environment];
  const { orders, refunds, orderStories, webhooks, streams, apiKeys, nowMs } = options;
  const recheckKey = requireApiKey(
    app,
    options.environment,
    createKeyAuthenticator({ apiKeys, environment, nowMs }),
    createRateLimits(options.rateLimits),
  );
  addJsonBodyParser(app, (routeUrl) => fieldsByRoute.get(routeUrl) ?? []);
  app.addHook('preValidation', (request, _reply, done) => {
    request.body ??= {};
    done();
  });
  const endpointOf = (routeUrl: string): ApiEndpoint => endpoints.get(routeUrl) ?? ApiEndpoint.UNSPECIFIED;
  const note = options.apiRequestLog.noteIn(environment, endpointOf);
  app.addHook('onSend', (request, reply, payload, done) => {
    note(request, reply, payload);
    done(null, payload);
  });
  const calls = createOrderCalls({ orders, streams, nowMs });
  const waitUntilEnded = createOrderWaits({
    endedOrders: options.endedOrders,
    slots: options.waitingSlots,
    environment,
    draining: options.draining,
  });
  const refuseWhen = createRefusals();
  const clients = { refunds, orderStories, webhooks };
  const endedAnswers = createEndedAnswers(nowMs);
  const context = {
    ...clients,
    calls,
    endedAnswers,
    environment,
    waitUntilEnded,
    refuseWhen,
    recheckKey,
  };
  addRegisterEndpoint(app, context);
  addDirectEndpoint(app, context);
  addVerifyEndpoint(app, context);
  addExplainEndpoint(app, context);
  addRefundEndpoint(app, context);
  addVerifyRefundEndpoint(app, context);
}
