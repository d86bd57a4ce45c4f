import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { DeliveryState } from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { createWakeSignal } from '../../../src/platform/wake-signal.ts';
import { runRedeliveries } from '../../../src/webhooks/redeliveries/run-redeliveries.ts';
import type { LogLine } from '../../support/gatehouse-process.ts';
import { keptLog } from '../../support/kept-log.ts';
import { failureOf, wrongFields } from '../../support/rpc-failure.ts';
import { closersOfEachTest, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { sharedWebhookDesk } from './webhook-desk.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedWebhookDesk(stack);
let merchantId: string;
const closers = closersOfEachTest();
beforeEach(async () => {
  await desk.database.pool.query('truncate webhooks.lanes, webhooks.redeliveries cascade');
  ({ id: merchantId } = await stack.createMerchant());
});

const operator = () => desk.client('operator');

/** Runs redeliveries in this process until the test has ended. */
function startWorker(): { readonly due: () => number; readonly log: readonly LogLine[] } {
  let due = 0;
  const { logger, log } = keptLog();
  const stop = new AbortController();
  const parts = {
    database: desk.database,
    signal: createWakeSignal(),
    onDue: () => void (due += 1),
    logger,
    idleMs: 20,
  };
  const running = runRedeliveries(parts, stop.signal);
  closers.push(async () => {
    stop.abort();
    await running;
  });
  return { due: () => due, log };
}

async function deliver(count: number, state: 'PENDING' | 'DELIVERED' | 'GIVEN_UP'): Promise<string[]> {
  const ids: string[] = [];
  for (let left = count; left > 0; left -= 1000)
    ids.push(...(await desk.deliver(merchantId, {}, Math.min(left, 1000))));
  if (state !== 'PENDING') {
    await desk.database.pool.query(sql`
      update webhooks.deliveries set state = ${state}::webhooks.delivery_state, due_at = null, round_attempts = 13,
        given_up_at = case when ${state} = 'GIVEN_UP' then now() end
      where id = any(${ids})`);
  }
  return ids;
}

const since = (text: string) => timestampFromDate(new Date(text));
const all = () => ({
  merchantId,
  environment: Environment.SANDBOX,
  createTimeFrom: since('2026-01-01T00:00:00Z'),
});
const progress = async (redeliveryId: string) =>
  (await desk.client('reader').getRedelivery({ merchantId, redeliveryId })).redelivery!;
const ended = (redeliveryId: string) =>
  waitUntil('the redelivery has ended', async () => {
    const redelivery = await progress(redeliveryId);
    return redelivery.endTime === undefined ? undefined : redelivery;
  });
const pendingIds = async (): Promise<string[]> => {
  const { rows } = await desk.database.pool.query<{ id: string }>(sql`select id from webhooks.deliveries
    where merchant_id = ${merchantId} and state = 'PENDING' and round_attempts = 0 order by id`);
  return rows.map(({ id }) => id);
};

describe('a redelivery', () => {
  test('selects abandoned deliveries in batches, and reports its progress', async () => {
    const givenUp = await deliver(1_200, 'GIVEN_UP');
    await deliver(600, 'DELIVERED');

    const { redelivery } = await operator().startRedelivery(all());
    expect(redelivery).toMatchObject({
      merchantId,
      states: [DeliveryState.GIVEN_UP],
      redeliveredCount: 0n,
    });
    expect(redelivery?.endTime).toBeUndefined();
    const worker = startWorker();
    const done = await ended(redelivery!.redeliveryId);

    expect(done).toMatchObject({ redeliveredCount: 1_200n, pendingCount: 1_200n, deliveredCount: 0n });
    expect(await pendingIds()).toEqual([...givenUp].sort());
    expect(worker.due()).toBeGreaterThan(1);
    await desk.database.pool.query(sql`update webhooks.deliveries set state = 'DELIVERED', due_at = null
      where id = any(${givenUp.slice(0, 500)})`);
    const changed = await waitUntil('the deliveries are counted again', async () => {
      const counted = await progress(redelivery!.redeliveryId);
      return counted.pendingCount < 1_200n ? counted : undefined;
    });
    expect(changed).toMatchObject({ pendingCount: 700n, deliveredCount: 500n });
  });

  test('of more than a thousand deliveries is counted once in two seconds, however often it is read', async () => {
    const ids = await deliver(1_100, 'GIVEN_UP');
    const { redelivery } = await operator().startRedelivery(all());
    startWorker();
    await ended(redelivery!.redeliveryId);

    const seen = new Set<bigint>();
    for (const id of ids.slice(0, 20)) {
      await desk.database.pool.query(sql`
        update webhooks.deliveries set state = 'DELIVERED', due_at = null where id = ${id}`);
      seen.add((await progress(redelivery!.redeliveryId)).deliveredCount);
    }

    expect(seen.size).toBeLessThan(10);
  });

  test('is refused for an unknown merchant', async () => {
    const unknown = { ...all(), merchantId: newRandomId('mer', new Date()) };

    expect(await failureOf(operator().startRedelivery(unknown))).toMatchObject({
      reason: 'MERCHANT_NOT_FOUND',
    });
  });

  test('selects deliveries of the requested states, environment and time, and of no other merchant', async () => {
    const [early, late] = [await deliver(2, 'DELIVERED'), await deliver(2, 'DELIVERED')];
    const { id: other } = await stack.createMerchant();
    await desk.deliver(other);
    await desk.deliver(merchantId, { environment: 'PRODUCTION' });
    await desk.database.pool.query(sql`
      update webhooks.deliveries set created_at = now() - interval '2 hours' where id = any(${early})`);
    const hourAgo = timestampFromDate(new Date(Date.now() - 3600_000));
    startWorker();
    const begun = await operator().startRedelivery({
      ...all(),
      createTimeFrom: hourAgo,
      states: [DeliveryState.DELIVERED, DeliveryState.GIVEN_UP],
    });
    const done = await ended(begun.redelivery!.redeliveryId);
    expect(done.redeliveredCount).toBe(2n);
    const { rows } = await desk.database.pool.query<{ id: string }>(`
      select id from webhooks.deliveries where redelivery_id is not null order by id`);
    expect(rows.map(({ id }) => id)).toEqual([...late].sort());
  });

  test.each([
    ['behind', 23],
    ['ahead', -23],
  ])(
    'selects by the time of the database, to the instant, although the clock that made the ids was 23 hours %s',
    async (_which, hours) => {
      const from = new Date(Math.floor(Date.now() / 1000) * 1000 + hours * 3_600_000);
      const to = new Date(from.getTime() + 1_000);
      const [first, ...later] = await deliver(2, 'DELIVERED');
      await desk.database.pool.query(sql`update webhooks.deliveries
        set created_at = case when id = ${first} then ${from} else ${to} end::timestamptz
        where id = any(${[first, ...later]})`);
      startWorker();
      const begun = await operator().startRedelivery({
        ...all(),
        ...{ createTimeFrom: timestampFromDate(from), createTimeTo: timestampFromDate(to) },
        states: [DeliveryState.DELIVERED],
      });

      await ended(begun.redelivery!.redeliveryId);

      expect(await pendingIds()).toEqual([first]);
    },
  );

  test('runs once at a time for a merchant and environment', async () => {
    await operator().startRedelivery(all());
    expect(await failureOf(operator().startRedelivery(all()))).toMatchObject({
      code: 'FailedPrecondition',
      reason: 'REDELIVERY_RUNNING',
    });
    await operator().startRedelivery({ ...all(), environment: Environment.PRODUCTION });
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 5 }, () =>
        operator().startRedelivery({ ...all(), environment: Environment.PRODUCTION }),
      ),
    ]);
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
  });

  test('is shared by several processes, and nothing is done twice', async () => {
    await deliver(1_600, 'GIVEN_UP');
    for (let index = 0; index < 3; index += 1) startWorker();
    const { redelivery } = await operator().startRedelivery(all());
    expect((await ended(redelivery!.redeliveryId)).redeliveredCount).toBe(1_600n);
  });

  test('takes turns with others: a small one does not wait for a large one to end', async () => {
    await deliver(2_000, 'GIVEN_UP');
    const large = await operator().startRedelivery(all());
    const { id: other } = await stack.createMerchant();
    const small = await operator().startRedelivery({ ...all(), merchantId: other });
    startWorker();
    await waitUntil('the small one has ended', async () => {
      const { redelivery } = await operator().getRedelivery({
        merchantId: other,
        redeliveryId: small.redelivery!.redeliveryId,
      });
      return redelivery?.endTime !== undefined;
    });
    const { rows } = await desk.database.pool.query<{ first: string }>(`
      select merchant_id as first from webhooks.redeliveries order by ended_at nulls last limit 1`);
    expect(rows).toEqual([{ first: other }]);
    await ended(large.redelivery!.redeliveryId);
  });

  test('that fails for ever does not hold another one', async () => {
    await deliver(1, 'GIVEN_UP');
    await desk.database.pool.query(`
      create function fail_redelivery() returns trigger language plpgsql as $$ begin raise 'cannot be written'; end $$;
      create trigger fail_redelivery before update on webhooks.deliveries for each row
        when (new.merchant_id = '${merchantId}') execute function fail_redelivery()`);
    closers.push(async () => void (await desk.database.pool.query('drop function fail_redelivery cascade')));
    const failing = await operator().startRedelivery(all());
    ({ id: merchantId } = await stack.createMerchant());
    await deliver(1_200, 'GIVEN_UP');
    const other = await operator().startRedelivery(all());

    const { log } = startWorker();

    expect(await ended(other.redelivery!.redeliveryId)).toMatchObject({ redeliveredCount: 1_200n });
    expect(log.find(({ msg }) => msg === 'redelivery failed; trying again')).toMatchObject({
      redelivery_id: failing.redelivery!.redeliveryId,
    });
  });

  test('leaves no delivery out and counts none twice when its process is killed', async () => {
    const ids = await deliver(4_000, 'GIVEN_UP');
    const { redelivery } = await operator().startRedelivery(all());
    const redeliveryId = redelivery!.redeliveryId;
    const child = spawn(
      process.execPath,
      [resolve(import.meta.dirname, 'redelivery-worker.ts'), stack.databaseUrl],
      { stdio: 'ignore' },
    );
    const exited = new Promise((done) => child.once('exit', done));
    await waitUntil(
      'it has begun',
      async () => (await progress(redeliveryId)).redeliveredCount > 0n || child.exitCode !== null,
    );
    child.kill('SIGKILL');
    await exited;
    const killedAt = await progress(redeliveryId);

    startWorker();
    const done = await ended(redeliveryId);

    expect(killedAt.redeliveredCount % 500n).toBe(0n);
    expect(done).toMatchObject({ redeliveredCount: 4_000n, pendingCount: 4_000n });
    expect(await pendingIds()).toEqual([...ids].sort());
  });
});

describe('errors', () => {
  test('all invalid fields are named together', async () => {
    const { issues } = await failureOf(operator().startRedelivery({ merchantId: 'x', states: [0] }));
    expect(issues).toEqual({
      merchant_id: expect.any(String),
      environment: expect.any(String),
      create_time_from: 'is required',
      states: 'must be PENDING, DELIVERED, GIVEN_UP',
    });
    const backwards = { ...all(), createTimeTo: since('2025-01-01T00:00:00Z') };
    expect((await failureOf(operator().startRedelivery(backwards))).issues).toEqual({
      create_time_to: 'must be later than create_time_from',
    });
    expect(await wrongFields(operator().getRedelivery({}))).toBe('merchant_id redelivery_id');
  });
});
