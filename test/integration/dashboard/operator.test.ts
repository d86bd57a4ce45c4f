import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { openDashboardDesk } from './dashboard-desk.ts';

let stack: Stack;
let operator: DashboardVisitor;
let email: string;

beforeAll(async () => {
  stack = await startStack({ facades: 0, dashboards: 1, webhooks: 1 });
  const desk = openDashboardDesk(stack);
  const user = await desk.users.operator();
  ({ email } = user);
  operator = await desk.signedIn(user);
});

afterAll(() => stack.stop());

test('a comparison is shown with the address of whoever started it', async () => {
  const fields = { environment: 'sandbox', wallet: 'walleta', date: '2026-01-31' };

  const started = await operator.post('/operator/reconciliations', fields);
  const one = await operator.get(started.headers.get('location') ?? '');
  const all = await operator.get('/operator/reconciliations');

  for (const page of [one, all]) {
    expect(page.body).toContain(email);
    expect(page.body).not.toContain('usr_');
  }
});

describe('endpoints in trouble', () => {
  const path = '/operator/endpoints';
  const pausedEndpoint = async (merchantId: string, endpoint: string, reason: string): Promise<void> => {
    const webhooks = stack.webhookClient('operator');
    const environment = Environment.SANDBOX;
    await webhooks.sendTestEvent({ merchantId, environment, url: `${endpoint}/hook` });
    await webhooks.pauseEndpoint({ merchantId, environment, endpoint, reason });
  };
  const endpointsIn = (body: string): string[] =>
    [...body.matchAll(/<bdi>(https:\/\/shop-\d+\.example)<\/bdi>/g)].map(([, endpoint = '']) => endpoint);

  test('are listed with whose they are and why, and lead to that merchant’s webhooks', async () => {
    const merchant = await stack.createMerchant();
    await pausedEndpoint(merchant.id, 'https://shop-0.example', '<b>moving</b> house');

    const page = await operator.get(path);
    const production = await operator.get(`${path}?environment=production`);

    const link = `/m/${merchant.id}/sandbox/webhooks?endpoint=https%3A%2F%2Fshop-0.example`;
    expect(page.body).toContain(`href="${link}"`);
    expect(page.body).toContain('&lt;b&gt;moving&lt;/b&gt; house');
    expect((await operator.get(link)).status).toBe(200);
    expect(endpointsIn(production.body)).toEqual([]);
  });

  test('are each on one of the pages', async () => {
    const merchant = await stack.createMerchant();
    const all = Array.from({ length: 52 }, (_, index) => `https://shop-${100 + index}.example`);
    await Promise.all(all.map((endpoint) => pausedEndpoint(merchant.id, endpoint, 'down')));

    const first = await operator.get(path);
    const next = /href="(\/operator\/endpoints\?[^"]*page=[^"]*)"/.exec(first.body)?.[1] ?? '';
    const second = await operator.get(next.replaceAll('&amp;', '&'));

    const seen = [...endpointsIn(first.body), ...endpointsIn(second.body)];
    expect(endpointsIn(first.body)).toHaveLength(50);
    expect(seen.filter((endpoint) => all.includes(endpoint)).sort()).toEqual(all);
  });
});
