import { afterEach, describe, expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { forgetOldDeliveries } from '../../../src/webhooks/health/forget-old-deliveries.ts';
import { insertDeliveries } from '../../../src/webhooks/intake/insert-deliveries.sql.ts';
import { insertRow } from '../../support/insert-row.ts';
import { newDelivery } from './dispatch-desk.ts';
import { keptLog } from '../../support/kept-log.ts';
import { sql } from '../../support/sql.ts';
import { sharedWebhooksDatabase } from './shared-webhooks-database.ts';

const dayMs = 24 * 60 * 60_000;
const at = new Date('2026-11-21T12:00:00.000Z');
const daysAgo = (days: number): Date => new Date(at.getTime() - days * dayMs);

const database = sharedWebhooksDatabase();
afterEach(() => database.pool.query('truncate webhooks.lanes, webhooks.redeliveries cascade'));

const merchantId = newRandomId('mer', at);

/** Deliveries to an endpoint that were created and ended this long ago. */
async function put(
  endpoint: string,
  count: number,
  { madeDaysAgo = 100, endedDaysAgo = 100, state = 'DELIVERED' } = {},
): Promise<void> {
  const made = daysAgo(madeDaysAgo);
  await insertDeliveries(
    database.pool,
    Array.from({ length: count }, () =>
      newDelivery({ merchantId, endpoint, url: `${endpoint}/hook`, id: newRandomId('whd', made) }),
    ),
  );
  await database.pool.query(
    `update webhooks.deliveries set state = $2::webhooks.delivery_state, created_at = $3,
       due_at = case when $2 = 'PENDING' then $4::timestamptz end,
       delivered_at = case when $2 = 'DELIVERED' then $4::timestamptz end,
       given_up_at = case when $2 = 'GIVEN_UP' then $4::timestamptz end
     where endpoint = $1`,
    [endpoint, state, made, daysAgo(endedDaysAgo)],
  );
  await database.pool.query(sql`insert into webhooks.delivery_attempts
      (merchant_id, delivery_id, number, started_at, duration_ms, result, status_code, detail, remote_address, response_body, retry_after)
    select merchant_id, id, 1, ${daysAgo(endedDaysAgo)}, 5, 'DELIVERED', 204, '', '', '', ''
    from webhooks.deliveries where endpoint = ${endpoint}`);
  await database.pool.query(sql`
    update webhooks.lanes set created_at = ${made}, last_success_at = ${daysAgo(endedDaysAgo)},
      next_due_at = case when ${state} = 'PENDING' then next_due_at end
    where endpoint = ${endpoint}`);
}

async function forget({ now = at, machineNow = at } = {}): Promise<void> {
  const { logger } = keptLog();
  const stop = new AbortController().signal;
  const clocks = { now: () => now, machineNow: () => machineNow };
  await forgetOldDeliveries({ database, retentionDays: 90, logger, ...clocks }, stop);
}

async function left(table: 'deliveries' | 'delivery_attempts' | 'lanes' | 'redeliveries'): Promise<number> {
  const { rows } = await database.pool.query<{ count: string }>(`select count(*) from webhooks.${table}`);
  return Number(rows[0]?.count);
}

describe('deleting old deliveries', () => {
  test('deletes those that ended before the retention period with their attempts, in any number, and then their lane', async () => {
    await put('https://old.example', 1_200);
    await put('https://older.example', 5, { state: 'GIVEN_UP' });

    await forget();

    expect(await left('deliveries')).toBe(0);
    expect(await left('delivery_attempts')).toBe(0);
    expect(await left('lanes')).toBe(0);
  });

  test('keeps those that are pending, ended later, or were delivered again', async () => {
    await put('https://pending.example', 2, { state: 'PENDING' });
    await put('https://recent.example', 2, { madeDaysAgo: 80, endedDaysAgo: 80 });
    await put('https://again.example', 2, { endedDaysAgo: 3 });

    await forget();

    expect(await left('deliveries')).toBe(6);
    expect(await left('delivery_attempts')).toBe(6);
    expect(await left('lanes')).toBe(3);
  });

  test('reads those that wait only once, however many others it deletes', async () => {
    await put('https://waits.example', 3_000, { state: 'PENDING' });
    await put('https://ended.example', 1_500);
    // The pool has one connection in this file, because each query waits for the one before.
    const rowsRead = async (): Promise<number> => {
      await database.pool.query('select pg_stat_force_next_flush()');
      const { rows } = await database.pool.query<{ read: string }>(`
        select seq_tup_read + idx_tup_fetch as read from pg_stat_user_tables
        where relid = 'webhooks.deliveries'::regclass`);
      return Number(rows[0]?.read);
    };
    const before = await rowsRead();

    await forget();

    expect((await rowsRead()) - before).toBeLessThan(15_000);
    expect(await left('deliveries')).toBe(3_000);
  });

  test.each([
    ["the database's clock", { now: daysAgo(-90) }],
    ["the machine's clock", { machineNow: daysAgo(-90) }],
  ])('keeps what is old only by %s, which is ahead', async (_, clocks) => {
    await put('https://recent.example', 2, { madeDaysAgo: 3, endedDaysAgo: 3 });

    await forget(clocks);

    expect([await left('deliveries'), await left('lanes')]).toEqual([2, 1]);
  });

  test.each([
    ['a pause that a person decided', `paused_at = $1, pause_reason = 'asked to'`, 95],
    ['a lane that began recently', 'created_at = $1', 1],
  ])('keeps %s', async (_what, change, days) => {
    await put('https://kept.example', 2);
    await database.pool.query(`update webhooks.lanes set ${change}`, [daysAgo(days)]);

    await forget();

    expect([await left('deliveries'), await left('lanes')]).toEqual([0, 1]);
  });

  test('deletes the redeliveries of that time, except one that runs or ended recently', async () => {
    const ends = [daysAgo(95), daysAgo(3), null];
    for (const [index, endedAt] of ends.entries()) {
      await insertRow(database.pool, 'webhooks.redeliveries', {
        ...{ merchant_id: merchantId, id: newRandomId('whr', daysAgo(100 + index)), environment: 'SANDBOX' },
        ...{ created_from: daysAgo(100), created_to: daysAgo(100), created_at: daysAgo(100) },
        ...{ states: ['GIVEN_UP'], after_id: '', ended_at: endedAt },
      });
    }

    await forget();

    expect(await left('redeliveries')).toBe(2);
  });

  test('deletes an endpoint that the merchant deleted before that time, when its lane is gone', async () => {
    const [old, used, recent, live] = ['whe_old', 'whe_used', 'whe_recent', 'whe_live'];
    for (const [id, deletedDaysAgo] of [
      [old, 95],
      [used, 95],
      [recent, 3],
      [live, undefined],
    ] as const) {
      const deletedAt = deletedDaysAgo === undefined ? null : daysAgo(deletedDaysAgo);
      const [made, rest] = [
        daysAgo(100),
        { environment: 'SANDBOX', url: `https://shop.example/${id}`, description: '' },
      ];
      await insertRow(database.pool, 'webhooks.webhook_endpoints', {
        ...{ merchant_id: merchantId, id, ...rest, created_at: made, updated_at: made },
        ...{ deleted_at: deletedAt, emptied_at: deletedAt },
      });
      await insertRow(database.pool, 'webhooks.webhook_endpoint_types', {
        ...{ merchant_id: merchantId, endpoint_id: id, event_type: '*', since: made },
      });
    }
    await insertRow(database.pool, 'webhooks.lanes', {
      ...{ merchant_id: merchantId, environment: 'SANDBOX', endpoint: used },
      ...{ created_at: daysAgo(100), last_failure_at: daysAgo(3) },
    });

    await forget();

    const { rows } = await database.pool.query('select id from webhooks.webhook_endpoints order by id');
    expect(rows).toEqual([live, recent, used].map((id) => ({ id })));
  });
});
