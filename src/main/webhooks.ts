/** Tells merchants of their orders' ends: turns events into deliveries, sends them, and says what came of it. */
import { hostname } from 'node:os';
import { createClient } from '@connectrpc/connect';
import { v7 } from 'uuid';
import { OrderService } from '../gen/gatehouse/v1/order_service_pb.js';
import { addBrokerMetrics } from '../runtime/broker-metrics.ts';
import { readWebhooksConfig } from '../runtime/config.ts';
import { explainDatabaseError } from '../runtime/database/explain-error.ts';
import { stopOnSignal } from '../runtime/lifecycle.ts';
import { createLogger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { openEventBus } from '../runtime/nats-event-bus.ts';
import { startConnectServer } from '../runtime/rpc/connect-server.ts';
import { createGrpcTransport } from '../runtime/rpc/grpc-transport.ts';
import { startGrpcServer } from '../runtime/rpc/grpc-server.ts';
import { guard } from '../runtime/rpc/guard.ts';
import { healthService } from '../runtime/rpc/health-service.ts';
import { reflectionService } from '../runtime/rpc/reflection-service.ts';
import type { RpcService } from '../runtime/rpc/rpc-service.ts';
import { openDatabase } from '../webhooks/database/database.ts';
import { createPipelineStatus } from '../webhooks/health/pipeline-status.ts';
import { addPipelineMetrics } from '../webhooks/health/webhook-metrics.ts';
import { migrateWhenReachable } from './migrate-when-reachable.ts';
import { readConfigOrExit } from './read-config.ts';

const config = readConfigOrExit(readWebhooksConfig);
const instance = config.GATEHOUSE_INSTANCE ?? `${hostname()}:${process.pid}`;
const logger = createLogger({ process: 'webhooks', instance, level: config.GATEHOUSE_LOG_LEVEL });
const now = (): Date => new Date();
const [currentKey] = config.GATEHOUSE_WEBHOOK_SECRET_KEYS;

const database = await openDatabase({
  url: config.GATEHOUSE_DATABASE_URL,
  poolSize: config.GATEHOUSE_DATABASE_POOL_SIZE,
  applicationName: `gatehouse-webhooks ${instance}`,
  logger,
});
await migrateWhenReachable(database, logger);

const transport = createGrpcTransport({
  addresses: config.GATEHOUSE_CORE_ADDRESSES,
  token: config.GATEHOUSE_SERVICE_TOKEN,
});
const orders = createClient(OrderService, transport);
const bus = openEventBus({ url: config.GATEHOUSE_NATS_URL, name: `webhooks ${instance}`, logger });

const draining = new AbortController();

const readStatus = createPipelineStatus({
  database,
  orders,
  currentKey: currentKey.name,
  isBrokerConnected: bus.isConnected,
  now,
});
const metrics = createMetrics({ logger, nowMs: () => performance.now() });
addBrokerMetrics(metrics, bus);
addPipelineMetrics(metrics, readStatus, now);

const services: readonly RpcService[] = [];
const descriptions = services.map(({ spec }) => spec.service);
const served = [
  ...services,
  healthService(
    descriptions.map(({ typeName }) => typeName),
    () => !draining.signal.aborted,
  ),
  reflectionService(descriptions),
].map((service) =>
  guard(service, {
    tokens: config.GATEHOUSE_SERVICE_TOKENS,
    logger,
    newRequestId: v7,
    explain: explainDatabaseError,
  }),
);

const host = config.GATEHOUSE_HOST;
const grpc = await startGrpcServer({
  host,
  port: config.GATEHOUSE_WEBHOOKS_GRPC_PORT,
  services: served,
  logger,
});
const connect = await startConnectServer({
  host,
  port: config.GATEHOUSE_WEBHOOKS_CONNECT_PORT,
  services: served,
  pages: { '/metrics': metrics.page },
  logger,
});

logger.info({ grpc: grpc.address, connect: connect.address }, 'ready');

stopOnSignal(logger, [
  { name: 'drain', stop: () => draining.abort(), timeoutMs: 100 },
  {
    name: 'servers',
    stop: async () => {
      await Promise.all([grpc.stop(3_000), connect.stop(3_000)]);
    },
    timeoutMs: 4_000,
  },
  { name: 'broker', stop: () => bus.close(), timeoutMs: 500 },
  { name: 'database', stop: () => database.close(), timeoutMs: 1_000 },
  { name: 'connections to core', stop: () => transport.close(), timeoutMs: 100 },
]);
