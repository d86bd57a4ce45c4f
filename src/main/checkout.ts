/** The hosted checkout: the pages on which customers pay, in front of the cores. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { v7 as uuidv7 } from 'uuid';
import { buildCheckout } from '../checkout/app.ts';
import { CheckoutService } from '../gen/gatehouse/v1/checkout_service_pb.js';
import { Health } from '../gen/health/v1/health_pb.js';
import { readCheckoutConfig } from '../runtime/config.ts';
import { stopOnSignal } from '../runtime/lifecycle.ts';
import { createLogger, standardOutput } from '../runtime/logger.ts';
import { createGrpcTransport } from '../runtime/rpc/grpc-transport.ts';
import { readConfigOrExit } from './read-config.ts';

/** One every two seconds: more than a customer with a broken link opens, and useless for finding a 256-bit token. */
const unknownLinksPerMinute = 30;

/** How long replies say `Connection: close` before the listener closes: clients leave by themselves, in order. */
const drainMs = 500;

const config = readConfigOrExit(readCheckoutConfig);
const logger = createLogger(
  {
    process: 'checkout',
    instance: config.GATEHOUSE_INSTANCE ?? `${hostname()}:${process.pid}`,
    level: config.GATEHOUSE_LOG_LEVEL,
  },
  standardOutput(process),
);
const transport = createGrpcTransport({
  addresses: config.GATEHOUSE_CORE_ADDRESSES,
  token: config.GATEHOUSE_SERVICE_TOKEN,
});
const draining = new AbortController();
const checkout = await buildCheckout({
  checkout: createClient(CheckoutService, transport),
  health: createClient(Health, transport),
  baseUrl: () => config.GATEHOUSE_CHECKOUT_BASE_URL ?? checkout.listeningOrigin,
  trustedProxies: config.GATEHOUSE_TRUSTED_PROXIES ?? [],
  unknownLinksPerMinute,
  logger,
  draining: draining.signal,
  now: () => new Date(),
  monotonicMs: () => performance.now(),
  randomBytes,
  newRequestId: () => uuidv7(),
});

stopOnSignal(logger, [
  {
    name: 'draining',
    timeoutMs: drainMs + 100,
    stop: async () => {
      draining.abort();
      await delay(drainMs);
    },
  },
  { name: 'listener', timeoutMs: 8_500, stop: () => checkout.close() },
  { name: 'connections to core', timeoutMs: 100, stop: () => transport.close() },
]);

await checkout.listen({ host: config.GATEHOUSE_HOST, port: config.GATEHOUSE_CHECKOUT_PORT });
logger.info({ checkout: checkout.listeningOrigin }, 'ready');
