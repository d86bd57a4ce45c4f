import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { PoolClient } from 'pg';
import { leaseLanes } from '../../../src/webhooks/delivery/lease-lanes.sql.ts';
import { abandonExpired } from '../../../src/webhooks/delivery/abandon-expired.sql.ts';
import { runStatement } from '../../../src/platform/database/run-statement.ts';
import { lockLanes } from '../../../src/webhooks/delivery/lock-lanes.sql.ts';
import { lanesAfter, releasingLanes } from '../../../src/webhooks/delivery/release-lanes.sql.ts';
import { takeHeads } from '../../../src/webhooks/delivery/take-heads.sql.ts';
import { shared } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openDispatchDesk } from './dispatch-desk.ts';
import { addManyDue } from './many-due.ts';
import { silence } from './receivers.ts';
import type { Receiver } from './receivers.ts';

/** So many that reading all of them would be visible. */
const dueCount = 20_000;

const desk = shared(openDispatchDesk);
let shop: Receiver;

beforeAll(async () => {
  const dead = await desk.receive(silence);
  shop = await desk.receive();
  await desk.add({ url: dead.origin, merchantId: 'mer_dead' });
  await addManyDue(desk.database.pool, 'mer_dead', dead.origin, dueCount);
  // Ten more lanes, each with one delivery that can be sent and one that must wait for it.
  await desk.add(
    ...Array.from({ length: 20 }, (_, index) => ({
      url: shop.origin,
      merchantId: `mer_${index % 10}`,
      orderId: `ord_healthy_${index % 10}`,
      sequence: BigInt(1 + Math.floor(index / 10)),
    })),
  );
});

/** Since the connection's counts were last collected. */
async function rowsRead(client: PoolClient): Promise<number> {
  const { rows } = await client.query<{ read: string }>(`
    select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0) as read from pg_stat_xact_user_tables
    where schemaname = 'webhooks' and relname = 'deliveries'`);
  return Number(rows[0]!.read);
}

/** Runs `work`, reverts it, and returns the number of rows of deliveries that were read for it. */
async function rowsReadFor(work: (client: PoolClient) => Promise<unknown>): Promise<number> {
  const client = await desk.database.pool.connect();
  try {
    await client.query('begin');
    const before = await rowsRead(client);
    await work(client);
    return (await rowsRead(client)) - before;
  } finally {
    await client.query('rollback');
    client.release();
  }
}

const leaseAll = (client: PoolClient) =>
  leaseLanes(client, {
    lanes: 100,
    unhealthyLanes: 100,
    exceptOwners: [],
    leaseId: randomUUID(),
    leaseMs: 20_000,
  });

/**
 * Adds an order whose first 500 deliveries were sent. The 501st is due in an hour, and the others wait for it.
 * A delivery of another order is due an hour later. The lane of both counts as healthy.
 */
async function addLongOrder(url: string, count: number): Promise<void> {
  const { pool } = desk.database;
  const long = { url, merchantId: 'mer_long', orderId: 'ord_long' };
  await desk.add(
    ...Array.from({ length: count }, (_, index) => ({ ...long, sequence: BigInt(2 * index + 2) })),
    { ...long, orderId: 'ord_other', sequence: 1_003n },
  );
  await pool.query(`update webhooks.deliveries set state = 'DELIVERED', due_at = null, delivered_at = now()
    where merchant_id = 'mer_long' and sequence <= 1000`);
  await pool.query(`
    update webhooks.deliveries set due_at = date_trunc('milliseconds', now()) + (sequence - 1001) * interval '1 hour'
    where merchant_id = 'mer_long' and sequence in (1002, 1003)`);
  await pool.query("update webhooks.lanes set last_success_at = now() where merchant_id = 'mer_long'");
}

describe.each([
  ['before the database has counted its rows', 'select 1'],
  ['after the database has counted its rows', 'analyze webhooks.deliveries, webhooks.lanes'],
])('%s, a lane with very many due deliveries', (_when, prepare) => {
  beforeAll(() => desk.database.pool.query(prepare));

  test('is leased, beside ten others, by reading a few of them', async () => {
    const read = await rowsReadFor(async (client) => {
      const { lanes } = await leaseAll(client);
      expect(lanes.map(({ heads }) => heads.length).sort()).toEqual([...Array<number>(10).fill(1), 8]);
    });

    expect(read).toBeLessThan(100);
  });

  test('returns more of them, and is released, by reading a few', async () => {
    const read = await rowsReadFor(async (client) => {
      const { lanes } = await leaseAll(client);
      const held = lanes.find(({ heads }) => heads.length === 8)!;
      const exceptIds = held.heads.map(({ id }) => id);
      const taken = await takeHeads(client, [
        { lane: held.lane, leaseId: held.leaseId, limit: 8, exceptIds },
      ]);
      expect([...taken.values()][0]).toHaveLength(8);
      await lockLanes(client, [held.lane]);
      const release = releasingLanes([{ lane: held.lane, delayMs: 0, awaitsSecret: false }]);
      expect(lanesAfter(await runStatement(client, release)).due.size).toBe(1);
    });

    expect(read).toBeLessThan(200);
  });

  test('is searched for expired deliveries by reading no more than requested', async () => {
    const read = await rowsReadFor(async (client) => {
      const { lanes } = await leaseAll(client);
      const held = lanes.find(({ heads }) => heads.length === 8)!;
      await client.query('update webhooks.lanes set last_failure_at = now()');
      await abandonExpired(client, held, 50, new Date());
    });

    expect(read).toBeLessThan(300);
  });
});

describe('a lane with many deliveries of one order, which wait for a failing one', () => {
  const waiting = 3_000;
  beforeAll(async () => {
    await addLongOrder(shop.origin, 501 + waiting);
    await desk.add({ url: shop.origin, merchantId: 'mer_long', orderId: 'ord_behind', sequence: 1n });
    await desk.database.pool.query('analyze webhooks.deliveries');
  });

  test('is leased and released by reading a part of them a few times', async () => {
    const read = await rowsReadFor(async (client) => {
      const { lanes } = await leaseAll(client);
      const held = lanes.find(({ lane }) => lane.merchantId === 'mer_long')!;
      expect(held.heads).toEqual([]);
      await lockLanes(client, [held.lane]);
      const release = releasingLanes([{ lane: held.lane, delayMs: 0, awaitsSecret: false }]);
      expect(lanesAfter(await runStatement(client, release)).hidden.size).toBe(1);
    });

    expect(read).toBeLessThan(waiting);
  });

  test('delivers other orders meanwhile, beside a lane with very many due deliveries', async () => {
    await desk.startDispatcher();

    await waitUntil(
      'everything is delivered except to the silent receiver and of the failing order',
      async () => {
        const { rows } = await desk.database.pool.query<{ count: number }>(`select count(*)::int as count
          from webhooks.deliveries where state = 'DELIVERED' and order_id <> 'ord_long'`);
        return rows[0]!.count === 21;
      },
    );
    expect(shop.webhooks).toHaveLength(21);
  });

  test('sends the next of them once the failing one is delivered', async () => {
    await desk.database.pool.query(`
      update webhooks.deliveries set due_at = due_at - interval '1 hour' where order_id = 'ord_long' and state = 'PENDING';
      update webhooks.lanes set next_due_at = now() where merchant_id = 'mer_long'`);

    await waitUntil('some are delivered', async () => shop.webhooks.length > 21 + 10);
  });
});
