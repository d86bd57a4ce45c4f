import { beforeEach, expect, test } from '@jest/globals';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newRandomId, publicId } from '../../../src/contract/public-id.ts';
import { createReadOrderStory } from '../../../src/core/order-story/read-order-story.ts';
import {
  Environment,
  OrderEventType,
  OrderStatus,
  PaymentAttemptStatus,
} from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderFact } from '../../../src/gen/gatehouse/v1/order_explanation_pb.js';
import { OrderStoryService } from '../../../src/gen/gatehouse/v1/order_story_service_pb.js';
import { ApiEndpoint, RequestLogService } from '../../../src/gen/gatehouse/v1/request_log_service_pb.js';
import { StrayPaymentStatus } from '../../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { storedId } from '../../support/ids.ts';
import { failureOf, wrongFields } from '../../support/rpc-failure.ts';
import { outcomes, transactionOf, sharedPaymentDesk } from './payment-desk.ts';
import type { HostedOrder, Outcome, Payment } from './payment-desk.ts';
import { sharedStack, sharedCoreDatabase } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';

let merchantId: string;

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
const database = sharedCoreDatabase('order story', () => stack.databaseUrl, 1);
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});

const environment = Environment.SANDBOX;
const storyOf = (order: { readonly orderId: string }, role: 'reader' | 'dashboard' = 'reader', own = {}) =>
  stack
    .client(OrderStoryService, role)
    .getOrderStory({ merchantId, environment, orderId: order.orderId, ...own });

/** Pays at the checkout; the wallet answers with the outcome after exchanges with these URLs. */
async function pay(
  order: HostedOrder,
  outcome: Outcome,
  urls: readonly string[],
  body = '',
): Promise<Payment> {
  const payment = await desk.payHosted(order);
  const exchanges = urls.map((url) => ({ purpose: 'query', url, responseBody: body }));
  await desk.record(await desk.take(payment), outcome, exchanges);
  return payment;
}

const recordRequests = (orderNumbers: readonly string[]) =>
  stack.client(RequestLogService, 'facade').recordApiRequests({
    requests: orderNumbers.map((orderNumber) => ({
      ...{ merchantId, environment, orderNumber, apiKeyId: newRandomId('key', new Date()) },
      ...{ apiRequestId: newRandomId('req', new Date()), requestId: 'story-request' },
      ...{ endpoint: ApiEndpoint.REGISTER, method: 'POST', path: '/api/v1/register', status: 201 },
      ...{ requestBody: '{"amount":"100.50"}', createTime: timestampFromMs(Date.now()) },
    })),
  });

test('a story has the order, its events, attempts with exchanges, stray payments and API requests, and no others', async () => {
  const order = await desk.registerHosted({ merchantId, orderNumber: 'S-1' });
  const other = await desk.registerHosted({ merchantId, orderNumber: 'S-2' });
  const declined = await pay(order, outcomes.declined(), ['first-1', 'first-2']);
  const wrong = await pay(order, outcomes.completed('t-1', '99.00'), ['second-1']);
  await pay(other, outcomes.completed('t-2', '98.00'), ['other-1']);
  await recordRequests(['S-1', 'S-2', 'S-1']);

  const story = await storyOf(order);

  const { orderId } = order;
  expect(story.order).toMatchObject({ orderId, status: OrderStatus.PENDING, orderNumber: 'S-1' });
  expect(story.events.map(({ sequence, type }) => `${sequence} ${OrderEventType[type]}`)).toEqual(
    await desk.history(order),
  );
  const [latest, first] = story.paymentAttempts;
  expect(story.paymentAttempts).toHaveLength(2);
  expect(latest?.paymentAttempt).toMatchObject({
    ...{ paymentAttemptId: wrong.attemptId, declineReason: 'wrong_amount' },
    status: PaymentAttemptStatus.DECLINED,
  });
  for (const [each, payment] of [
    [latest, wrong],
    [first, declined],
  ] as const) {
    const { order: _order, $typeName: _name, ...alone } = await desk.story(payment);
    expect(each).toMatchObject(alone);
  }
  expect(first?.exchanges.map(({ url }) => url)).toEqual(['first-1', 'first-2']);
  expect(story.strayPayments).toMatchObject([
    {
      ...{ paymentAttemptId: wrong.attemptId, providerTransactionId: transactionOf(merchantId, 't-1') },
      ...{ amount: '99.00', status: StrayPaymentStatus.REVERSAL_DUE },
    },
  ]);
  const request = { orderNumber: 'S-1', requestBody: '' };
  expect(story.apiRequests).toMatchObject([request, request]);
  expect(story.incomplete).toBe(false);
});

test('an order with many stray payments waits for the oldest that is not returned', async () => {
  const order = await desk.registerHosted({ merchantId });
  await pay(order, outcomes.completed('t-1', '99.00'), []);
  const [{ strayPaymentId } = { strayPaymentId: '' }] = await desk.strays(merchantId);
  await desk.query(sql`insert into core.stray_payments
    select (jsonb_populate_record(s, jsonb_build_object(
      'id', newer.id, 'reversal_id', newer.id, 'provider_transaction_id', newer.id, 'due_at', null,
      'status', case n when 201 then 'REVERSAL_REFUSED' else 'REVERSED' end
    ))).* from core.stray_payments s, generate_series(1, 201) n,
      overlay(s.id::text placing lpad(to_hex(n), 8, 'f') from 1) newer (id)
    where s.id = ${storedId('stp', strayPaymentId)}`);

  const { explanation: explained } = await stack
    .client(OrderStoryService, 'reader')
    .explainOrder({ merchantId, environment, key: { case: 'orderId', value: order.orderId } });
  const { explanation, strayPayments } = await storyOf(order);

  const waits = { waitingFor: OrderFact.REQUEST_SENT, subjectId: strayPaymentId };
  expect([explained, explanation]).toMatchObject([waits, waits]);
  expect(strayPayments).toHaveLength(50);
});

test.each([
  ['its wallet was not reached', true, outcomes.notReached(), 'no connection'],
  ['its wallet answered', false, outcomes.pending(), ''],
])('an attempt in state SENT is, after %s, unsent: %s', async (_name, unsent, outcome, detail) => {
  const order = await desk.registerHosted({ merchantId });
  const payment = await desk.payHosted(order);
  const taken = await desk.take(payment);
  expect((await storyOf(order)).paymentAttempts).toMatchObject([{ unsent: false }]);

  await desk.record(taken, outcome);

  expect((await storyOf(order)).paymentAttempts).toMatchObject([
    { unsent, detail, paymentAttempt: { status: PaymentAttemptStatus.SENT } },
  ]);
});

test('the checkout URL is given to a role that may register orders, while the order can be paid', async () => {
  const order = await desk.registerHosted({ merchantId });
  const withUrl = { withCheckoutUrl: true };

  expect((await storyOf(order, 'dashboard')).checkoutUrl).toBe('');
  expect((await storyOf(order, 'dashboard', withUrl)).checkoutUrl).toContain(`/c/${order.token}`);
  const refused = { code: 'PermissionDenied', reason: 'ROLE_NOT_ALLOWED' };
  expect(await failureOf(storyOf(order, 'reader', withUrl))).toMatchObject(refused);
  await desk.cancelHosted(order);
  expect((await storyOf(order, 'dashboard', withUrl)).checkoutUrl).toBe('');
});

test('an order of another merchant or environment is not found, and every invalid field is named', async () => {
  const order = await desk.registerHosted({ merchantId });
  const stranger = await stack.createMerchant();

  const unknown = { code: 'NotFound', reason: 'ORDER_NOT_FOUND' };
  for (const own of [{ merchantId: stranger.id }, { environment: Environment.PRODUCTION }])
    expect(await failureOf(storyOf(order, 'reader', own))).toMatchObject(unknown);
  const wrong = storyOf(order, 'reader', { merchantId: '', environment: 0, orderId: 'x' });
  expect(await wrongFields(wrong)).toBe('environment merchant_id order_id');
});

test('a story that is too large for one response keeps the latest exchanges and says that older ones are left out', async () => {
  const order = await desk.registerHosted({ merchantId });
  const body = 'x'.repeat(16_000);
  const urls = Array.from({ length: 50 }, (_, index) => `e-${index}`);
  for (let attempt = 0; attempt < 3; attempt += 1) await pay(order, outcomes.declined(), urls, body);

  const story = await storyOf(order);

  expect(story.incomplete).toBe(true);
  const kept = story.paymentAttempts.map(({ exchanges }) => exchanges.map(({ url }) => url));
  expect(kept.slice(0, 2)).toEqual([urls, urls]);
  expect(kept[2]?.at(-1)).toBe('e-49');
  expect(kept[2]).not.toContain('e-0');
});

test('an order with very many events keeps the first and the latest, all attempts, and says that some are left out', async () => {
  const order = await desk.registerHosted({ merchantId });
  const paid = await pay(order, outcomes.completed('t-many'), []);
  const { pool } = database;
  const id = storedId('ord', order.orderId);
  await pool.query(sql`
    insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
    select merchant_id, environment, order_id, sequence + n, gen_random_uuid(), type, occurred_at, payload
    from core.order_events, generate_series(1, 600) n where order_id = ${id} and sequence = 3`);
  await pool.query(sql`update core.orders set last_event_sequence = 603 where id = ${id}`);

  const { events, paymentAttempts, incomplete } = await storyOf(order);

  expect(events).toHaveLength(500);
  expect(events[0]?.type).toBe(OrderEventType.CREATED);
  expect(paymentAttempts.map(({ paymentAttempt }) => paymentAttempt?.paymentAttemptId)).toEqual([
    paid.attemptId,
  ]);
  expect(incomplete).toBe(true);
});

test('an order with few and large events keeps the latest', async () => {
  const order = await desk.registerHosted({ merchantId });
  await pay(order, outcomes.completed('t-large'), []);
  const { pool } = database;
  const id = storedId('ord', order.orderId);
  // Appended to the payload: a sequence, and an unknown field of 6,000 bytes.
  await pool.query(
    String.raw`insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
     select merchant_id, environment, order_id, n, gen_random_uuid(), type, occurred_at,
       payload || '\x18'::bytea || set_byte('\x00'::bytea, 0, n) || '\xa206f02e'::bytea || decode(repeat('00', 6000), 'hex')
     from core.order_events, generate_series(4, 98) n where order_id = $1 and sequence = 3`,
    [id],
  );
  await pool.query(sql`update core.orders set last_event_sequence = 98 where id = ${id}`);

  const { events, incomplete } = await storyOf(order);

  const found = [events.length, events[0]?.sequence, events.at(-1)?.sequence, incomplete];
  expect(found).toEqual([98, 1n, 98n, false]);
});

test('a history needs the same number of statements for five attempts as for none', async () => {
  const none = await desk.registerHosted({ merchantId, orderNumber: 'none' });
  const five = await desk.registerHosted({ merchantId, orderNumber: 'five' });
  for (let attempt = 0; attempt < 5; attempt += 1) await pay(five, outcomes.declined(), ['e']);
  const read = createReadOrderStory(database);
  // The pool has one connection, which counts its statements.
  const connection = await database.pool.connect();
  let asked = 0;
  const query = connection.query.bind(connection) as (...args: unknown[]) => unknown;
  Object.assign(connection, { query: (...args: unknown[]) => ((asked += 1), query(...args)) });
  connection.release();
  const statementsFor = async ({ orderId }: HostedOrder): Promise<number> => {
    asked = 0;
    const key = {
      merchantId: publicId('mer', storedId('mer', merchantId)),
      orderId: publicId('ord', storedId('ord', orderId)),
    };
    expect((await read({ ...key, environment: 'SANDBOX' }))?.order.id).toBe(orderId);
    return asked;
  };

  const counts = [await statementsFor(none), await statementsFor(five)];

  expect(counts[0]).toBeGreaterThanOrEqual(6);
  expect(counts[1]).toBe(counts[0]);
});
