import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { ConnectError } from '@connectrpc/connect';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { OrderFact } from '../../../src/gen/gatehouse/v1/order_explanation_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  DeliveryAttemptResult,
  DeliveryCause,
  DeliveryNextStep,
  DeliveryState,
  EndpointState,
  SigningSecretProblem,
} from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { PersonalDataService } from '../../../src/gen/gatehouse/v1/personal_data_service_pb.js';
import { eraseDeliveries } from '../../../src/webhooks/erasure/erase-deliveries.ts';
import { keptLog } from '../../support/kept-log.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { describeFailure, failureOf, wrongFields } from '../../support/rpc-failure.ts';
import { insertRow } from '../../support/insert-row.ts';
import { openWebhookDesk, sharedWebhookDesk } from './webhook-desk.ts';
import { storedId } from '../../support/ids.ts';
import { sharedConnection, sharedStack } from '../../support/shared-stack.ts';
import type { Statement } from '../../support/sql.ts';
import { sql } from '../../support/sql.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedWebhookDesk(stack);
const coreDatabase = sharedConnection(() => stack.databaseUrl);
let merchantId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
});

const reader = () => desk.client('reader');
const operator = () => desk.client('operator');
const query = (statement: Statement) => desk.database.pool.query(statement);

/** Gives deliveries the state after an attempt. */
const end = (ids: readonly string[], state: 'DELIVERED' | 'GIVEN_UP') =>
  query(sql`update webhooks.deliveries
    set state = ${state}::webhooks.delivery_state, due_at = null, attempt_count = 13, round_attempts = 13,
      given_up_at = case when ${state} = 'GIVEN_UP' then now() end, last_attempt_at = now(), last_result = '500',
      round_started_at = now() - interval '80 hours'
    where id = any(${ids})`);

const attempted = (deliveryId: string, number: number, own: Record<string, unknown> = {}) =>
  insertRow(desk.database.pool, 'webhooks.delivery_attempts', {
    ...{ merchant_id: merchantId, delivery_id: deliveryId, number, duration_ms: 1234 },
    started_at: new Date('2026-11-21T00:00:00.250Z'),
    ...{ result: 'REFUSED', status_code: 503, detail: 'answered 503 Service Unavailable' },
    ...{ remote_address: '203.0.113.7', retry_after: '120' },
    response_body: Buffer.from([0x6f, 0x6f, 0x70, 0x73, 0xff]),
    ...own,
  });

/** Every id, page by page. */
async function walk(own: object, between: () => Promise<unknown> = async () => {}): Promise<string[]> {
  const ids: string[] = [];
  let pageToken = '';
  do {
    const page = await reader().listDeliveries({ merchantId, ...own, pageToken });
    ids.push(...page.deliveries.map(({ deliveryId }) => deliveryId));
    pageToken = page.nextPageToken;
    await between();
  } while (pageToken !== '');
  return ids;
}

describe('listing', () => {
  test('returns each delivery once, newest first, while others are added', async () => {
    const ids = await desk.deliver(merchantId, {}, 25);
    const seen = await walk({ pageSize: 10 }, () => desk.deliver(merchantId));
    expect(seen).toEqual([...ids].sort().reverse());
  });

  test('returns many in pages of 500', async () => {
    await desk.deliver(merchantId, {}, 1_100);
    const seen = await walk({ pageSize: 1000 });
    expect(new Set(seen).size).toBe(1_100);
    expect((await reader().listDeliveries({ merchantId, pageSize: 1000 })).deliveries).toHaveLength(500);
    expect((await reader().listDeliveries({ merchantId })).deliveries).toHaveLength(50);
  });

  test('filters by environment, state, order, endpoint and time', async () => {
    const [live] = await desk.deliver(merchantId, { environment: 'PRODUCTION' });
    const [delivered, givenUp] = await desk.deliver(merchantId, {}, 2);
    const orderId = newRandomId('ord', new Date());
    const [named] = await desk.deliver(merchantId, { orderNumber: 'B-7', orderId });
    const [elsewhere] = await desk.deliver(merchantId, { endpoint: 'http://127.0.0.1:3000' });
    await end([delivered!], 'DELIVERED');
    await end([givenUp!], 'GIVEN_UP');
    // Not much longer, because a search by time uses the ids, which have the present time.
    const anHourAgo = Date.now() - 3_600_000;
    await query(sql`
      update webhooks.deliveries set created_at = ${new Date(anHourAgo)} where id = ${elsewhere}`);
    const at = (ms: number) => timestampFromDate(new Date(ms));

    expect(await walk({ environment: Environment.PRODUCTION })).toEqual([live]);
    expect(await walk({ states: [DeliveryState.GIVEN_UP] })).toEqual([givenUp]);
    expect((await walk({ states: [DeliveryState.GIVEN_UP, DeliveryState.DELIVERED] })).sort()).toEqual(
      [givenUp!, delivered!].sort(),
    );
    expect(await walk({ orderNumber: 'B-7' })).toEqual([named]);
    expect(await walk({ orderId })).toEqual([named]);
    expect(await walk({ endpoint: 'http://127.0.0.1:3000' })).toEqual([elsewhere]);
    expect(await walk({ createTimeFrom: at(anHourAgo), createTimeTo: at(anHourAgo + 1_000) })).toEqual([
      elsewhere,
    ]);
    expect(await walk({ createTimeTo: at(anHourAgo) })).toEqual([]);
  });

  test('a page token continues only its own list', async () => {
    await desk.deliver(merchantId, {}, 3);
    const { nextPageToken: pageToken } = await reader().listDeliveries({ merchantId, pageSize: 1 });
    const other = { merchantId, pageSize: 1, pageToken, states: [DeliveryState.PENDING] };
    expect(await failureOf(reader().listDeliveries(other))).toMatchObject({
      reason: 'INVALID_FIELDS',
      issues: { page_token: expect.stringContaining('next_page_token') },
    });
  });

  test('names all invalid fields together', async () => {
    const fields = await wrongFields(
      reader().listDeliveries({
        merchantId: 'mer_x',
        environment: 9 as Environment,
        states: [0],
        orderNumber: 'x'.repeat(65),
        orderId: 'A-1',
        endpoint: 'https://shop.example/hook',
        createTimeFrom: { seconds: 100n },
        createTimeTo: { seconds: 100n },
        pageSize: -1,
        pageToken: 'x',
      }),
    );
    expect(fields).toBe(
      'create_time_to endpoint environment merchant_id order_id order_number page_size page_token states',
    );
  });
});

describe('a delivery', () => {
  test('is returned with its exact body and its attempts, newest first', async () => {
    const body = Buffer.from('{"amount":"100.50","name":"ሰላም"}');
    const [deliveryId = ''] = await desk.deliver(merchantId, { body });
    await attempted(deliveryId, 1);
    await attempted(deliveryId, 2, { result: 'DELIVERED', status_code: 204, detail: '', retry_after: '' });

    const answer = await reader().getDelivery({ merchantId, deliveryId });

    expect(answer.delivery).toMatchObject({
      deliveryId,
      merchantId,
      environment: Environment.SANDBOX,
      eventType: 'order.completed',
      sequence: 3n,
      url: 'https://shop.example/hook?token=t',
      endpoint: 'https://shop.example',
      state: DeliveryState.PENDING,
      attemptCount: 0,
      lastResult: '',
    });
    expect(answer.delivery?.dueTime).toEqual(answer.delivery?.createTime);
    expect(Buffer.from(answer.body)).toEqual(body);
    expect(answer.attempts).toMatchObject([
      { number: 2, result: DeliveryAttemptResult.DELIVERED, statusCode: 204 },
      {
        number: 1,
        startTime: timestampFromDate(new Date('2026-11-21T00:00:00.250Z')),
        duration: { seconds: 1n, nanos: 234_000_000 },
        result: DeliveryAttemptResult.REFUSED,
        statusCode: 503,
        detail: 'answered 503 Service Unavailable',
        remoteAddress: '203.0.113.7',
        responseBody: 'oops\uFFFD',
        retryAfter: '120',
      },
    ]);
  });

  test('has the result of its latest attempt, also in a list', async () => {
    const [deliveryId = ''] = await desk.deliver(merchantId);
    const before = await reader().getDelivery({ merchantId, deliveryId });
    await attempted(deliveryId, 1, { result: 'DELIVERED' });
    await attempted(deliveryId, 2, { result: 'TIMED_OUT' });
    await query(sql`update webhooks.deliveries set attempt_count = 2 where id = ${deliveryId}`);

    const { deliveries } = await reader().listDeliveries({ merchantId });

    expect(before.delivery?.lastAttemptResult).toBe(DeliveryAttemptResult.UNSPECIFIED);
    expect(deliveries).toMatchObject([{ deliveryId, lastAttemptResult: DeliveryAttemptResult.TIMED_OUT }]);
  });

  test('has its latest 200 attempts', async () => {
    const [deliveryId = ''] = await desk.deliver(merchantId);
    await Promise.all(Array.from({ length: 203 }, (_, index) => attempted(deliveryId, index + 1)));
    const { attempts } = await reader().getDelivery({ merchantId, deliveryId });
    expect([attempts.length, attempts[0]?.number, attempts.at(-1)?.number]).toEqual([200, 203, 4]);
  });

  test('is read with the others of its order, each with its latest 20 attempts, newest first', async () => {
    const orderId = newRandomId('ord', new Date());
    const [first = ''] = await desk.deliver(merchantId, { orderId, eventType: 'order.failed' });
    // Ids of one millisecond have no order.
    const madeAt = Date.now();
    await waitUntil('the next id is of a later millisecond', () => Date.now() > madeAt);
    const [second = ''] = await desk.deliver(merchantId, { orderId, sequence: 4n });
    await desk.deliver(merchantId, { orderId: newRandomId('ord', new Date()) });
    for (let number = 1; number <= 21; number += 1) await attempted(first, number);
    await attempted(second, 1, { result: 'DELIVERED', status_code: 204 });
    const key = { merchantId, environment: Environment.SANDBOX, orderId };

    const { deliveries, incomplete } = await reader().getOrderDeliveries(key);

    expect(deliveries.map(({ delivery, attempts }) => [delivery?.deliveryId, attempts.length])).toEqual([
      [second, 1],
      [first, 20],
    ]);
    expect(deliveries[1]?.attempts.map(({ number }) => number).slice(0, 2)).toEqual([21, 20]);
    expect(deliveries[0]?.attempts).toMatchObject([
      { number: 1, result: DeliveryAttemptResult.DELIVERED, statusCode: 204 },
    ]);
    expect(incomplete).toBe(false);
    for (const own of [
      { environment: Environment.PRODUCTION },
      { merchantId: newRandomId('mer', new Date()) },
    ])
      expect((await reader().getOrderDeliveries({ ...key, ...own })).deliveries).toEqual([]);
    const bad = reader().getOrderDeliveries({ merchantId: '', environment: 0, orderId: 'x' });
    expect(await wrongFields(bad)).toBe('environment merchant_id order_id');
  });

  test('of an order with more than 20 is read with the latest 20, and the answer says that there are older ones', async () => {
    const orderId = newRandomId('ord', new Date());
    const ids: string[] = [];
    for (let sequence = 1n; sequence <= 21n; sequence += 1n)
      ids.push(...(await desk.deliver(merchantId, { orderId, sequence })));
    const key = { merchantId, environment: Environment.SANDBOX, orderId };

    const { deliveries, incomplete } = await reader().getOrderDeliveries(key);

    expect(deliveries.map(({ delivery }) => delivery?.deliveryId)).toEqual(ids.sort().slice(1).reverse());
    expect(incomplete).toBe(true);
  });

  test.each(['getDelivery', 'explainDelivery', 'redeliverDelivery'] as const)(
    'has its invalid names refused together: %s',
    async (method) => {
      const call = operator()[method]({ merchantId: '', deliveryId: 'evt_1' });

      expect(await wrongFields(call)).toBe('delivery_id merchant_id');
    },
  );

  test('is explained with the reason why it waits', async () => {
    const orderId = newRandomId('ord', new Date());
    const [first = ''] = await desk.deliver(merchantId, { orderId, eventType: 'order.failed' });
    const [second = ''] = await desk.deliver(merchantId, { orderId, sequence: 4n });
    const awaiting = await reader().explainDelivery({ merchantId, deliveryId: second });
    await operator().rotateSigningSecret({ merchantId, environment: Environment.SANDBOX });
    await operator().pauseEndpoint({
      merchantId,
      environment: Environment.SANDBOX,
      endpoint: 'https://shop.example',
      reason: 'moving house',
    });
    const paused = await reader().explainDelivery({ merchantId, deliveryId: second });
    await operator().resumeEndpoint({
      merchantId,
      environment: Environment.SANDBOX,
      endpoint: 'https://shop.example',
    });
    const behind = await reader().explainDelivery({ merchantId, deliveryId: second });
    const due = await reader().explainDelivery({ merchantId, deliveryId: first });

    expect(awaiting.explanation).toMatchObject({
      cause: DeliveryCause.SIGNING_SECRET_NOT_SHOWN,
      nextSteps: [DeliveryNextStep.CREATE_SIGNING_SECRET],
    });
    expect(paused.explanation).toMatchObject({
      cause: DeliveryCause.ENDPOINT_PAUSED,
      nextSteps: [DeliveryNextStep.RESUME_ENDPOINT],
    });
    expect(paused.endpoint?.pauseReason).toBe('moving house');
    expect(paused.sentences.join(' ')).toContain('moving house');
    expect(paused.endpoint?.state).toBe(EndpointState.PAUSED);
    expect(behind.explanation).toMatchObject({
      cause: DeliveryCause.EARLIER_EVENT_PENDING,
      earlierDeliveryId: first,
      earlierEventType: 'order.failed',
    });
    expect(due.delivery?.deliveryId).toBe(first);
    expect(due.nextAttemptTime).toBeDefined();
  });

  test('is explained without creating the missing secret', async () => {
    const { id } = await stack.createMerchant();
    const [deliveryId = ''] = await desk.deliver(id);

    const { explanation } = await reader().explainDelivery({ merchantId: id, deliveryId });

    expect(explanation).toMatchObject({ scheduleAttempts: 0, scheduleMaxAttempts: 13 });
    const { rows } = await query(sql`select from webhooks.signing_secrets where merchant_id = ${id}`);
    expect(rows).toHaveLength(0);
  });

  test('is explained when the key of its secret is missing', async () => {
    const [deliveryId = ''] = await desk.deliver(merchantId);
    await desk.client('operator').rotateSigningSecret({ merchantId, environment: Environment.SANDBOX });
    await query(sql`update webhooks.signing_secrets set key_id = 'lost' where merchant_id = ${merchantId}`);
    const other = await openWebhookDesk(stack);
    try {
      const { explanation } = await other.client('reader').explainDelivery({ merchantId, deliveryId });
      expect(explanation).toMatchObject({
        cause: DeliveryCause.SIGNING_SECRET_UNUSABLE,
        signingSecretProblem: SigningSecretProblem.KEY_MISSING,
        encryptionKeyName: 'lost',
      });
    } finally {
      await other.close();
    }
  });

  test('to a deleted webhook endpoint does not explain its order, because nothing is sent there again', async () => {
    const environment = Environment.SANDBOX;
    const orderId = newRandomId('ord', new Date());
    const endpoints = desk.endpointClient('operator');
    const url = 'https://shop.example/deleted';
    const { webhookEndpoint } = await endpoints.createWebhookEndpoint({ merchantId, environment, url });
    const { webhookEndpointId = '' } = webhookEndpoint ?? {};
    const explained = async () => {
      const reply = await reader().explainOrderDeliveries({ merchantId, environment, orderId });
      return reply.explanation?.waitingFor;
    };
    // More than an explanation reads.
    for (let sequence = 1n; sequence < 22n; sequence += 1n)
      await end(
        await desk.deliver(merchantId, { orderId, endpoint: webhookEndpointId, sequence }),
        'GIVEN_UP',
      );
    await endpoints.deleteWebhookEndpoint({ merchantId, webhookEndpointId });
    expect(await explained()).toBe(OrderFact.NOTHING);

    await end(await desk.deliver(merchantId, { orderId, sequence: 22n }), 'GIVEN_UP');
    expect(await explained()).toBe(OrderFact.WEBHOOK_REDELIVERY);
  });

  test('of the first event explains its order, however many others of the order wait', async () => {
    const orderId = newRandomId('ord', new Date());
    const ids: string[] = [];
    for (let sequence = 2n; sequence < 24n; sequence += 1n)
      ids.push(...(await desk.deliver(merchantId, { orderId, sequence })));
    const key = { merchantId, environment: Environment.SANDBOX, orderId };
    const { explanation } = await reader().explainOrderDeliveries(key);
    expect(explanation?.subjectId).toBe(ids[0]);
  });
});

describe('redelivering one delivery', () => {
  test.each(['DELIVERED', 'GIVEN_UP'] as const)(
    'that is %s makes it due now with a full schedule, and keeps its id and bytes',
    async (state) => {
      const [deliveryId = ''] = await desk.deliver(merchantId);
      const before = await reader().getDelivery({ merchantId, deliveryId });
      await end([deliveryId], state);
      await query(sql`update webhooks.lanes set next_due_at = null where merchant_id = ${merchantId}`);
      const rings = desk.rings.due;

      const { delivery } = await operator().redeliverDelivery({ merchantId, deliveryId });

      expect(delivery).toMatchObject({ deliveryId, state: DeliveryState.PENDING, attemptCount: 13 });
      const after = await reader().getDelivery({ merchantId, deliveryId });
      expect([after.body, after.delivery?.eventId]).toEqual([before.body, before.delivery?.eventId]);
      const { rows } = await query(sql`
        select round_attempts, due_at = round_started_at and due_at <= now() as is_due, given_up_at, next_due_at <= now() as is_awake
        from webhooks.deliveries join webhooks.lanes using (merchant_id, environment, endpoint)
        where id = ${deliveryId}`);
      expect(rows).toEqual([{ round_attempts: 0, is_due: true, given_up_at: null, is_awake: true }]);
      expect(desk.rings.due).toBe(rings + 1);
    },
  );

  test('that waits for its next attempt makes it due now, and an open circuit stays open', async () => {
    const [deliveryId = ''] = await desk.deliver(merchantId);
    await query(sql`update webhooks.deliveries set due_at = now() + interval '1 hour', round_attempts = 5
      where id = ${deliveryId}`);
    await query(sql`update webhooks.lanes set resting_until = now() + interval '1 hour', next_due_at = null
      where merchant_id = ${merchantId}`);
    await operator().redeliverDelivery({ merchantId, deliveryId });
    const { rows } = await query(sql`
      select due_at <= now() as is_due, next_due_at = resting_until as waits_for_probe from webhooks.deliveries
      join webhooks.lanes using (merchant_id, environment, endpoint) where id = ${deliveryId}`);
    expect(rows).toEqual([{ is_due: true, waits_for_probe: true }]);
  });

  test('makes those of its order due that were postponed behind it, and no others', async () => {
    const [deliveryId = '', other = ''] = [
      ...(await desk.deliver(merchantId)),
      ...(await desk.deliver(merchantId)),
    ];
    await query(sql`update webhooks.deliveries set due_at = now() + interval '1 hour'
      where id = any(${[deliveryId, other]})`);
    // The last one has failed by itself.
    await query(sql`insert into webhooks.deliveries select (jsonb_populate_record(d, jsonb_build_object(
        'id', d.id || n, 'event_id', d.event_id || n, 'sequence', d.sequence + n,
        'round_attempts', case when n = 1001 then 1 else 0 end
      ))).* from webhooks.deliveries d, generate_series(1, 1001) n where id = ${deliveryId}`);
    await operator().redeliverDelivery({ merchantId, deliveryId });
    const { rows } = await query(sql`
      select order_id = (select order_id from webhooks.deliveries where id = ${other}) as is_other,
        count(*) filter (where due_at <= now())::int as due, count(*)::int as all
      from webhooks.deliveries where merchant_id = ${merchantId} group by 1 order by 1`);
    expect(rows).toEqual([
      { is_other: false, due: 1001, all: 1002 },
      { is_other: true, due: 0, all: 1 },
    ]);
  });

  test('is in the outbox of the audit log, with the host of the URL only', async () => {
    const [deliveryId = ''] = await desk.deliver(merchantId);
    await operator().redeliverDelivery(
      { merchantId, deliveryId },
      { headers: { 'x-gatehouse-actor': 'abebe' } },
    );
    const { rows } = await query(sql`select * from webhooks.audit_outbox where target_id = ${deliveryId}`);
    expect(rows).toMatchObject([
      { actor: 'operator:abebe', action: 'delivery.redeliver', merchant_id: merchantId },
    ]);
    expect(JSON.stringify(rows)).not.toContain('token=t');
  });
});

describe('expensive reads', () => {
  const environment = Environment.SANDBOX;

  test.each<[string, string, (key: { merchantId: string; orderId: string }) => Promise<unknown>]>([
    [
      'explanations',
      'webhooks.event_readers',
      (key) => desk.client('facade').explainOrderDeliveries({ ...key, environment }),
    ],
    [
      'lists of endpoints',
      'webhooks.lanes',
      ({ merchantId: own }) => reader().listEndpoints({ merchantId: own, environment }),
    ],
    [
      'lists of webhook endpoints',
      'webhooks.lanes',
      ({ merchantId: own }) =>
        desk.endpointClient('reader').listWebhookEndpoints({ merchantId: own, environment }),
    ],
  ])(
    '%s of one merchant leave the connections to all others, and are refused when many wait',
    async (_, table, read) => {
      const orderId = newRandomId('ord', new Date());
      await desk.deliver(merchantId, { orderId });
      for (const path of ['a', 'b', 'c'])
        await desk.endpointClient('operator').createWebhookEndpoint({
          ...{ merchantId, environment, url: `https://shop.example/${path}` },
        });
      const { pool } = desk.database;
      const holder = await pool.connect();
      await holder.query(`begin;
        set local idle_in_transaction_session_timeout = 0; lock table ${table} in access exclusive mode`);
      const refused: (string | undefined)[] = [];
      const call = async (): Promise<void> => {
        try {
          await read({ merchantId, orderId });
        } catch (error) {
          if (!(error instanceof ConnectError)) throw error;
          refused.push(describeFailure(error).reason);
        }
      };

      const calls = Array.from({ length: 60 }, call);
      await waitUntil(
        'a call is refused, or waits for a connection',
        () => refused.length === 39 || pool.waitingCount > 0,
      );
      const waiting = pool.waitingCount;
      // Without a free connection, it is answered only after the lock.
      const other = reader().listSigningSecrets({ merchantId });
      if (waiting === 0) await other;
      await holder.query('rollback');
      holder.release();
      await Promise.all(calls);

      expect(waiting).toBe(0);
      expect(await other).toMatchObject({ signingSecrets: [] });
      expect(refused).toEqual(Array.from({ length: 39 }, () => 'OVERLOADED'));
    },
  );
});

const bodyOf = (reason: string, phone: string) =>
  JSON.stringify({ type: 'order.completed', data: { reason, customer_phone: phone } });

/** The id of an order with ended deliveries. */
async function orderWithEnded(count = 1): Promise<string> {
  const orderId = newRandomId('ord', new Date());
  await desk.deliver(merchantId, { orderId, body: Buffer.from(bodyOf('Shoes', '0911223344')) }, count);
  await desk.database.pool.query(sql`
    update webhooks.deliveries set state = 'DELIVERED', due_at = null where order_id = ${orderId}`);
  return orderId;
}

/** The bodies of the deliveries of an order after one run of the erasure. */
async function bodiesAfterErasure(orderId: string): Promise<readonly string[]> {
  const personalData = stack.client(PersonalDataService, 'webhooks');
  const { logger } = keptLog();

  await eraseDeliveries({ database: desk.database, personalData, logger }, new AbortController().signal);

  const { rows } = await desk.database.pool.query<{ body: Buffer }>(sql`
    select distinct body from webhooks.deliveries where order_id = ${orderId}`);
  return rows.map(({ body }) => body.toString());
}

/** The bodies of the ended deliveries of an order that is due in a while, after one run. */
async function bodiesAfterRun(dueIn: string, count = 1): Promise<readonly string[]> {
  const orderId = await orderWithEnded(count);
  await desk.database.pool.query('insert into webhooks.erasures_due values ($1, $2, now() + $3::interval)', [
    ...[merchantId, orderId, dueIn],
  ]);
  return bodiesAfterErasure(orderId);
}

test('all deliveries of an order with very many of them are erased', async () => {
  expect(await bodiesAfterRun('0', 1_100)).toEqual([bodyOf('erased', 'erased')]);
});

test("an order that became due while the database's clock was a day ahead is erased at once", async () => {
  expect(await bodiesAfterRun('1 day')).toEqual([bodyOf('erased', 'erased')]);
});

test('an order that waits as long as a right clock lets it wait is not erased yet', async () => {
  expect(await bodiesAfterRun('10 minutes')).toEqual([bodyOf('Shoes', '0911223344')]);
});

test('an order with very many events, which core erases in several parts, is erased, and so is the next one', async () => {
  const orderIds = [await orderWithEnded(), await orderWithEnded()];
  const [large = '', next = ''] = orderIds;
  for (const [orderId, last] of [
    [large, 500],
    [large, 1_000],
    [next, 3],
  ] as const)
    await coreDatabase.query(sql`
      insert into core.erased_orders (merchant_id, environment, order_id, from_sequence, to_sequence, erased_at, seal)
      values (${storedId('mer', merchantId)}, 'SANDBOX', ${storedId('ord', orderId)}, 1, ${last}, now(), '')`);

  // A transaction of another test may hold the list back.
  const bodies = await waitUntil('the last order is erased', async () => {
    const ofNext = await bodiesAfterErasure(next);
    return ofNext[0] === bodyOf('erased', 'erased') ? [ofNext, await bodiesAfterErasure(large)] : undefined;
  });

  expect(bodies).toEqual(Array(2).fill([bodyOf('erased', 'erased')]));
});
