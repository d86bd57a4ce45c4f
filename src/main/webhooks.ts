/**
 * The webhooks process. It notifies merchants of their orders, payment links and refunds: it turns events into deliveries, sends
 * them and records the results.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { createClient } from '@connectrpc/connect';
import { v7 } from 'uuid';
import manifest from '../../package.json' with { type: 'json' };
import { AuditService } from '../gen/gatehouse/v1/audit_service_pb.js';
import { DiagnosticsService } from '../gen/gatehouse/v1/diagnostics_service_pb.js';
import { MerchantService } from '../gen/gatehouse/v1/merchant_service_pb.js';
import { OrderService } from '../gen/gatehouse/v1/order_service_pb.js';
import { PersonalDataService } from '../gen/gatehouse/v1/personal_data_service_pb.js';
import { addBrokerMetrics } from '../platform/broker-metrics.ts';
import { readWebhooksSettings } from '../webhooks/settings.ts';
import { createFairCalls } from '../platform/fair-calls.ts';
import { openDatabaseClock } from '../platform/database/database-clock.ts';
import { explainDatabaseError } from '../platform/database/explain-error.ts';
import { addPoolMetrics } from '../platform/database/pool-watch.ts';
import { stopOnSignal } from '../platform/lifecycle.ts';
import { createRpcMetrics } from '../platform/rpc/rpc-metrics.ts';
import { createMetrics } from '../platform/metrics.ts';
import { openEventBus } from '../contract/event-bus.ts';
import { pause } from '../platform/pause.ts';
import { newRandomId } from '../contract/public-id.ts';
import { createRepeatInTurn } from '../platform/repeat-every.ts';
import { createGrpcTransport } from '../contract/grpc-transport.ts';
import { maxMessageBytesOf } from '../contract/roles.ts';
import { startRpcServers } from '../platform/rpc/start-servers.ts';
import { createWakeSignal } from '../platform/wake-signal.ts';
import { createSendAuditEntries } from '../webhooks/audit/send-audit-entries.ts';
import { openDatabase } from '../webhooks/database/database.ts';
import { createIndexTask } from '../webhooks/database/large-indexes.ts';
import { createDeliveryStore } from '../webhooks/delivery/delivery-store.ts';
import { createDeliveryTraces } from '../webhooks/delivery/delivery-traces.ts';
import { startDispatching } from '../webhooks/delivery/dispatch-deliveries.ts';
import { abandonDeleted } from '../webhooks/endpoints/abandon-deleted.ts';
import { eraseDeliveries } from '../webhooks/erasure/erase-deliveries.ts';
import { createFutureTimeCorrection } from '../webhooks/health/correct-future-times.ts';
import { forgetOldDeliveries } from '../webhooks/health/forget-old-deliveries.ts';
import { createPipelineStatus, readReconciledAt } from '../webhooks/health/pipeline-status.ts';
import { createReconcileDeliveries } from '../webhooks/health/reconcile-deliveries.ts';
import {
  addPipelineMetrics,
  addReconcilerMetrics,
  createAttemptMetrics,
} from '../webhooks/health/webhook-metrics.ts';
import { ingestEvents } from '../webhooks/intake/ingest-events.ts';
import { createDeliveryWriter } from '../webhooks/intake/write-deliveries.ts';
import { runRedeliveries } from '../webhooks/redeliveries/run-redeliveries.ts';
import { webhookEndpointService } from '../webhooks/rpc/webhook-endpoint-service.ts';
import { webhookService } from '../webhooks/rpc/webhook-service.ts';
import { logResealed } from '../webhooks/secrets/reseal-secrets.ts';
import { createSecretCipher } from '../webhooks/secrets/secret-cipher.ts';
import { createSigningSecrets } from '../webhooks/secrets/signing-secrets.ts';
import { createResolve } from '../platform/resolve-name.ts';
import { createWebhookSender } from '../webhooks/sending/send-webhook.ts';
import { migrateWhenReachable } from './migrate-when-reachable.ts';
import { addTlsMetrics } from '../platform/tls/tls-metrics.ts';
import { openServerTls } from './open-tls.ts';
import { exitForSettings, readSettingsOrExit } from './read-settings.ts';
import { startLogging } from './start-logging.ts';
import { startTracing } from './start-tracing.ts';

/** The time limit of an attempt, whatever the receiver does. */
const attemptMs = 15_000;
const connectMs = 5_000;
/** How long a process keeps a lane without renewing its lease. */
const leaseMs = 20_000;
/** The broker redelivers an unacknowledged event after this time. */
const ackWaitMs = 30_000;
const clockIntervalMs = 5_000;
const auditIntervalMs = 1_000;
const promoteIntervalMs = 10_000;
const resealIntervalMs = 60_000;
const reconcileIntervalMs = 60_000;
const forgetIntervalMs = 60 * 60_000;
const eraseIntervalMs = 10_000;
const indexIntervalMs = 60_000;
const correctTimesIntervalMs = 60_000;
const redeliveryIdleMs = 1_000;
const deletionIdleMs = 5_000;
/** The contract promises a message at least every 15 seconds. */
const keepAliveMs = 10_000;

const config = readSettingsOrExit(readWebhooksSettings);
const { instance, logger } = startLogging('webhooks', config);
const { tracing, part: tracingPart } = await startTracing('webhooks', config, { instance, logger });

const serverTls = openServerTls(config, config.GATEHOUSE_CORE_ADDRESSES, logger);
const tls = serverTls?.files;
const database = await openDatabase({
  url: config.GATEHOUSE_DATABASE_URL,
  poolSize: config.GATEHOUSE_DATABASE_POOL_SIZE,
  applicationName: `gatehouse-webhooks ${instance}`,
  tls,
  logger,
});
try {
  await migrateWhenReachable(database, logger);
} catch (error) {
  await database.close();
  exitForSettings(error);
}
const clock = await openDatabaseClock(database.pool, () => performance.now());
const { now } = clock;
const machineNow = (): Date => new Date();

const transport = createGrpcTransport({
  addresses: config.GATEHOUSE_CORE_ADDRESSES,
  token: config.GATEHOUSE_SERVICE_TOKEN,
  tls,
});
const orders = createClient(OrderService, transport);
const audit = createClient(AuditService, transport);
const personalData = createClient(PersonalDataService, transport);
const bus = openEventBus({ url: config.GATEHOUSE_NATS_URL, name: `webhooks ${instance}`, tls, logger });

const redeliverySignal = createWakeSignal();
const deletionSignal = createWakeSignal();
const deliverySignal = createWakeSignal();
bus.onWake('webhook_deliveries', deliverySignal.ring);
const announceDeliveries = (): void => {
  deliverySignal.ring();
  bus.wake('webhook_deliveries');
};

const draining = new AbortController();
const stopping = new AbortController();

const readStatus = createPipelineStatus({
  database,
  orders,
  cipher: createSecretCipher(config.GATEHOUSE_WEBHOOK_SECRET_KEYS, randomBytes),
  broker: bus,
  now,
});
const metrics = createMetrics({ logger, nowMs: () => performance.now(), tracing });
addTlsMetrics(metrics, tls, { database: database.certificate, broker: bus.certificate });
addBrokerMetrics(metrics, bus);
addPoolMetrics(metrics, database.poolWatch);
addPipelineMetrics(metrics, readStatus, now);
addReconcilerMetrics(metrics, () => readReconciledAt(database), now);

const secrets = createSigningSecrets({
  database,
  keys: config.GATEHOUSE_WEBHOOK_SECRET_KEYS,
  newId: newRandomId,
  randomBytes,
  now,
  machineNow,
  monotonicMs: () => performance.now(),
});
const writer = createDeliveryWriter({
  database,
  retentionDays: config.GATEHOUSE_WEBHOOK_RETENTION_DAYS,
  newId: newRandomId,
  now,
  machineNow,
});
const sender = createWebhookSender({
  sandboxNetworks: config.GATEHOUSE_WEBHOOK_SANDBOX_NETWORKS,
  version: manifest.version,
  totalMs: attemptMs,
  connectMs,
  monotonicMs: () => performance.now(),
  resolve: createResolve(),
  pause,
});

const merchants = createClient(MerchantService, transport);
/**
 * For explanations, redeliveries, and lists of deliveries and endpoints, which merchants request. Together they use at most a quarter of the connections, and
 * those of one merchant about half of these. So they never delay the sending of webhooks.
 */
const fairly = createFairCalls({
  maxRunning: Math.max(2, Math.floor(config.GATEHOUSE_DATABASE_POOL_SIZE / 4)),
  maxWaiting: 20,
});
const services = [
  webhookService({
    database,
    secrets,
    merchants,
    orders,
    readStatus,
    newId: newRandomId,
    now,
    fairly,
    onDue: announceDeliveries,
    onRedelivery: redeliverySignal.ring,
    draining: draining.signal,
    keepAliveMs,
  }),
  webhookEndpointService({
    database,
    secrets,
    merchants,
    newId: newRandomId,
    now,
    fairly,
    onDue: announceDeliveries,
    onDeleted: deletionSignal.ring,
  }),
];
const servers = await startRpcServers({
  host: config.GATEHOUSE_HOST,
  ports: { grpc: config.GATEHOUSE_WEBHOOKS_GRPC_PORT, connect: config.GATEHOUSE_WEBHOOKS_CONNECT_PORT },
  services,
  pages: { '/metrics': metrics.page },
  tokens: config.GATEHOUSE_SERVICE_TOKENS,
  maxMessageBytesOf,
  draining: draining.signal,
  tls: serverTls,
  isServing: database.poolWatch.isServing,
  logger,
  newRequestId: v7,
  explain: explainDatabaseError,
  measure: createRpcMetrics(metrics),
  tracing,
});

const stop = stopping.signal;
const repeatInTurn = createRepeatInTurn();
const repeatTask = (
  task: string,
  intervalMs: number,
  run: (stop: AbortSignal) => Promise<unknown>,
): Promise<void> => repeatInTurn({ task, intervalMs, logger, stop }, run);
const retentionDays = config.GATEHOUSE_WEBHOOK_RETENTION_DAYS;
const reconcile = createReconcileDeliveries({
  database,
  writer,
  orders,
  diagnostics: createClient(DiagnosticsService, transport),
  retentionDays,
  onDeliveries: announceDeliveries,
  newId: newRandomId,
  logger,
  now,
  machineNow,
});

const correctFutureTimes = createFutureTimeCorrection({ pool: database.pool, leaseMs, logger });
const traces = createDeliveryTraces(tracing);
const dispatcher = startDispatching(
  {
    store: createDeliveryStore({
      database,
      newLeaseId: randomUUID,
      random: Math.random,
      leaseMs,
      machineNow,
    }),
    sender,
    traces,
    secrets,
    metrics: createAttemptMetrics(metrics),
    signal: deliverySignal,
    logger,
    now,
    machineNow,
    random: Math.random,
    maxInFlight: config.GATEHOUSE_WEBHOOK_MAX_IN_FLIGHT,
    deadlineMs: attemptMs,
  },
  stop,
);
const work = [
  ingestEvents(
    {
      database,
      writer,
      consumer: bus.eventConsumer({ name: 'webhooks', ackWaitMs }),
      traces,
      leases: dispatcher.leases,
      orders,
      onDeliveries: announceDeliveries,
      logger,
      now,
    },
    stop,
  ),
  dispatcher.done,
  runRedeliveries(
    {
      database,
      signal: redeliverySignal,
      onDue: announceDeliveries,
      logger,
      idleMs: redeliveryIdleMs,
    },
    stop,
  ),
  repeatTask('reconciling events and deliveries', reconcileIntervalMs, reconcile),
  repeatTask('deleting old deliveries', forgetIntervalMs, (ended) =>
    forgetOldDeliveries({ database, retentionDays, logger, now, machineNow }, ended),
  ),
  repeatTask('erasing personal data from deliveries', eraseIntervalMs, (ended) =>
    eraseDeliveries({ database, personalData, logger }, ended),
  ),
  repeatTask("adjusting to the database's clock", clockIntervalMs, clock.adjust),
  repeatTask(
    'sending audit entries to core',
    auditIntervalMs,
    createSendAuditEntries({ database, audit, logger }),
  ),
  repeatTask('correcting times of a wrong clock', correctTimesIntervalMs, correctFutureTimes),
  repeatTask('promoting signing secrets', promoteIntervalMs, secrets.promoteDue),
  repeatTask('encrypting signing secrets with the first key', resealIntervalMs, async () =>
    logResealed(logger, await secrets.reseal()),
  ),
  // Last, because these two can take long or begin with a wait.
  repeatTask('creating large indexes', indexIntervalMs, createIndexTask(database)),
  repeatTask('abandoning deliveries of deleted webhook endpoints', 0, async (ended) => {
    await deletionSignal.wait(deletionIdleMs, ended);
    await abandonDeleted({ pool: database.pool, logger }, ended);
  }),
];

logger.info(servers.addresses, 'ready');

stopOnSignal(logger, [
  {
    name: 'drain',
    stop: () => {
      draining.abort();
      stopping.abort();
    },
    timeoutMs: 100,
  },
  {
    name: 'servers and work',
    stop: async () => {
      await Promise.all([servers.stop(4_000), ...work]);
    },
    timeoutMs: 6_000,
  },
  { name: 'connections to merchants', stop: () => sender.close(), timeoutMs: 500 },
  { name: 'broker', stop: () => bus.close(), timeoutMs: 500 },
  { name: 'certificates', stop: () => tls?.stop(), timeoutMs: 100 },
  { name: 'database', stop: () => database.close(), timeoutMs: 1_000 },
  { name: 'connections to core', stop: () => transport.close(), timeoutMs: 100 },
  tracingPart,
]);
