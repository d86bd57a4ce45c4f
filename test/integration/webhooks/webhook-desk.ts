import { randomBytes } from 'node:crypto';
import { createClient } from '@connectrpc/connect';
import { v7 } from 'uuid';
import { MerchantService } from '../../../src/gen/gatehouse/v1/merchant_service_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { WebhookEndpointService } from '../../../src/gen/gatehouse/v1/webhook_endpoint_service_pb.js';
import { WebhookService } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { explainDatabaseError } from '../../../src/platform/database/explain-error.ts';
import { createFairCalls } from '../../../src/platform/fair-calls.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { startGrpcServer } from '../../../src/platform/rpc/grpc-server.ts';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { createGuard } from '../../../src/platform/rpc/guard.ts';
import { parseServiceTokens } from '../../../src/platform/rpc/service-tokens.ts';
import { roles } from '../../../src/contract/roles.ts';
import type { Role } from '../../../src/contract/roles.ts';
import { openDatabase } from '../../../src/webhooks/database/database.ts';
import type { PipelineStatus } from '../../../src/webhooks/health/pipeline-status.ts';
import { insertDeliveries } from '../../../src/webhooks/intake/insert-deliveries.sql.ts';
import type { NewDelivery } from '../../../src/webhooks/intake/insert-deliveries.sql.ts';
import { webhookEndpointService } from '../../../src/webhooks/rpc/webhook-endpoint-service.ts';
import { webhookService } from '../../../src/webhooks/rpc/webhook-service.ts';
import { createSigningSecrets } from '../../../src/webhooks/secrets/signing-secrets.ts';
import { shared } from '../../support/shared-stack.ts';
import { newDelivery } from './dispatch-desk.ts';
import type { Stack } from '../../support/stack.ts';

/** Eight deliveries were abandoned, and three of them were tests. */
export const quietStatus: PipelineStatus = {
  isIngesting: true,
  intakeAt: new Date('2026-11-21T00:00:00Z'),
  eventLag: 3,
  oldestEventAt: undefined,
  isBrokerConnected: true,
  dueCount: 4,
  oldestDueAt: undefined,
  pendingCount: 5,
  activeEndpoints: 1,
  restingEndpoints: 6,
  pausedEndpoints: 7,
  givenUpCount: 8,
  givenUpTestCount: 3,
  triedMs: { shortest: 40_000, longest: 273_600_000 },
  secretsWithOldKey: 9,
  awaitedSecretCount: 2,
  reconciledAt: undefined,
  unreconciledSince: undefined,
  repairedCount: 10,
  gaps: [
    {
      code: 'EVENTS_MISSING',
      merchantId: 'mer_1',
      orderId: 'ord_1',
      eventId: '',
      facts: { missingSequences: ['2'] },
      foundAt: new Date('2026-11-21T00:00:00Z'),
      detail: 'order ord_1 has no event 2',
    },
  ],
  gapCount: 1,
};

/** The RPCs of the webhooks process, served in this process beside a core of its own. Nothing is sent. */
export async function openWebhookDesk(
  stack: Stack,
  {
    coreAddresses = stack.addresses,
    keepAliveMs = 15_000,
    readStatus = () => Promise.resolve(quietStatus),
  } = {},
) {
  const logger = createLogger({ process: 'test', instance: 'webhooks', level: 'silent' });
  const database = await openDatabase({
    url: stack.databaseUrl,
    poolSize: 8,
    applicationName: 'test webhooks',
    logger,
  });
  await database.migrate();
  const core = createGrpcTransport({ addresses: coreAddresses, token: stack.tokens.webhooks });
  const now = (): Date => new Date();
  const keys = [{ name: 'k1', key: randomBytes(32) }] as const;
  const secrets = createSigningSecrets({
    database,
    keys,
    newId: newRandomId,
    randomBytes,
    now,
    machineNow: now,
    monotonicMs: () => performance.now(),
  });
  const rings = { due: 0, redelivery: 0, deleted: 0 };
  const draining = new AbortController();
  const merchants = createClient(MerchantService, core);
  const onDue = () => void (rings.due += 1);
  const fairly = createFairCalls({ maxRunning: 2, maxWaiting: 20 });
  const endpointService = webhookEndpointService({
    database,
    secrets,
    merchants,
    newId: newRandomId,
    now,
    fairly,
    onDue,
    onDeleted: () => void (rings.deleted += 1),
  });
  const service = webhookService({
    database,
    secrets,
    merchants,
    orders: createClient(OrderService, core),
    readStatus,
    newId: newRandomId,
    now,
    fairly,
    onDue,
    onRedelivery: () => void (rings.redelivery += 1),
    draining: draining.signal,
    keepAliveMs,
  });
  const tokens = parseServiceTokens(
    Object.entries(stack.tokens)
      .map(([role, token]) => `${role}:${token}`)
      .join(','),
    roles,
  );
  if (typeof tokens === 'string') throw new Error(tokens);
  const guard = createGuard({
    tokens,
    logger,
    newRequestId: v7,
    explain: explainDatabaseError,
    measure: () => {},
  });
  const services = [guard(service), guard(endpointService)];
  const grpc = await startGrpcServer({ host: '127.0.0.1', port: 0, services, logger });
  const transports = new Map<Role, ReturnType<typeof createGrpcTransport>>();
  const transportOf = (role: Role) => {
    const transport =
      transports.get(role) ?? createGrpcTransport({ addresses: [grpc.address], token: stack.tokens[role] });
    transports.set(role, transport);
    return transport;
  };
  return {
    database,
    secrets,
    grpcAddress: grpc.address,
    transportOf,
    client: (role: Role) => createClient(WebhookService, transportOf(role)),
    endpointClient: (role: Role) => createClient(WebhookEndpointService, transportOf(role)),
    /** The number of notifications about work. */
    rings,
    /** Begins to stop, as a process does. */
    drain: () => draining.abort(),
    /** Creates deliveries as the intake does, with ids of their own. */
    deliver: async (merchantId: string, own: Partial<NewDelivery> = {}, count = 1): Promise<string[]> => {
      const rows = Array.from({ length: count }, () =>
        newDelivery({ merchantId, url: 'https://shop.example/hook?token=t', sequence: 3n, ...own }),
      );
      await insertDeliveries(database.pool, rows);
      return rows.map(({ id }) => id);
    },
    close: async (): Promise<void> => {
      draining.abort();
      for (const transport of transports.values()) transport.close();
      await grpc.stop(1_000);
      core.close();
      await database.close();
    },
  };
}
export type WebhookDesk = Awaited<ReturnType<typeof openWebhookDesk>>;

/** A desk for all tests of a file, which closes after them. */
export const sharedWebhookDesk = (stack: Stack): WebhookDesk => shared(() => openWebhookDesk(stack));
