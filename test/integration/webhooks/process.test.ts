import { Code, createClient } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { WebhookService } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  Health,
} from '../../../src/gen/health/v1/health_pb.js';
import { createMetrics } from '../../../src/platform/metrics.ts';
import { addPipelineMetrics, addReconcilerMetrics } from '../../../src/webhooks/health/webhook-metrics.ts';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { registration } from '../../support/order-requests.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { bufCurl } from '../core/rpc-clients.ts';
import { startReceiver } from './receivers.ts';
import { quietStatus } from './webhook-desk.ts';
import { sharedConnection, sharedStack } from '../../support/shared-stack.ts';

const stack = sharedStack({ facades: 0, webhooks: 1 });
const database = sharedConnection(() => stack.databaseUrl);

const metricsOf = async (address: unknown): Promise<string> => {
  const answer = await fetch(`http://${String(address)}/metrics`);
  expect(answer.status).toBe(200);
  return answer.text();
};

test('core shows how far the broker is behind the database', async () => {
  const page = await metricsOf(stack.cores[0]?.ready['connect']);
  expect(page.split('\n')).toContain('gatehouse_events_not_relayed 0');
  expect(page.split('\n')).toContain('gatehouse_events_relay_lag_seconds 0');
});

test('attempts are counted and timed for callers without authentication, and no metric identifies a merchant', async () => {
  const receiver = await startReceiver();
  const { id: merchantId } = await stack.createMerchant({ signsWebhooks: true });
  await stack
    .client(OrderService, 'writer')
    .registerOrder(registration({ merchantId, orderNumber: 'C-1', webhookUrl: receiver.origin }));
  await database.query('update core.orders set expires_at = now(), sweep_at = now()');

  const page = await waitUntil('the delivery is counted', async () => {
    const text = await metricsOf(stack.webhooks[0]?.ready['connect']);
    return text.includes('attempts_total{environment="sandbox",result="delivered"} 1') ? text : undefined;
  });

  await receiver.close();
  const lines = page.split('\n');
  expect(lines).toContain('gatehouse_webhook_attempt_duration_seconds_count{environment="sandbox"} 1');
  expect(lines).toContain('gatehouse_webhook_commit_to_delivery_seconds_count{environment="sandbox"} 1');
  expect(page).not.toContain('mer_');
  expect(page).not.toContain(receiver.origin);
});

test('the status of the pipeline is shown, and abandoned tests of merchants alarm no operator', async () => {
  const metrics = createMetrics({ logger: pino({ level: 'silent' }), nowMs: () => 0 });
  addPipelineMetrics(
    metrics,
    () => Promise.resolve(quietStatus),
    () => new Date(),
  );

  const lines = (await metrics.page()).body.split('\n');

  for (const line of [
    'gatehouse_webhook_deliveries_due 4',
    'gatehouse_webhook_oldest_due_seconds 0',
    'gatehouse_webhook_deliveries_pending 5',
    'gatehouse_webhook_endpoints{state="resting"} 6',
    'gatehouse_webhook_endpoints{state="paused"} 7',
    'gatehouse_webhook_deliveries_abandoned_24h 5',
    'gatehouse_webhook_deliveries_given_up_lately 5',
    'gatehouse_webhook_secrets_with_old_key 9',
    'gatehouse_webhook_gaps_24h 1',
  ])
    expect(lines).toContain(line);
});

test('the age of the reconciliation grows while a lock of the database keeps its time from being read', async () => {
  const startedAtMs = Date.parse('2026-11-22T12:00:00Z');
  let seconds = 0;
  const times = [undefined, new Date(startedAtMs + 40_000)].map((at) => Promise.resolve(at));
  const metrics = createMetrics({ logger: pino({ level: 'silent' }), nowMs: () => seconds * 1000 });
  addReconcilerMetrics(
    metrics,
    () => times.shift() ?? new Promise(() => undefined),
    () => new Date(startedAtMs + seconds * 1000),
  );
  const ageAfter = async (elapsed: number) => {
    seconds = elapsed;
    return /^gatehouse_webhook_reconciled_seconds_ago (.*)$/m.exec((await metrics.page()).body)?.[1];
  };

  expect(await ageAfter(30)).toBe('30');
  expect(await ageAfter(60)).toBe('20');
  expect(await ageAfter(3_700)).toBe('3660');
});

test('its listeners serve health, reflection and WebhookService to those whose token allows it, over gRPC and Connect', async () => {
  const { ready } = stack.webhooks[0] ?? {};
  const transport = createGrpcTransport({ addresses: [String(ready?.['grpc'])], token: '' });

  const health = await createClient(Health, transport).check({ service: WebhookService.typeName });
  const post = (request: RequestInit) =>
    fetch(`http://${String(ready?.['connect'])}/${WebhookService.typeName}/GetPipelineStatus`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${stack.tokens.reader}` },
      ...request,
    });
  const overConnect = await post({ body: '{}' });
  const refused = ['', `Bearer ${stack.tokens.facade}`].map(async (authorization) => {
    const { status } = await post({
      body: '{}',
      headers: { 'content-type': 'application/json', authorization },
    });
    return status;
  });
  const tooLarge = await post({ body: new Blob(['x'.repeat(8 * 1024 * 1024)]).stream(), duplex: 'half' });
  const described = await Promise.all(
    [ready?.['grpc'], ready?.['connect']].map((address) =>
      bufCurl([
        ...['--http2-prior-knowledge', '--protocol', 'grpc', '--reflect-header', '*'],
        ...['-H', `authorization: Bearer ${stack.tokens.reader}`],
        `http://${String(address)}/${WebhookService.typeName}/GetPipelineStatus`,
      ]),
    ),
  );

  expect(health.status).toBe(ServingStatus.SERVING);
  expect(tooLarge.headers.get('connection')).toBe('close');
  expect(await tooLarge.json()).toMatchObject({ code: 'resource_exhausted' });
  expect(described.map(({ exitCode, stderr }) => ({ exitCode, stderr }))).toEqual(
    Array.from({ length: 2 }, () => ({ exitCode: 0, stderr: '' })),
  );
  await expect(createClient(WebhookService, transport).getPipelineStatus({})).rejects.toMatchObject({
    code: Code.Unauthenticated,
  });
  expect(overConnect.status).toBe(200);
  expect(await Promise.all(refused)).toEqual([401, 403]);
  transport.close();
});
