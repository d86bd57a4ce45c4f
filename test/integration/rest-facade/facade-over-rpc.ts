import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { createClient, createRouterTransport } from '@connectrpc/connect';
import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { ApiKeyService } from '../../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { OrderStoryService } from '../../../src/gen/gatehouse/v1/order_story_service_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import { RequestLogService } from '../../../src/gen/gatehouse/v1/request_log_service_pb.js';
import { WebhookService } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { Health } from '../../../src/gen/health/v1/health_pb.js';
import { createApiRequestLog } from '../../../src/rest-facade/api-request-log.ts';
import { buildRestFacade } from '../../../src/rest-facade/app.ts';
import type { RestFacadeOptions } from '../../../src/rest-facade/app.ts';
import { createEndedOrders } from '../../../src/rest-facade/ended-orders.ts';
import { createWaitingSlots } from '../../../src/rest-facade/waiting-slots.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';

/**
 * A facade on a free port, in front of RPC services that the test scripts. They give answers that a real core gives only in a failure. It
 * also serves tests of the facade alone. Tests on the stack prove that both work together.
 */
export interface FacadeOverRpc {
  readonly app: FastifyInstance;
  readonly url: string;
  readonly log: Record<string, unknown>[];
  readonly drain: AbortController;
  readonly close: () => Promise<void>;
}

export interface ScriptedServices {
  readonly apiKeys?: Partial<ServiceImpl<typeof ApiKeyService>>;
  readonly orders?: Partial<ServiceImpl<typeof OrderService>>;
  readonly refunds?: Partial<ServiceImpl<typeof RefundService>>;
  readonly orderStories?: Partial<ServiceImpl<typeof OrderStoryService>>;
  readonly webhooks?: Partial<ServiceImpl<typeof WebhookService>>;
  readonly requestLog?: Partial<ServiceImpl<typeof RequestLogService>>;
  readonly health?: Partial<ServiceImpl<typeof Health>>;
}

export async function startFacadeOverRpc(
  services: ScriptedServices,
  overrides: Partial<
    Pick<RestFacadeOptions, 'environment' | 'rateLimits' | 'nowMs' | 'trustedProxies' | 'waitingSlots'>
  > = {},
): Promise<FacadeOverRpc> {
  const transport = createRouterTransport((router: ConnectRouter) => {
    router.service(ApiKeyService, {
      authenticateApiKey: () => ({ merchantId: 'mer_1', apiKeyId: 'key_1' }),
      ...services.apiKeys,
    });
    router.service(OrderService, { ...services.orders });
    router.service(RefundService, { ...services.refunds });
    router.service(OrderStoryService, { ...services.orderStories });
    router.service(WebhookService, { ...services.webhooks });
    router.service(RequestLogService, { recordApiRequests: () => ({}), ...services.requestLog });
    router.service(Health, { ...services.health });
  });
  const log: Record<string, unknown>[] = [];
  const drain = new AbortController();
  let requests = 0;
  const logger = pino(
    { level: 'debug' },
    { write: (line) => void log.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const nowMs = overrides.nowMs ?? (() => performance.now());
  const apiRequestLog = createApiRequestLog({
    requests: createClient(RequestLogService, transport),
    logger,
    newId: newRandomId,
    now: () => new Date(),
    nowMs,
  });
  const orders = createClient(OrderService, transport);
  const endedOrders = createEndedOrders({ orders, logger, lingerMs: 0 });
  const app = await buildRestFacade({
    environment: 'sandbox',
    orders,
    endedOrders,
    waitingSlots: createWaitingSlots(1_000),
    refunds: createClient(RefundService, transport),
    orderStories: createClient(OrderStoryService, transport),
    webhooks: createClient(WebhookService, transport),
    streams: { send: () => Promise.resolve(undefined) },
    apiKeys: createClient(ApiKeyService, transport),
    health: createClient(Health, transport),
    publicUrls: () => ({ production: 'https://pay.example', sandbox: 'https://sandbox.pay.example' }),
    rateLimits: { perKeyPerSecond: 0, failedKeysPerMinute: 1_000 },
    trustedProxies: [],
    apiRequestLog,
    logger,
    draining: drain.signal,
    nowMs,
    newRequestId: () => `request-${++requests}`,
    ...overrides,
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const close = async (): Promise<void> => {
    await app.close();
    await endedOrders.close();
    await apiRequestLog.close(AbortSignal.timeout(1_000));
  };
  return { app, url, log, drain, close };
}

/** The answer: the status, the headers, the body as text and, if it is JSON, its value. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: unknown;
}

export async function send(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== '' ? (JSON.parse(text) as unknown) : undefined,
  };
}

/** A POST with a JSON body and a key, as a merchant sends it. */
export function post(
  url: string,
  body: string | Uint8Array<ArrayBuffer> | object,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return send(url, {
    method: 'POST',
    headers: { apiKey: 'svc_test_any', 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
  });
}

/** Sends the head and the beginning of a verify. The returned function sends the rest, and resolves with the whole answer. */
export function beginVerify(url: string, orderNumber: string, apiKey: string): () => Promise<string> {
  const body = JSON.stringify({ order_number: orderNumber });
  const head = `Host: x\r\napiKey: ${apiKey}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: `;
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(`POST /api/v1/verify HTTP/1.1\r\n${head}${body.length}\r\n\r\n${body.slice(0, 5)}`);
  return () => {
    socket.write(body.slice(5));
    return textOf(socket);
  };
}
