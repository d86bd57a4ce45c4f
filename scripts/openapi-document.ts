import { createClient, createRouterTransport } from '@connectrpc/connect';
import { newRandomId } from '../src/contract/public-id.ts';
import { ApiKeyService } from '../src/gen/gatehouse/v1/api_key_service_pb.js';
import { OrderService } from '../src/gen/gatehouse/v1/order_service_pb.js';
import { OrderStoryService } from '../src/gen/gatehouse/v1/order_story_service_pb.js';
import { RefundService } from '../src/gen/gatehouse/v1/refund_service_pb.js';
import { RequestLogService } from '../src/gen/gatehouse/v1/request_log_service_pb.js';
import { WebhookService } from '../src/gen/gatehouse/v1/webhook_service_pb.js';
import { Health } from '../src/gen/health/v1/health_pb.js';
import { createLogger } from '../src/platform/logger.ts';
import { createApiRequestLog } from '../src/rest-facade/api-request-log.ts';
import { buildRestFacade } from '../src/rest-facade/app.ts';
import { createEndedOrders } from '../src/rest-facade/ended-orders.ts';
import { createWaitingSlots } from '../src/rest-facade/waiting-slots.ts';

/** Addresses for reading. Each gateway's own document has its own. */
const publicUrls = { production: 'https://pay.example', sandbox: 'https://sandbox.pay.example' };

/** The document that a running gateway serves at /openapi.json. No core is asked. */
export async function readOpenApiDocument(): Promise<unknown> {
  const nobody = createRouterTransport(() => undefined);
  const logger = createLogger({ process: 'clients', instance: 'openapi', level: 'silent' });
  const nowMs = () => performance.now();
  const orders = createClient(OrderService, nobody);
  const endedOrders = createEndedOrders({ orders, logger });
  const apiRequestLog = createApiRequestLog({
    requests: createClient(RequestLogService, nobody),
    logger,
    newId: newRandomId,
    now: () => new Date(),
    nowMs,
  });
  const app = await buildRestFacade({
    environment: 'production',
    orders,
    endedOrders,
    waitingSlots: createWaitingSlots(1),
    refunds: createClient(RefundService, nobody),
    orderStories: createClient(OrderStoryService, nobody),
    webhooks: createClient(WebhookService, nobody),
    streams: { send: () => Promise.resolve(undefined) },
    apiKeys: createClient(ApiKeyService, nobody),
    health: createClient(Health, nobody),
    publicUrls: () => publicUrls,
    rateLimits: { perKeyPerSecond: 0, failedKeysPerMinute: 1 },
    trustedProxies: [],
    apiRequestLog,
    logger,
    draining: new AbortController().signal,
    nowMs,
    newRequestId: () => 'openapi',
  });
  try {
    return (await app.inject('/openapi.json')).json();
  } finally {
    await app.close();
    await endedOrders.close();
    await apiRequestLog.close(AbortSignal.abort());
  }
}
