import { describe, expect, test } from '@jest/globals';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { headingOf } from '../../support/customer.ts';
import { registration } from '../../support/order-requests.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { sharedDashboardDesk } from './dashboard-desk.ts';

const missing = 'This part is unavailable at the moment';

const stack = sharedStack({ facades: 0, dashboards: 1 });
const desk = sharedDashboardDesk(stack);

describe('without a process that sends webhooks', () => {
  test('pages say which part is missing, and show everything else', async () => {
    const merchant = await stack.createMerchant();
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));

    const webhooks = await visitor.get(`/m/${merchant.id}/sandbox/webhooks`);
    const keys = await visitor.get(`/m/${merchant.id}/sandbox/keys`);
    const { order } = await stack
      .client(OrderService, 'writer')
      .registerOrder(registration({ merchantId: merchant.id }));
    const story = await visitor.get(`/m/${merchant.id}/sandbox/orders/${order?.orderId ?? ''}`);
    const ready = await visitor.get('/readyz');

    expect(story.body).toContain('Webhook deliveries are unavailable at the moment.');
    expect(story.body).toContain('story-event');
    expect(webhooks.status).toBe(200);
    expect(webhooks.body.split(missing)).toHaveLength(3);
    expect(webhooks.body).toContain('Send a test');
    expect([keys.status, keys.body.includes(missing)]).toEqual([200, false]);
    expect(ready.status).toBe(200);
  });

  test('a failed change is reported, with the id of the request', async () => {
    const merchant = await stack.createMerchant();
    const visitor = await desk.signedIn(await desk.users.member(merchant.id));

    const answer = await visitor.post(`/m/${merchant.id}/sandbox/webhooks/test`, {
      url: 'http://127.0.0.1:9/',
    });

    expect([answer.status, headingOf(answer)]).toEqual([503, 'We cannot reach our systems at the moment']);
    expect(answer.body).toContain(String(answer.headers.get('x-request-id')));
  });
});

test('without core every page reports that, in the language of its reader', async () => {
  const merchant = await stack.createMerchant();
  const visitor = await desk.signedIn(await desk.users.member(merchant.id));
  await Promise.all(stack.cores.map((core) => core.stop()));

  const page = await visitor.get(`/m/${merchant.id}/sandbox/keys?lang=am`);
  const ready = await visitor.get('/readyz');
  const alive = await visitor.get('/healthz');

  expect([page.status, headingOf(page)]).toEqual([503, 'ሥርዓታችንን ለጊዜው ማግኘት አልቻልንም']);
  expect([ready.status, alive.status]).toEqual([503, 200]);
});
