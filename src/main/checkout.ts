/** The hosted checkout: the pages on which customers pay. It is a client of core. */
import { randomBytes } from 'node:crypto';
import { createClient } from '@connectrpc/connect';
import { v7 as uuidv7 } from 'uuid';
import { buildCheckout } from '../checkout/app.ts';
import { CheckoutService } from '../gen/gatehouse/v1/checkout_service_pb.js';
import { WalletService } from '../gen/gatehouse/v1/wallet_service_pb.js';
import { Health } from '../gen/health/v1/health_pb.js';
import { readCheckoutSettings } from '../checkout/settings.ts';
import { createHttpMetrics } from '../platform/http/http-metrics.ts';
import { startMetricsListener } from '../platform/http/metrics-listener.ts';
import { createMetrics } from '../platform/metrics.ts';
import { addTlsMetrics } from '../platform/tls/tls-metrics.ts';
import { createDraining } from '../platform/http/draining.ts';
import { stopOnSignal } from '../platform/lifecycle.ts';
import { createGrpcTransport } from '../contract/grpc-transport.ts';
import { openTls } from './open-tls.ts';
import { readSettingsOrExit } from './read-settings.ts';
import { startLogging } from './start-logging.ts';
import { startTracing } from './start-tracing.ts';

/** One every two seconds. A customer with a broken link stays below it, and it is useless for guessing a 256-bit token. */
const unknownLinksPerMinute = 30;
/** Limits of forms in ten minutes. An order allows five payments. */
const paymentsPerBrowser = 20;
const paymentsPerPage = 100;

const config = readSettingsOrExit(readCheckoutSettings);
const { instance, logger } = startLogging('checkout', config);
const { tracing, part: tracingPart } = await startTracing('checkout', config, { instance, logger });
const tls = openTls(config, config.GATEHOUSE_CORE_ADDRESSES, logger);
const transport = createGrpcTransport({
  addresses: config.GATEHOUSE_CORE_ADDRESSES,
  token: config.GATEHOUSE_SERVICE_TOKEN,
  tls,
});
const metrics = createMetrics({ logger, nowMs: () => performance.now(), tracing });
addTlsMetrics(metrics, tls);
const metricsListener = await startMetricsListener({
  metrics,
  host: config.GATEHOUSE_METRICS_HOST,
  port: config.GATEHOUSE_METRICS_PORT,
  logger,
  newRequestId: () => uuidv7(),
});
const draining = createDraining();
const checkout = await buildCheckout({
  checkout: createClient(CheckoutService, transport),
  wallets: createClient(WalletService, transport),
  health: createClient(Health, transport),
  baseUrl: () => config.GATEHOUSE_CHECKOUT_BASE_URL ?? checkout.listeningOrigin,
  trustedProxies: config.GATEHOUSE_TRUSTED_PROXIES ?? [],
  tracing,
  unknownLinksPerMinute,
  paymentLimits: {
    perBrowser: paymentsPerBrowser,
    perPage: paymentsPerPage,
    perNetwork: config.GATEHOUSE_CHECKOUT_PAYMENTS_PER_NETWORK,
  },
  timeZone: config.GATEHOUSE_TIME_ZONE,
  logger,
  measureRequests: createHttpMetrics(metrics)('checkout'),
  draining: draining.signal,
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  randomBytes,
  newRequestId: () => uuidv7(),
});

stopOnSignal(logger, [
  { name: 'certificates', timeoutMs: 100, stop: () => tls?.stop() },
  draining.part,
  { name: 'listener', timeoutMs: 8_000, stop: () => checkout.close() },
  { name: 'metrics', timeoutMs: 200, stop: () => metricsListener.close() },
  { name: 'connections to core', timeoutMs: 100, stop: () => transport.close() },
  tracingPart,
]);

await checkout.listen({ host: config.GATEHOUSE_HOST, port: config.GATEHOUSE_CHECKOUT_PORT });
logger.info({ checkout: checkout.listeningOrigin, metrics: metricsListener.url }, 'ready');
