import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import type { QueryResultRow } from 'pg';
import { runStatement } from '../../../src/platform/database/run-statement.ts';
import { leaseLanes } from '../../../src/webhooks/delivery/lease-lanes.sql.ts';
import { createFutureTimeCorrection } from '../../../src/webhooks/health/correct-future-times.ts';
import { insertDeliveries } from '../../../src/webhooks/intake/insert-deliveries.sql.ts';
import { inMs, newDelivery } from './dispatch-desk.ts';
import { keptLog } from '../../support/kept-log.ts';
import { sharedWebhooksDatabase } from './shared-webhooks-database.ts';

// The clock of the database was a day ahead while rows were written, and was set back.

const minuteMs = 60_000;
const leaseMs = 20_000;

const database = sharedWebhooksDatabase();
afterEach(() =>
  database.pool.query('truncate webhooks.lanes, webhooks.deliveries, webhooks.webhook_endpoints cascade'),
);

const sql = <Row extends QueryResultRow>(text: string): Promise<Row[]> =>
  runStatement<Row>(database.pool, { text });
const deliver = async (host = 'shop', count = 1): Promise<string[]> => {
  const made = Array.from({ length: count }, () => newDelivery({ url: `https://${host}.example/hook` }));
  await insertDeliveries(database.pool, made);
  return made.map(({ id }) => id);
};
const lease = async (): Promise<string[]> => {
  const request = { lanes: 100, unhealthyLanes: 100, exceptOwners: [], leaseId: randomUUID(), leaseMs };
  const { lanes } = await leaseLanes(database.pool, request);
  return lanes.flatMap(({ heads }) => heads.map(({ id }) => id));
};
const newCorrection = () => {
  const { logger, log } = keptLog();
  const correct = createFutureTimeCorrection({ pool: database.pool, leaseMs, logger });
  return { correct: () => correct(new AbortController().signal), log };
};
/** As if the rows had been written a day later. */
const aDayAhead = async (): Promise<void> => {
  await sql(`update webhooks.deliveries set due_at = due_at + interval '1 day', round_started_at = round_started_at + interval '1 day',
     last_attempt_at = last_attempt_at + interval '1 day', created_at = created_at + interval '1 day'`);
  await sql(`update webhooks.lanes set next_due_at = next_due_at + interval '1 day', resting_until = resting_until + interval '1 day',
     leased_until = leased_until + interval '1 day'`);
};

test('new deliveries of that time are sent at once, in any number', async () => {
  const ids = await deliver('shop', 1_201);
  await aDayAhead();
  const { correct, log } = newCorrection();

  await correct();

  expect(ids).toEqual(expect.arrayContaining(await lease()));
  expect(
    await sql('select id from webhooks.deliveries where due_at > now() or round_started_at > now()'),
  ).toEqual([]);
  expect(log).toMatchObject([{ merchant_id: expect.any(String), count: 1_201 }]);
});

test('a delivery that failed at that time waits as long as its schedule says, from now on', async () => {
  await deliver();
  await sql(`update webhooks.deliveries set attempt_count = 5, round_attempts = 5, last_attempt_at = now(),
     due_at = now() + interval '30 minutes'`);
  await aDayAhead();
  const { correct } = newCorrection();

  await correct();
  const [first] = await sql<{ due_at: Date }>('select due_at from webhooks.deliveries');
  await correct();
  const [second] = await sql<{ due_at: Date }>('select due_at from webhooks.deliveries');

  expect(inMs(first?.due_at)).toBeGreaterThan(20 * minuteMs);
  expect(inMs(first?.due_at)).toBeLessThanOrEqual(30 * minuteMs);
  expect(second).toEqual(first);
});

test('a lane that was released at that time is leased, although its deliveries are older', async () => {
  const [id] = await deliver();
  await sql("update webhooks.lanes set next_due_at = now() + interval '1 day'");
  const { correct } = newCorrection();

  await correct();

  expect(await lease()).toEqual([id]);
});

test('an open circuit and a lease that were dated a day ahead end as if they began now', async () => {
  await deliver();
  await sql(`update webhooks.lanes set resting_until = now() + interval '5 minutes', consecutive_failures = 20,
     lease_id = gen_random_uuid(), leased_until = now() + interval '20 seconds'`);
  await aDayAhead();
  const { correct } = newCorrection();

  await correct();

  const [lane] = await sql<{ resting_until: Date; leased_until: Date; next_due_at: Date }>(
    'select resting_until, leased_until, next_due_at from webhooks.lanes',
  );
  expect(inMs(lane?.resting_until)).toBeLessThanOrEqual(6 * minuteMs);
  expect(inMs(lane?.leased_until)).toBeLessThanOrEqual(leaseMs);
  expect(lane?.next_due_at).toEqual(lane?.resting_until);
});

test('rows with the longest times that a right clock stores are not written', async () => {
  await deliver();
  await sql(`update webhooks.deliveries set attempt_count = 12, round_attempts = 12, last_attempt_at = now(),
     due_at = now() + interval '26 hours'`);
  await sql(`update webhooks.lanes set next_due_at = now() + interval '26 hours', resting_until = now() + interval '6 minutes',
     lease_id = gen_random_uuid(), leased_until = now() + interval '20 seconds'`);
  const versions = () =>
    sql(
      `select l.xmin::text as lane, d.xmin::text as delivery from webhooks.lanes l join webhooks.deliveries d using (merchant_id)`,
    );
  const before = await versions();
  const { correct, log } = newCorrection();

  await correct();

  expect(await versions()).toEqual(before);
  expect(log).toEqual([]);
});

test('a lane behind a thousand others is found, and an idle lane stays idle', async () => {
  await deliver();
  await sql(`insert into webhooks.lanes (merchant_id, environment, endpoint, created_at)
     select 'mer_0', 'SANDBOX', 'https://' || n || '.example', now() from generate_series(1, 1500) n`);
  await aDayAhead();
  const { correct } = newCorrection();

  await correct();

  expect(await lease()).toHaveLength(1);
  expect(
    await sql("select endpoint from webhooks.lanes where merchant_id = 'mer_0' and next_due_at is not null"),
  ).toEqual([]);
});

test('a webhook endpoint receives the types that it chose at that time from now on', async () => {
  await sql(`insert into webhooks.webhook_endpoints (merchant_id, id, environment, url, description, created_at, updated_at)
     values ('mer_1', 'whe_1', 'SANDBOX', 'https://shop.example/hook', '', now(), now())`);
  await sql(`insert into webhooks.webhook_endpoint_types (merchant_id, endpoint_id, event_type, since) values
     ('mer_1', 'whe_1', 'order.completed', now() + interval '1 day'),
     ('mer_1', 'whe_1', 'order.failed', now() + interval '30 seconds')`);
  const read = () =>
    sql<{ event_type: string; since: Date }>(
      'select event_type, since from webhooks.webhook_endpoint_types order by event_type',
    );
  const before = await read();
  const { correct, log } = newCorrection();

  await correct();
  await correct();

  const [completed, failed] = await read();
  expect(inMs(completed?.since)).toBeLessThanOrEqual(0);
  expect(inMs(completed?.since)).toBeGreaterThan(-minuteMs);
  expect(failed).toEqual(before[1]);
  expect(log).toMatchObject([
    { merchant_id: 'mer_1', webhook_endpoint_id: 'whe_1', event_types: ['order.completed'] },
  ]);
});
