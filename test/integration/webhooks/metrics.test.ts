import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createMetrics } from '../../../src/platform/metrics.ts';
import { addPipelineMetrics } from '../../../src/webhooks/health/webhook-metrics.ts';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { registration } from '../../support/order-requests.ts';
import { waitUntil } from '../../support/wait-until.ts';
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

test('webhooks shows metrics of the pipeline, of attempts by result and of Node, without authentication', async () => {
  const page = await waitUntil('the broker is reached', async () => {
    const text = await metricsOf(stack.webhooks[0]?.ready['connect']);
    return text.includes('gatehouse_broker_connected 1') ? text : undefined;
  });
  for (const line of [
    'gatehouse_webhook_deliveries_due 0',
    'gatehouse_webhook_oldest_due_seconds 0',
    'gatehouse_webhook_deliveries_pending 0',
    'gatehouse_webhook_endpoints{state="resting"} 0',
    'gatehouse_webhook_secrets_with_old_key 0',
    'gatehouse_webhook_gaps_24h 0',
    'gatehouse_webhook_attempts_total{environment="sandbox",result="delivered"} 0',
    'gatehouse_metrics_readings_failed_total{reading="webhook pipeline"} 0',
  ])
    expect(page.split('\n')).toContain(line);
  expect(page).toMatch(/^process_resident_memory_bytes [0-9]+$/m);
});

test('core shows how far the broker is behind the database', async () => {
  const page = await metricsOf(stack.cores[0]?.ready['connect']);
  expect(page.split('\n')).toContain('gatehouse_events_not_relayed 0');
  expect(page.split('\n')).toContain('gatehouse_events_relay_lag_seconds 0');
});

test('attempts are counted and timed, and no metric identifies a merchant', async () => {
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

test('tests of merchants that were abandoned alarm no operator', async () => {
  const metrics = createMetrics({ logger: pino({ level: 'silent' }), nowMs: () => 0 });
  addPipelineMetrics(
    metrics,
    () => Promise.resolve(quietStatus),
    () => new Date(),
  );

  const { body } = await metrics.page();

  expect(body).toContain('\ngatehouse_webhook_deliveries_abandoned_24h 5\n');
  expect(body).toContain('\ngatehouse_webhook_deliveries_given_up_lately 5\n');
});
