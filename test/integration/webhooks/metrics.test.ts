import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';

let stack: Stack;

beforeAll(async () => {
  stack = await startStack({ facades: 0, webhooks: 1 });
}, 60_000);
afterAll(() => stack.stop());

const metricsOf = async (address: unknown): Promise<string> => {
  const answer = await fetch(`http://${String(address)}/metrics`);
  expect(answer.status).toBe(200);
  return answer.text();
};

test('webhooks shows the pipeline, attempts by result and what Node says of itself, to whoever asks', async () => {
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
    'gatehouse_webhook_gaps_lately 0',
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
