import { beforeAll, expect, test } from '@jest/globals';
import { ApiKeyService } from '../../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { PersonalDataService } from '../../../src/gen/gatehouse/v1/personal_data_service_pb.js';
import { queryOnce } from '../../support/database-connections.ts';
import { directPayment, orderNamed, registration } from '../../support/order-requests.ts';
import { failureOf } from '../../support/rpc-failure.ts';
import type { TestMerchant } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { plainGrpcClient } from './rpc-clients.ts';
import { sharedStack, sharedClient } from '../../support/shared-stack.ts';

// The log lines of a core's calls, and what they must never contain.

/** A phone has one payment to confirm at a time, and may have any number of them one after the other. */
const anyNumberOfPrompts = { GATEHOUSE_PHONE_PROMPTS_PER_10_MINUTES: '1000000' };

let merchant: TestMerchant;

const stack = sharedStack({ facades: 0, settings: { GATEHOUSE_LOG_LEVEL: 'debug', ...anyNumberOfPrompts } });
const orders = sharedClient(stack, OrderService, 'facade');
const apiKeys = sharedClient(stack, ApiKeyService, 'facade');
beforeAll(async () => {
  merchant = await stack.createMerchant();
});

const linesOf = (requestId: string) =>
  stack.cores[0]!.log.filter(({ request_id }) => request_id === requestId);
const lineOf = async (requestId: string) => {
  await waitUntil(`${requestId} is in the log`, () => linesOf(requestId).length > 0);
  return linesOf(requestId);
};
const as = (requestId: string) => ({ headers: { 'x-request-id': requestId } });

test('each call is logged in one line with the fields that an operator searches by', async () => {
  const { order } = await orders.registerOrder(
    registration({ merchantId: merchant.id, orderNumber: 'W-1' }),
    as('wide-1'),
  );
  expect(await lineOf('wide-1')).toEqual([
    {
      level: 'info',
      time: expect.any(String),
      process: 'core',
      instance: 'core',
      msg: 'rpc',
      request_id: 'wide-1',
      rpc: 'OrderService/RegisterOrder',
      protocol: 'grpc',
      role: 'facade',
      code: 'ok',
      duration_ms: expect.any(Number),
      merchant_id: merchant.id,
      order_id: order?.orderId,
      repeated: false,
    },
  ]);
});

test('the line of a batch has the number of its items and of the failed ones', async () => {
  const good = registration({ merchantId: merchant.id, orderNumber: 'W-2' });
  await orders.batchRegisterOrders(
    { requests: [good, { ...good, amount: '0' }, { ...good, orderNumber: '' }] },
    as('wide-2'),
  );
  expect(await lineOf('wide-2')).toEqual([
    expect.objectContaining({ code: 'ok', items: 3, failed_items: 2 }),
  ]);
});

test('the line and the metric of a batch in which an item fails unexpectedly are those of a failed call', async () => {
  const refuse = "add constraint none_of_these check (order_number <> 'W-unexpected')";
  await queryOnce(stack.databaseUrl, `alter table core.orders ${refuse}`);
  const good = registration({ merchantId: merchant.id, orderNumber: 'W-4' });

  const { results } = await orders.batchRegisterOrders(
    { requests: [good, { ...good, orderNumber: 'W-unexpected' }] },
    as('wide-4'),
  );

  expect(results.map(({ result }) => result.case)).toEqual(['response', 'error']);
  expect(await lineOf('wide-4')).toEqual([
    expect.objectContaining({
      ...{ level: 'error', code: 'internal', reason: 'INTERNAL', items: 2, failed_items: 1 },
      err: expect.objectContaining({ stack: expect.stringContaining('none_of_these') }),
    }),
  ]);
});

test('the line of a refused call has the reason', async () => {
  await failureOf(orders.listOrders({ merchantId: merchant.id }, as('wide-3')));
  expect(await lineOf('wide-3')).toEqual([
    expect.objectContaining({ code: 'permission_denied', reason: 'ROLE_NOT_ALLOWED', role: 'facade' }),
  ]);
});

test('a poll that finds nothing is logged at level debug', async () => {
  const personalData = stack.client(PersonalDataService, 'webhooks');
  await personalData.listErasedOrders({}, as('poll-1'));
  expect(await lineOf('poll-1')).toEqual([
    expect.objectContaining({ level: 'debug', rpc: 'PersonalDataService/ListErasedOrders' }),
  ]);
});

// unit/platform/mask-sensitive.test.ts has every form of a phone, and e2e/log-canaries.test.ts every field.
test('no line has phones, keys, tokens or checkout URLs, whether calls succeed or fail', async () => {
  const digits = '911777881';
  const phone = `0${digits}`;
  const registered = registration({ merchantId: merchant.id, orderNumber: 'P-1', customerPhone: phone });
  const paid = directPayment({ merchantId: merchant.id, orderNumber: 'Q-1', phone });
  const { checkoutUrl } = await orders.registerOrder(registered);
  await orders.startDirectPayment(paid);
  await failureOf(orders.startDirectPayment({ ...paid, orderNumber: 'P-1' }));
  // Repeated, contradicting, wrong in other fields, and wrong in the phone itself.
  await orders.startDirectPayment(paid);
  await failureOf(orders.registerOrder({ ...registered, amount: '999' }));
  await failureOf(orders.registerOrder({ ...registered, amount: 'none', returnUrl: phone, reason: '' }));
  await failureOf(orders.startDirectPayment({ ...paid, phone: `tel:${phone}` }));
  await orders.batchRegisterOrders({
    requests: [registered, { ...registered, customerPhone: `${phone}x` }],
  });
  await apiKeys.authenticateApiKey({ apiKey: merchant.testKey, environment: Environment.SANDBOX });
  for (const apiKey of [`${merchant.testKey}x`, merchant.liveKey])
    await failureOf(apiKeys.authenticateApiKey({ apiKey, environment: Environment.SANDBOX }));
  const wrongToken = 'canary-token-0123456789abcdef';
  const stranger = plainGrpcClient(stack.addresses[0]!, wrongToken);
  await stranger.call('gatehouse.v1.OrderService', 'GetOrder', {});
  stranger.close();
  await failureOf(orders.getOrder(orderNamed(merchant.id, phone), as('the-last')));
  await lineOf('the-last');

  const text = JSON.stringify(stack.cores[0]!.log);
  const secrets = [
    ...[digits, wrongToken, checkoutUrl.split('/').at(-1)!, merchant.testKey, merchant.liveKey],
    ...Object.values(stack.tokens),
    stack.coreSettings['GATEHOUSE_MASTER_KEY']!,
  ];
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
});

test.each([
  ['core.payment_attempts', '91155544'],
  ['core.orders', '91155566'],
])('no line has a phone when the database refuses a statement on %s', async (table, digits) => {
  const number = `R-${table}`;
  await orders.registerOrder(registration({ merchantId: merchant.id, orderNumber: number }));
  const alterTable = (change: string) => queryOnce(stack.databaseUrl, `alter table ${table} ${change}`);
  await alterTable('add constraint refuse_all check (false) not valid');
  const pay = (name: string, orderNumber: string, phone: string) =>
    failureOf(
      orders.startDirectPayment(directPayment({ merchantId: merchant.id, orderNumber, phone }), as(name)),
    );
  const names = [`on-an-order-${table}`, `on-its-own-${table}`];
  const failures = await Promise.all([
    pay(names[0]!, number, `0${digits}1`),
    pay(names[1]!, `${number}-2`, `0${digits}2`),
  ]);
  await alterTable('drop constraint refuse_all');
  expect(failures.map(({ reason }) => reason)).toEqual(['INTERNAL', 'INTERNAL']);
  const lines = (await Promise.all(names.map(lineOf))).flat();
  expect(lines).toEqual([
    expect.objectContaining({ level: 'error', reason: 'INTERNAL', err: expect.anything() }),
    expect.objectContaining({ level: 'error', reason: 'INTERNAL', err: expect.anything() }),
  ]);
  expect(JSON.stringify(lines)).toContain('refuse_all');
  expect(JSON.stringify(stack.cores[0]!.log)).not.toContain(digits);
});
