import { beforeAll, expect, test } from '@jest/globals';
import { AuditService } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import { PersonalDataService } from '../../../src/gen/gatehouse/v1/personal_data_service_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { hiddenField } from '../../support/dashboard-visitor.ts';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import { registration } from '../../support/order-requests.ts';
import { sharedClient, sharedConnection, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openDashboardDesk } from './dashboard-desk.ts';

const path = '/operator/personal-data';
const stack = sharedStack({ facades: 0, dashboards: 1 });
const personalData = sharedClient(stack, PersonalDataService, 'operator');
const orders = sharedClient(stack, OrderService, 'writer');
const audit = sharedClient(stack, AuditService, 'operator');
const superuser = sharedConnection(() => stack.databaseUrl);

let operator: DashboardVisitor;
let email: string;
beforeAll(async () => {
  const desk = openDashboardDesk(stack);
  const user = await desk.users.operator();
  ({ email } = user);
  operator = await desk.signedIn(user);
});

let phones = 0;
const newPhone = (): string => `09500${String((phones += 1)).padStart(5, '0')}`;

async function registerFor(phone: string): Promise<string> {
  const { id: merchantId } = await stack.createMerchant();
  await orders.registerOrder(registration({ merchantId, orderNumber: 'A-1', customerPhone: phone }));
  return merchantId;
}

const requestsFor = async (phone: string) =>
  (await personalData.listErasureRequests({ phone })).erasureRequests;

test('a confirmed erasure that is sent twice is requested once', async () => {
  const phone = newPhone();
  await registerFor(phone);
  const typed = { erased_phone: phone, erased_merchant_id: '' };
  const form_id = hiddenField(await operator.post(`${path}/check`, typed), 'form_id') ?? '';

  const send = () => operator.post(path, { ...typed, form_id });
  const statuses = (await Promise.all([send(), send()])).map(({ status }) => status);

  expect(statuses.sort()).toEqual([303, 409]);
  expect(await requestsFor(phone)).toHaveLength(1);
});

test('an operator sees what an erasure concerns, confirms it, and sees what is not erased yet', async () => {
  const phone = newPhone();
  await registerFor(phone);
  await registerFor(phone);

  const typed = { erased_phone: phone.replace(/(?=..$)/, ' '), erased_merchant_id: '' };
  const checked = await operator.post(`${path}/check`, typed);
  const before = await requestsFor(phone);
  const erased = await operator.post(path, typed);
  const page = await operator.get(path);
  const tried = await waitUntil('core has tried the orders', async () => {
    const { body } = await operator.get(path);
    return body.includes('Erased when the order has ended') && body;
  });

  expect(checked.status).toBe(200);
  expect(checked.body).toContain('An erasure cannot be undone');
  expect(checked.body).toMatch(/<dt>Orders<\/dt><dd><bdi>2</);
  expect(before).toEqual([]);
  expect([erased.status, erased.headers.get('location')]).toEqual([303, path]);
  expect(page.body).toContain('It concerns 2 orders and 0 payments without an order.');
  expect(tried).toContain(email);
  expect(tried).not.toContain('usr_');
  expect(tried).not.toContain(phone);
  const [request] = await requestsFor(phone);
  expect(request).toMatchObject({ orderCount: 2n, merchantId: '', requestedByEmail: email });
  const { entries } = await audit.listAuditEntries({ actionKind: 'personal_data' });
  expect(entries).toContainEqual(
    expect.objectContaining({ targetId: request?.erasureRequestId, actorEmail: email }),
  );
});

test('an erasure for one merchant names the merchant', async () => {
  const phone = newPhone();
  const merchantId = await registerFor(phone);
  await registerFor(phone);
  const fields = { erased_phone: phone, erased_merchant_id: merchantId };

  const checked = await operator.post(`${path}/check`, fields);
  await operator.post(path, fields);

  expect(checked.body).toMatch(/<dt>Orders<\/dt><dd><bdi>1</);
  expect(checked.body).toMatch(/<dt>Merchant<\/dt><dd><bdi>Test Shop</);
  expect(await requestsFor(phone)).toMatchObject([{ orderCount: 1n, merchantId }]);
});

test.each([
  ['no number', { erased_phone: '' }, 'Fill in this field.'],
  ['a text that is not a number', { erased_phone: '12' }, 'Enter an Ethiopian mobile number'],
  [
    'a text that is not a merchant id',
    { erased_phone: '0950099999', erased_merchant_id: 'shop' },
    'Enter an id that begins with mer_',
  ],
  [
    'a merchant that does not exist',
    { erased_phone: '0950099999', erased_merchant_id: `mer_${'0'.repeat(26)}` },
    'No merchant has this id.',
  ],
])('%s is refused at the field, and nothing is recorded', async (_name, fields, message) => {
  for (const address of [`${path}/check`, path]) {
    const answer = await operator.post(address, fields);

    expect(answer.status).toBe(400);
    expect(answer.body).toContain(message);
  }
  expect(await requestsFor('0950099999')).toEqual([]);
});

test('the button that leads back keeps the phone number', async () => {
  const { body } = await operator.post(`${path}/check`, { erased_phone: '0950088888', edit: 'yes' });

  expect(body).toContain('value="0950088888"');
});

test('the phone number is not stored with the session while the operator confirms the identity', async () => {
  const desk = openDashboardDesk(stack);
  const user = await desk.users.operator();
  const visitor = await desk.signedIn(user);
  await desk.age(visitor, 11 * 60_000);

  const answer = await visitor.post(path, { erased_phone: '0950077777' });

  expect(answer.headers.get('location')).toMatch(/^\/confirm/);
  const { rows } = await superuser.query<{ data: Buffer }>('select data from core.dashboard_sessions');
  const sessions = rows.map(({ data }) => data.toString()).join();
  expect(sessions).toContain(path);
  expect(sessions).not.toContain('950077777');
  expect(await requestsFor('0950077777')).toEqual([]);
});

test('core refuses a dashboard that names no operator', async () => {
  const dashboard = stack.client(PersonalDataService, 'dashboard');

  await expect(dashboard.erasePersonalData({ phone: '0950066666' })).rejects.toThrow('only an operator');
  expect(await requestsFor('0950066666')).toEqual([]);
});
