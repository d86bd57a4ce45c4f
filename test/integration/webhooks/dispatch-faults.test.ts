import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createDeliveryStore } from '../../../src/webhooks/delivery/delivery-store.ts';
import type { DeliveryStore } from '../../../src/webhooks/delivery/delivery-store.ts';
import type { LeasedLane } from '../../../src/webhooks/delivery/lease-lanes.sql.ts';
import { writeLanes } from '../../../src/webhooks/delivery/write-lanes.ts';
import { writeLaneWithRetries } from '../../../src/webhooks/delivery/write-lane-with-retries.ts';
import type { EndedAttempt } from '../../../src/webhooks/delivery/write-attempts.sql.ts';
import type { OutgoingDelivery } from '../../../src/webhooks/domain/delivery.ts';
import { keptLog } from '../../support/kept-log.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { answer, onDemand, onlyFor, silence } from './receivers.ts';
import { sharedDispatchDesk } from './shared-dispatch-desk.ts';

const desk = sharedDispatchDesk();

const storedAttempts = async (): Promise<number> => {
  const { rows } = await desk.database.pool.query<{ count: number }>(`
    select count(*)::int as count from webhooks.delivery_attempts`);
  return rows[0]!.count;
};

test('a lane with attempts in progress renews its lease', async () => {
  const { held, behaviour, release } = onDemand();
  const shop = await desk.receive(behaviour);
  const leases = { leaseMs: 3_000, deadlineMs: 2_500 };
  const first = await desk.startDispatcher(leases);
  await desk.startDispatcher(leases);
  await desk.add({ url: shop.origin });
  await waitUntil('it is on its way', () => held.length === 1);
  const leasedUntil = (await desk.lanes())[0]!.leased_until!;

  await waitUntil('the lease is renewed', async () => (await desk.lanes())[0]!.leased_until! > leasedUntil);

  release();
  await desk.untilAllDelivered();
  expect(shop.webhooks).toHaveLength(1);
  await first.stop();
});

test('webhooks to many endpoints that cannot be sent for one reason share a few log lines', async () => {
  const shops = await Promise.all(Array.from({ length: 8 }, () => desk.receive()));
  await desk.add(...shops.map(({ origin }) => ({ url: origin })));
  const dispatcher = await desk.startDispatcher({
    secret: () => {
      throw new Error('the secret cannot be read');
    },
  });

  await waitUntil('every lane waits for its next try', async () =>
    (await desk.lanes()).every(
      ({ lease_id, next_due_at }) => lease_id === null && Number(next_due_at) > Date.now(),
    ),
  );

  const unsent = dispatcher.log.filter(({ msg }) => String(msg).includes('failed before it was sent'));
  expect(unsent).toHaveLength(5);
  expect(unsent[0]).toMatchObject({ level: 'error', err: { message: 'the secret cannot be read' } });
});

test('a lane that another process has taken is not written to', async () => {
  const { held, behaviour, release } = onDemand();
  const shop = await desk.receive(behaviour);
  const dispatcher = await desk.startDispatcher();
  const [delivery] = await desk.add({ url: shop.origin });
  await waitUntil('it is on its way', () => held.length === 1);

  await desk.database.pool.query('update webhooks.lanes set lease_id = gen_random_uuid()');
  release();

  const line = await waitUntil('the attempt is logged', () =>
    dispatcher.log.find(({ msg }) => msg === 'webhook attempt'),
  );
  expect(line).toMatchObject({ level: 'warn', result: 'DELIVERED', not_recorded: true });
  expect(await desk.delivery(delivery!.id)).toMatchObject({ state: 'PENDING', attempt_count: 0 });
  expect(await storedAttempts()).toBe(0);
});

test('a lane whose row was deleted does not stop the other lanes', async () => {
  const gone = await desk.receive(silence);
  const shop = await desk.receive();
  const dispatcher = await desk.startDispatcher({ leaseMs: 2_000, deadlineMs: 1_500 });
  await desk.add({ url: gone.origin });
  await waitUntil('it is on its way', () => gone.webhooks.length === 1);

  await desk.database.pool.query('delete from webhooks.deliveries');
  await desk.database.pool.query('delete from webhooks.lanes');

  await waitUntil('the attempt is logged', () =>
    dispatcher.log.find(({ msg, not_recorded: isLost }) => msg === 'webhook attempt' && isLost === true),
  );
  await desk.add({ url: shop.origin });
  await desk.untilAllDelivered();
});

test('an attempt whose database connections are ended is still recorded', async () => {
  const { held, behaviour, release } = onDemand();
  const shop = await desk.receive(behaviour);
  await desk.startDispatcher();
  await desk.add({ url: shop.origin }, { url: shop.origin });
  await waitUntil('both are on their way', () => held.length === 2);

  await desk.database.pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'dispatcher' and datname = current_database()`);
  release();

  await desk.untilAllDelivered();
  expect(shop.webhooks).toHaveLength(2);
  expect(await storedAttempts()).toBe(2);
});

const openStore = (): DeliveryStore =>
  createDeliveryStore({
    ...{ database: desk.database, newLeaseId: randomUUID, random: Math.random, leaseMs: 20_000 },
    machineNow: () => new Date(),
  });

const leaseOne = async (store: DeliveryStore): Promise<LeasedLane> =>
  (await store.lease({ lanes: 1, unhealthyLanes: 1, exceptOwners: [] })).lanes[0]!;

const ended = (delivery: OutgoingDelivery, statusCode: 200 | 500, endedAt: Date): EndedAttempt => ({
  delivery,
  report: {
    ...{
      startedAt: endedAt,
      durationMs: 1,
      result: statusCode === 200 ? 'DELIVERED' : 'REFUSED',
      statusCode,
    },
    ...{ detail: '', remoteAddress: '', responseBody: Buffer.alloc(0), retryAfter: '' },
  },
  endedAt,
  next: statusCode === 200 ? { type: 'delivered' } : { type: 'again', at: endedAt },
});

test.each<
  [
    statuses: (200 | 500)[],
    failures: number,
    success: number | null,
    failure: number | null,
    since: number | null,
  ]
>([
  [[500, 200, 500, 500], 2, 1, 3, 2],
  [[500, 200, 200, 200], 0, 3, 0, null],
  [[500, 500, 500, 500], 4, null, 3, 0],
])(
  'attempts of a lane that end with %p and are written together count in the order in which they ended',
  async (statuses, failures, success, failure, since) => {
    const store = openStore();
    await desk.add(...statuses.map(() => ({ url: 'https://shop.example/' })));
    // A lane that has never succeeded gets one delivery at a time.
    await desk.database.pool.query("update webhooks.lanes set last_success_at = '2026-01-01'");
    const { lane, leaseId, heads } = await leaseOne(store);
    const at = (index: number | null) => (index === null ? null : new Date(Date.UTC(2026, 1, 1, 0, index)));
    const writes = statuses.map((status, index) => ({
      ...{ lane, leaseId, attempt: ended(heads[index]!, status, at(index)!) },
    }));

    await writeLanes(desk.database.pool, writes.toReversed(), { leaseMs: 20_000, random: Math.random });

    expect(await desk.lanes()).toMatchObject([
      {
        consecutive_failures: failures,
        last_success_at: at(success) ?? new Date('2026-01-01'),
        last_failure_at: at(failure),
        failing_since: at(since),
        last_result: String(statuses.at(-1)),
      },
    ]);
  },
);

describe('a failure whose write is repeated because the answer to its commit was lost', () => {
  const release = { delayMs: 0, awaitsSecret: false };
  test.each([
    ['and that keeps its lane', {}, { isHeld: true }],
    ['and that releases its lane', { release }, { isHeld: false, isWritten: true }],
  ])('%s counts once for its lane', async (_, releasing, expected) => {
    const store = openStore();
    await desk.add({ url: 'https://shop.example/lost' });
    const { lane, leaseId, heads } = await leaseOne(store);
    const attempt = ended(heads[0]!, 500, new Date());
    const { logger, log } = keptLog();
    let lostAnswers = 2;
    const writeLane: DeliveryStore['writeLane'] = async (write, signal) => {
      const result = await store.writeLane(write, signal);
      if (lostAnswers === 0) return result;
      lostAnswers -= 1;
      throw Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' });
    };

    const result = await writeLaneWithRetries(
      { writeLane },
      { lane, leaseId, attempt, ...releasing },
      { logger, stopWriteRetries: new AbortController().signal },
    );

    expect(result).toMatchObject(expected);
    expect(log.map(({ msg }) => msg)).toEqual([
      'the result of a webhook attempt could not be stored yet; trying again',
    ]);
    expect(await desk.lanes()).toMatchObject([{ consecutive_failures: 1 }]);
    expect(await storedAttempts()).toBe(1);
  });
});

test('a stop interrupts an attempt without a response and records nothing, and another process sends the webhook', async () => {
  const shop = await desk.receive(silence);
  const dispatcher = await desk.startDispatcher();
  const [delivery] = await desk.add({ url: shop.origin });
  await waitUntil('it is on its way', () => shop.webhooks.length === 1);

  await dispatcher.stop();

  expect(await desk.delivery(delivery!.id)).toMatchObject({ state: 'PENDING', attempt_count: 0 });
  expect(await desk.lanes()).toMatchObject([{ lease_id: null, consecutive_failures: 0 }]);
  shop.behave(answer(200));
  await desk.startDispatcher();
  await desk.untilAllDelivered();
});

test.each([-86_400_000, 86_400_000])(
  'a clock that is wrong by %i ms changes no schedule',
  async (clockOffMs) => {
    const shop = await desk.receive(onlyFor(({ target }) => target === '/down', answer(500), answer(200)));
    await desk.startDispatcher({ clockOffMs });

    const [down, up] = await desk.add({ url: `${shop.origin}/down` }, { url: shop.origin });

    const failed = await desk.untilAttempts(down!.id, 1);
    await desk.untilState(up!.id, 'DELIVERED');
    await desk.untilIdle();
    const { rows } = await desk.database.pool.query<{ seconds: number; off: number }>(sql`
      select extract(epoch from d.due_at - d.last_attempt_at)::float8 as seconds,
        abs(extract(epoch from a.started_at - d.created_at))::float8 as off
      from webhooks.deliveries d join webhooks.delivery_attempts a on a.delivery_id = d.id where d.id = ${failed.id}`);
    expect(rows[0]!.seconds).toBeGreaterThan(4);
    expect(rows[0]!.seconds).toBeLessThan(6);
    expect(rows[0]!.off).toBeLessThan(3_600);
  },
);
