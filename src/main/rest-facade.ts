/** The REST facade: the merchant API. Each environment has its own listener. It is a client of core and of the webhooks process. */
import { randomFillSync } from 'node:crypto';
import { createClient } from '@connectrpc/connect';
import { v7 as uuidv7 } from 'uuid';
import { ApiKeyService } from '../gen/gatehouse/v1/api_key_service_pb.js';
import { OrderService } from '../gen/gatehouse/v1/order_service_pb.js';
import { OrderStoryService } from '../gen/gatehouse/v1/order_story_service_pb.js';
import { RefundService } from '../gen/gatehouse/v1/refund_service_pb.js';
import { RequestLogService } from '../gen/gatehouse/v1/request_log_service_pb.js';
import { WebhookService } from '../gen/gatehouse/v1/webhook_service_pb.js';
import { Health } from '../gen/health/v1/health_pb.js';
import { createApiRequestLog } from '../rest-facade/api-request-log.ts';
import { buildRestFacade } from '../rest-facade/app.ts';
import { createEndedOrders } from '../rest-facade/ended-orders.ts';
import { addFacadeMetrics } from '../rest-facade/facade-metrics.ts';
import { createOrderStreams } from '../rest-facade/order-streams.ts';
import { readRestFacadeSettings } from '../rest-facade/settings.ts';
import { createWaitingSlots } from '../rest-facade/waiting-slots.ts';
import { createHttpMetrics } from '../platform/http/http-metrics.ts';
import { startMetricsListener } from '../platform/http/metrics-listener.ts';
import { createMetrics } from '../platform/metrics.ts';
import { addTlsMetrics } from '../platform/tls/tls-metrics.ts';
import { createDraining } from '../platform/http/draining.ts';
import { stopOnSignal } from '../platform/lifecycle.ts';
import { pooledRandom } from '../platform/pooled-random.ts';
import { randomIdsFrom } from '../contract/public-id.ts';
import { createGrpcTransport } from '../contract/grpc-transport.ts';
import { openTls } from './open-tls.ts';
import { readSettingsOrExit } from './read-settings.ts';
import { startLogging } from './start-logging.ts';
import { startTracing } from './start-tracing.ts';

/** The time limit at shutdown for sending the rest of the request log to core. */
const lastEntriesMs = 500;

const config = readSettingsOrExit(readRestFacadeSettings);
const { instance, logger } = startLogging('rest-facade', config);
const { tracing, part: tracingPart } = await startTracing('rest-facade', config, { instance, logger });
const tls = openTls(
  config,
  [...config.GATEHOUSE_CORE_ADDRESSES, ...config.GATEHOUSE_WEBHOOKS_ADDRESSES],
  logger,
);
const cores = { addresses: config.GATEHOUSE_CORE_ADDRESSES, token: config.GATEHOUSE_SERVICE_TOKEN, tls };
const transport = createGrpcTransport(cores);
// A separate transport, so that its rotation over the cores counts streams only.
const streamTransport = createGrpcTransport(cores);
const webhooksTransport = createGrpcTransport({
  addresses: config.GATEHOUSE_WEBHOOKS_ADDRESSES,
  token: config.GATEHOUSE_SERVICE_TOKEN,
  tls,
});
const streams = createOrderStreams({
  orders: createClient(OrderService, streamTransport),
  addresses: cores.addresses,
  logger,
});
const endedOrders = createEndedOrders({ orders: createClient(OrderService, transport), logger });
const random = pooledRandom(randomFillSync);
const apiRequestLog = createApiRequestLog({
  requests: createClient(RequestLogService, transport),
  logger,
  newId: randomIdsFrom(random),
  now: () => new Date(),
  nowMs: () => performance.now(),
});
const metrics = createMetrics({ logger, nowMs: () => performance.now(), tracing });
addTlsMetrics(metrics, tls);
const measureHttp = createHttpMetrics(metrics);
const metricsListener = await startMetricsListener({
  metrics,
  host: config.GATEHOUSE_METRICS_HOST,
  port: config.GATEHOUSE_METRICS_PORT,
  logger,
  newRequestId: () => uuidv7({ rng: random }),
});
const draining = createDraining();
const publicUrls = () => ({
  production: config.GATEHOUSE_REST_PRODUCTION_URL ?? production.listeningOrigin,
  sandbox: config.GATEHOUSE_REST_SANDBOX_URL ?? sandbox.listeningOrigin,
});
const waitingSlots = createWaitingSlots(config.GATEHOUSE_WAITING_REQUESTS);
addFacadeMetrics(metrics, {
  waitingSlots,
  slotsInAll: config.GATEHOUSE_WAITING_REQUESTS,
  endedOrders,
});
const shared = {
  orders: createClient(OrderService, transport),
  refunds: createClient(RefundService, transport),
  orderStories: createClient(OrderStoryService, transport),
  webhooks: createClient(WebhookService, webhooksTransport),
  streams,
  endedOrders,
  waitingSlots,
  apiKeys: createClient(ApiKeyService, transport),
  health: createClient(Health, transport),
  publicUrls,
  rateLimits: {
    perKeyPerSecond: config.GATEHOUSE_RATE_LIMIT_PER_KEY,
    failedKeysPerMinute: config.GATEHOUSE_RATE_LIMIT_FAILED_KEYS,
  },
  apiRequestLog,
  trustedProxies: config.GATEHOUSE_TRUSTED_PROXIES ?? [],
  tracing,
  logger,
  draining: draining.signal,
  nowMs: () => performance.now(),
  newRequestId: () => uuidv7({ rng: random }),
};
const production = await buildRestFacade({
  ...shared,
  environment: 'production',
  measureRequests: measureHttp('production'),
});
const sandbox = await buildRestFacade({
  ...shared,
  environment: 'sandbox',
  measureRequests: measureHttp('sandbox'),
});

stopOnSignal(logger, [
  { name: 'certificates', timeoutMs: 100, stop: () => tls?.stop() },
  draining.part,
  {
    name: 'listeners',
    // Together with the draining, this is the longest time of a call to core that began before the signal.
    timeoutMs: 7_600,
    stop: async () => {
      await Promise.all([production.close(), sandbox.close()]);
    },
  },
  {
    name: 'request log, streams and metrics',
    timeoutMs: lastEntriesMs + 100,
    stop: async () => {
      await Promise.all([
        apiRequestLog.close(AbortSignal.timeout(lastEntriesMs)),
        streams.close(),
        endedOrders.close(),
        metricsListener.close(),
      ]);
    },
  },
  {
    name: 'connections to core and webhooks',
    timeoutMs: 100,
    stop: () => {
      webhooksTransport.close();
      transport.close();
      streamTransport.close();
    },
  },
  tracingPart,
]);

const host = config.GATEHOUSE_HOST;
await production.listen({ host, port: config.GATEHOUSE_REST_PRODUCTION_PORT });
await sandbox.listen({ host, port: config.GATEHOUSE_REST_SANDBOX_PORT });
logger.info(
  {
    production: production.listeningOrigin,
    sandbox: sandbox.listeningOrigin,
    metrics: metricsListener.url,
  },
  'ready',
);
