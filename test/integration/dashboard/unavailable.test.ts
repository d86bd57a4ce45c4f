import { request as httpRequest } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { headingOf } from '../../support/customer.ts';
import { queryOnce } from '../../support/database-connections.ts';
import { formTokenOf } from '../../support/dashboard-visitor.ts';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import { registration } from '../../support/order-requests.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sessionsRead, sharedDashboardDesk } from './dashboard-desk.ts';

const missing = 'This part is unavailable at the moment';

const stack = sharedStack({ facades: 0, dashboards: 1 });
const desk = sharedDashboardDesk(stack);

describe('without a process that sends webhooks', () => {
  test('pages say which part is missing, and show everything else', async () => {
    const { merchant, visitor, at } = await desk.atNewMerchant();

    const webhooks = await visitor.get(at('webhooks'));
    const keys = await visitor.get(at('keys'));
    const { order } = await stack
      .client(OrderService, 'writer')
      .registerOrder(registration({ merchantId: merchant.id }));
    const story = await visitor.get(at(`orders/${order?.orderId ?? ''}`));
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
    const { visitor, at } = await desk.atNewMerchant();

    const answer = await visitor.post(at('webhooks/test'), { url: 'http://127.0.0.1:9/' });

    expect([answer.status, headingOf(answer)]).toEqual([503, 'We cannot reach our systems at the moment']);
    expect(answer.body).toContain(String(answer.headers.get('x-request-id')));
    expect(answer.body).not.toContain('Try again');
  });
});

test('data that cannot be read is a failure on our side, and its part is missing from its page', async () => {
  const { visitor, at } = await desk.atNewMerchant();
  await queryOnce(stack.databaseUrl, 'alter table core.refunds rename to other_refunds');

  const page = await visitor.get(at('refunds'));
  const refund = await visitor.get(at('refunds/rfd_01m8268v5zfk8r6q4x2w9n3t7c'));
  await queryOnce(stack.databaseUrl, 'alter table core.other_refunds rename to refunds');

  expect([page.status, page.body.includes(missing)]).toEqual([200, true]);
  expect([refund.status, headingOf(refund)]).toEqual([500, 'Something went wrong on our side']);
  expect(page.body).toContain(String(page.headers.get('x-request-id')));
});

/** Sends a form whose body never arrives. */
function sendNoBody({ cookies }: DashboardVisitor) {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = { cookie, 'content-type': 'application/x-www-form-urlencoded', 'content-length': 10 };
  const url = `${stack.dashboards[0]?.origin ?? ''}/account/profile`;
  const form = httpRequest(url, { method: 'POST', agent: false, headers });
  form.on('error', () => {}).flushHeaders();
  return form;
}

test('a form that waited for its turn is refused when its session has ended meanwhile', async () => {
  const { user, visitor } = await desk.atNewMerchant();
  const token = formTokenOf(await visitor.get('/account'));
  const before = await sessionsRead(stack);
  // Their bodies never arrive, so they keep all turns.
  const slow = Array.from({ length: 6 }, () => sendNoBody(visitor));
  await waitUntil('they have all turns', async () => (await sessionsRead(stack)) >= before + 6);
  const waiting = visitor.post('/account/profile', { _csrf: token, name: 'Another Name', language: 'en' });
  await waitUntil('the form waits', async () => (await sessionsRead(stack)) >= before + 7);
  await desk.end(visitor);
  for (const form of slow) form.destroy();

  await waiting;
  const again = await desk.signedIn(user);
  expect((await again.get('/account')).body).not.toContain('Another Name');
});

test('one user cannot use up the dashboard, and has it again when the flood is over', async () => {
  const { visitor: user } = await desk.atNewMerchant();
  const { visitor: other } = await desk.atNewMerchant();
  const statuses: (number | undefined)[] = [];
  const send = () =>
    sendNoBody(user).on('response', (response) => statuses.push(response.resume().statusCode));
  // Six are read at a time, and 60 wait. On a slow machine some end at their time limit, and others take their places.
  const flood: ReturnType<typeof send>[] = [];
  await waitUntil('one is refused', () => {
    for (let more = flood.length === 0 ? 67 : 5; more > 0; more -= 1) flood.push(send());
    return statuses.includes(503);
  });
  const pageOfOther = await other.get('/account');
  for (const form of flood) form.destroy();
  const page = await waitUntil('the user has pages again', async () => {
    const answer = await user.get('/account');
    return answer.status === 200 && answer;
  });

  expect(pageOfOther.status).toBe(200);
  expect(page.body).toContain('/account/profile');
});

// The last test, because core does not start again.
test('without core every page reports that, in the language of its reader', async () => {
  const { visitor, at } = await desk.atNewMerchant();
  await Promise.all(stack.cores.map((core) => core.stop()));

  const page = await visitor.get(at('keys?lang=am'));
  const ready = await visitor.get('/readyz');
  const alive = await visitor.get('/healthz');

  expect([page.status, headingOf(page)]).toEqual([503, 'ሥርዓታችንን ለጊዜው ማግኘት አልቻልንም']);
  expect(page.body).toContain(`href="${at('keys?lang=am')}">እንደገና ይሞክሩ</a>`);
  expect([ready.status, alive.status]).toEqual([503, 200]);
});
