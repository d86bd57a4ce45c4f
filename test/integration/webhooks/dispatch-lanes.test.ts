import { randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { abandonExpired } from '../../../src/webhooks/delivery/abandon-expired.sql.ts';
import { leaseLanes } from '../../../src/webhooks/delivery/lease-lanes.sql.ts';
import { laneOwner } from '../../../src/webhooks/delivery/lane-arrays.ts';
import type { LaneLease } from '../../../src/webhooks/delivery/lane-runner.ts';
import { pauseLane, resumeLane } from '../../../src/webhooks/delivery/pause-lane.ts';
import { inMs, laneOf, merchant } from './dispatch-desk.ts';
import { answer, onDemand, onlyFor, silence } from './receivers.ts';
import { sharedDispatchDesk } from './shared-dispatch-desk.ts';

const desk = sharedDispatchDesk();

const hour = 3_600_000;

describe('lanes', () => {
  test('are never sent by two dispatchers at the same time, and each delivery is sent once', async () => {
    const underWay = new Map<string, number>();
    let most = 0;
    const shop = await desk.receive(({ webhook, response }) => {
      const id = String(webhook.headers['webhook-id']);
      underWay.set(id, (underWay.get(id) ?? 0) + 1);
      most = Math.max(most, ...underWay.values());
      setImmediate(() => {
        underWay.set(id, (underWay.get(id) ?? 1) - 1);
        response.writeHead(200).end();
      });
    });
    // Longer than a busy machine may stop this process: after its lease, a lane may be leased again, and its webhooks are sent again.
    const leases = { leaseMs: 60_000, deadlineMs: 30_000 };
    await desk.startDispatcher(leases);
    await desk.startDispatcher(leases);
    const merchants = Array.from({ length: 20 }, merchant);

    await desk.add(
      ...Array.from({ length: 200 }, (_, index) => ({
        url: shop.origin,
        merchantId: merchants[index % 20]!,
      })),
    );

    await desk.untilAllDelivered();
    await desk.untilIdle();
    expect(most).toBe(1);
    expect(shop.webhooks).toHaveLength(200);
    expect((await desk.deliveries()).every(({ attempt_count: count }) => count === 1)).toBe(true);
  });

  test('are not delayed by a receiver that is slow for one order', async () => {
    const shop = await desk.receive(onlyFor(({ target }) => target === '/slow', silence, answer(200)));
    await desk.startDispatcher();
    const [slow] = await desk.add({ url: `${shop.origin}/slow` });
    await waitUntil('the slow one is on its way', () => shop.webhooks.length === 1);

    const others = await desk.add(...Array.from({ length: 50 }, () => ({ url: shop.origin })));

    for (const { id } of others) await desk.untilState(id, 'DELIVERED');
    expect(await desk.delivery(slow!.id)).toMatchObject({ state: 'PENDING', attempt_count: 0 });
  });

  test('open the circuit after five failures in a row, are probed with one delivery, and close it after a success', async () => {
    const shop = await desk.receive(answer(503));
    const dispatcher = await desk.startDispatcher();
    await desk.add(...Array.from({ length: 30 }, () => ({ url: shop.origin })));
    await waitUntil('the circuit is open', async () => (await desk.lanes())[0]?.resting_until ?? false);
    await desk.untilIdle();
    const [open] = await desk.lanes();
    const before = shop.webhooks.length;
    expect(before).toBeLessThanOrEqual(6);
    expect(open!.next_due_at!.getTime()).toBeGreaterThanOrEqual(open!.resting_until!.getTime());

    expect(open).toMatchObject({ failing_since: expect.any(Date), last_attempt_result: 'REFUSED' });
    expect(open!.failing_since!.getTime()).toBeLessThan(open!.last_failure_at!.getTime());

    await desk.letTimePass(Math.max(0, inMs(open!.resting_until)) + 1);
    await waitUntil(
      'a probe failed',
      async () => (await desk.lanes())[0]!.consecutive_failures > open!.consecutive_failures,
    );
    await desk.untilIdle();
    expect(shop.webhooks).toHaveLength(before + 1);
    expect((await desk.lanes())[0]!.failing_since).toEqual(open!.failing_since);

    shop.behave(answer(200));
    await desk.letTimePass(60_000);
    await desk.untilAllDelivered();
    expect(
      await waitUntil('it is well', async () => {
        const [lane] = await desk.lanes();
        return lane!.consecutive_failures === 0 && lane;
      }),
    ).toMatchObject({
      ...{ resting_until: null, failing_since: null, last_attempt_result: 'DELIVERED' },
      last_failure_at: expect.any(Date),
    });
    expect(dispatcher.log.map(({ msg }) => msg)).toEqual(
      expect.arrayContaining([
        'circuit open: the endpoint keeps failing, so one delivery at a time probes it',
        'circuit closed: the endpoint has recovered',
      ]),
    );
  });

  test('are not delayed by another one that never answers', async () => {
    const dead = await desk.receive(silence);
    const shop = await desk.receive();
    await desk.startDispatcher({ maxInFlight: 16 });
    await desk.add(
      ...Array.from({ length: 200 }, (_, index) => ({
        url: dead.origin,
        merchantId: `mer_dead_${index % 3}`,
      })),
    );
    await waitUntil('the dead lanes are busy', () => dead.webhooks.length >= 3);

    const healthy = await desk.add(
      ...Array.from({ length: 100 }, (_, index) => ({ url: shop.origin, merchantId: `mer_${index % 10}` })),
    );

    for (const { id } of healthy) await desk.untilState(id, 'DELIVERED');
    expect((await desk.deliveries()).filter(({ state }) => state === 'DELIVERED')).toHaveLength(100);
  });

  test('that have never answered are tried by a process with a single slot', async () => {
    const shop = await desk.receive();
    await desk.startDispatcher({ maxInFlight: 1 });
    const [first] = await desk.add({ url: shop.origin, merchantId: 'mer_new' });

    await desk.untilState(first!.id, 'DELIVERED');
  });

  test('that have never answered use at most half of the slots, however many hang at once', async () => {
    const silent = await desk.receive(silence);
    const shop = await desk.receive();
    await desk.startDispatcher({ maxInFlight: 16 });
    const [first] = await desk.add({ url: shop.origin, merchantId: 'mer_known' });
    await desk.untilState(first!.id, 'DELIVERED');
    await desk.add(
      ...Array.from({ length: 60 }, (_, index) => ({ url: silent.origin, merchantId: `mer_new_${index}` })),
    );
    await waitUntil('the new lanes have all that they may have', () => silent.webhooks.length >= 8);

    const [next] = await desk.add({ url: shop.origin, merchantId: 'mer_known' });

    await desk.untilState(next!.id, 'DELIVERED');
    const others = (await desk.deliveries()).filter(({ merchant_id: id }) => id !== 'mer_known');
    expect(others.every(({ state, attempt_count: attempts }) => state === 'PENDING' && attempts === 0)).toBe(
      true,
    );
    expect(silent.webhooks).toHaveLength(8);
  });

  test('with much to send make room for one that has just become due', async () => {
    const shop = await desk.receive((exchange) => void setTimeout(() => answer(204)(exchange), 20));
    for (let index = 0; index < 6; index += 1)
      await desk.add(
        ...Array.from({ length: 400 }, () => ({ url: shop.origin, merchantId: `mer_busy_${index}` })),
      );
    await desk.startDispatcher({ leaseMs: 5_000, deadlineMs: 3_000, maxInFlight: 4 });
    await waitUntil('they are being sent', () => shop.webhooks.length > 20);

    const [newcomer] = await desk.add({ url: shop.origin, merchantId: 'mer_new' });

    await desk.untilState(newcomer!.id, 'DELIVERED');
    expect((await desk.deliveries()).some(({ state }) => state === 'PENDING')).toBe(true);
  });

  test('of one merchant have sixteen slots, which all of its endpoints share in turn', async () => {
    const { held, behaviour, release } = onDemand();
    const shops = await Promise.all(Array.from({ length: 20 }, () => desk.receive(behaviour)));
    await desk.startDispatcher();

    await desk.add(...shops.flatMap(({ origin }) => Array.from({ length: 3 }, () => ({ url: origin }))));

    await waitUntil('sixteen arrived', () => held.length >= 16);
    const most = { inFlight: held.length };
    await waitUntil('everything is delivered', async () => {
      most.inFlight = Math.max(most.inFlight, held.length);
      release();
      return (await desk.deliveries()).every(({ state }) => state === 'DELIVERED');
    });
    expect(most.inFlight).toBe(16);
  });

  test('of the sandbox that never answer do not delay the same merchant in production', async () => {
    const silent = await Promise.all(Array.from({ length: 16 }, () => desk.receive(silence)));
    await desk.startDispatcher();
    await desk.add(...silent.map(({ origin }) => ({ url: origin })));
    await waitUntil('all slots of the sandbox are taken', () =>
      silent.every(({ webhooks }) => webhooks.length === 1),
    );

    const [live] = await desk.add({ url: 'https://127.0.0.1/hook', environment: 'PRODUCTION' });

    // Production sends nothing to a private address, so the attempt ends at once.
    await desk.untilAttempts(live!.id, 1);
    const inSandbox = (await desk.deliveries()).filter(({ id }) => id !== live!.id);
    expect(inSandbox.map(({ attempt_count: count }) => count)).toEqual(Array(16).fill(0));
  });

  test('that are paused keep their deliveries, record attempts in flight, and send the rest after resume', async () => {
    const { held, behaviour, release } = onDemand();
    const shop = await desk.receive(behaviour);
    const dispatcher = await desk.startDispatcher();
    await desk.add(...Array.from({ length: 10 }, () => ({ url: shop.origin })));
    await waitUntil('two are on their way', () => held.length === 2);

    expect(await pauseLane(desk.database.pool, laneOf(shop.origin), 'moving house')).toBe(true);
    // A delivery that was read before the pause may still begin. None begins after a result has reported the pause.
    await waitUntil('the lane is given up', async () => {
      release();
      return (await desk.lanes())[0]!.lease_id === null;
    });
    const sentBefore = shop.webhooks.length;
    const delivered = (await desk.deliveries()).filter(({ state }) => state === 'DELIVERED');
    expect(delivered).toHaveLength(sentBefore);
    expect(sentBefore).toBeLessThan(10);
    expect(await desk.lanes()).toMatchObject([{ pause_reason: 'moving house' }]);
    await desk.letTimePass(100 * hour);
    // One statement leases all lanes that are due.
    const other = await desk.receive(answer(200));
    await desk.add({ url: other.origin });
    dispatcher.ring();
    await waitUntil('another lane is served', () => other.webhooks.length === 1);
    expect(shop.webhooks).toHaveLength(sentBefore);
    const [paused] = (await desk.lanes()).filter(({ pause_reason: reason }) => reason !== '');
    expect(paused).toMatchObject({ lease_id: null, next_due_at: expect.any(Date) });

    shop.behave(answer(200));
    expect(await resumeLane(desk.database.pool, laneOf(shop.origin))).toBe(true);
    dispatcher.ring();
    await desk.untilAllDelivered();
    expect(shop.webhooks).toHaveLength(10);
  });

  test('with an open circuit are due at once when they are resumed, and do not count as failing', async () => {
    const { pool } = desk.database;
    await desk.add({ url: 'https://shop.example' });
    const later = `now() + interval '1 hour'`;
    await pool.query(`update webhooks.lanes
      set consecutive_failures = 7, failing_since = now(), resting_until = ${later}, next_due_at = ${later}`);

    await resumeLane(pool, laneOf('https://shop.example'));

    const [lane] = await desk.lanes();
    const healthy = { consecutive_failures: 0, failing_since: null, resting_until: null, resumed_at: null };
    expect(lane).toMatchObject(healthy);
    expect(inMs(lane?.next_due_at)).toBeLessThan(3_000_000);
  });

  test('that a receiver paused by 410 stay paused since then when somebody pauses them too', async () => {
    const { pool } = desk.database;
    await desk.add({ url: 'https://shop.example' });
    await pool.query(`update webhooks.lanes set paused_at = '2026-01-01T00:00:00Z', paused_by_answer = true`);

    await pauseLane(pool, laneOf('https://shop.example'), 'moving house');

    const { rows } = await pool.query<object>(`
      select paused_at::date::text as since, pause_reason, paused_by_answer from webhooks.lanes`);
    expect(rows).toEqual([{ since: '2026-01-01', pause_reason: 'moving house', paused_by_answer: false }]);
  });

  test('that have waited longer are leased first', async () => {
    const { pool } = desk.database;
    await desk.add(...['a', 'b', 'c'].map((name) => ({ url: `https://${name}.example` })));
    await pool.query(`update webhooks.lanes set next_due_at = now() - interval '1 hour'
      where endpoint = 'https://b.example'`);
    const request = { exceptOwners: [], leaseId: randomUUID(), leaseMs: 20_000 };

    const { lanes } = await leaseLanes(pool, { ...request, lanes: 1, unhealthyLanes: 1 });

    expect(lanes.map(({ lane }) => lane.endpoint)).toEqual(['https://b.example']);
  });

  test('that are unknown can be neither paused nor resumed', async () => {
    const { pool } = desk.database;

    expect(await pauseLane(pool, laneOf('https://nobody.example'), '')).toBe(false);
    expect(await resumeLane(pool, laneOf('https://nobody.example'))).toBe(false);
  });

  test('that failed for 76 hours abandon deliveries that were never attempted', async () => {
    const shop = await desk.receive(answer(503));
    await desk.startDispatcher();
    const old = await desk.add(...Array.from({ length: 30 }, () => ({ url: shop.origin })));
    await waitUntil('the circuit is open', async () => (await desk.lanes())[0]?.resting_until ?? false);
    await desk.untilIdle();

    await desk.letTimePass(77 * hour);
    const [fresh] = await desk.add({ url: shop.origin });

    for (const { id } of old) await desk.untilState(id, 'GIVEN_UP');
    await desk.untilIdle();
    expect((await desk.delivery(fresh!.id)).state).toBe('PENDING');
    expect(shop.webhooks.length).toBeLessThan(10);
    expect((await desk.deliveries()).map(({ last_result: words }) => words)).toContain(
      'abandoned before it was sent: its host or webhook endpoint failed until its schedule of 76 hours ended',
    );
  });

  test.each([
    ['failed meanwhile', 1, `last_failure_at = now()`],
    ['failed only before', 0, `last_failure_at = now() - interval '78 hours'`],
    ['never failed, as during a downtime of Gatehouse,', 0, `last_failure_at = null`],
    ['were resumed later', 0, `last_failure_at = now(), resumed_at = now() - interval '1 hour'`],
    ['are paused', 0, `last_failure_at = now(), paused_at = now()`],
    ['have another lease', 0, `last_failure_at = now(), lease_id = gen_random_uuid()`],
  ])('that %s abandon %d of 1 delivery that has waited for 77 hours', async (_which, abandoned, change) => {
    const { pool } = desk.database;
    const leaseId = randomUUID();
    await desk.add({ url: 'https://shop.example' });
    await pool.query(`update webhooks.deliveries set round_started_at = now() - interval '77 hours'`);
    await pool.query(sql`update webhooks.lanes set lease_id = ${leaseId}, leased_until = now()`);
    await pool.query(`update webhooks.lanes set ${change}`);

    const held = { lane: laneOf('https://shop.example'), leaseId };
    const [machineNow, behind] = [new Date(), new Date(Date.now() - 2 * hour)];

    expect(await abandonExpired(pool, held, 10, behind)).toBe(0);
    expect(await abandonExpired(pool, held, 10, machineNow)).toBe(abandoned);
  });
});

describe('new deliveries', () => {
  /** A lane whose last delivery was delivered, and that has nothing to send. */
  const provenShop = async () => {
    const shop = await desk.receive();
    const dispatcher = await desk.startDispatcher();
    const [first] = await desk.add({ url: shop.origin });
    await desk.untilState(first!.id, 'DELIVERED');
    await desk.untilIdle();
    return { shop, dispatcher };
  };
  /** Writes a delivery as a process does that offers this lease. */
  const addWithLease = (url: string, own: Partial<LaneLease> = {}) => {
    const lease = { leaseId: randomUUID(), leaseMs: 20_000, lanes: 10, exceptOwners: [], ...own };
    return desk.addBeside({ leases: { writeWithLease: (write) => write(lease) } }, { url });
  };

  test('of an idle lane are leased when they are written, and sent once, those of one order in sequence', async () => {
    const { shop, dispatcher } = await provenShop();
    const of = (orderId: string, sequence: bigint) => ({
      url: shop.origin,
      orderId,
      sequence,
      eventId: `evt_${orderId}_${sequence}`,
    });

    const { created, unleased, leased } = await desk.addBeside(
      dispatcher,
      ...[of('ord_1', 5n), of('ord_1', 3n), of('ord_1', 4n)],
      ...Array.from({ length: 10 }, (_, index) => of(`ord_other_${index}`, 1n)),
    );

    expect([created.length, unleased]).toEqual([13, 0]);
    expect(leased.lanes[0]?.heads).toHaveLength(8);
    await desk.untilAllDelivered();
    await desk.untilIdle();
    const ids = shop.webhooks.map(({ headers }) => String(headers['webhook-id']));
    expect(ids.filter((id) => id.startsWith('evt_ord_1_'))).toEqual([
      'evt_ord_1_3',
      'evt_ord_1_4',
      'evt_ord_1_5',
    ]);
    expect(new Set(ids).size).toBe(14);
    expect(ids).toHaveLength(14);
  });

  test.each([
    ['is paused', `paused_at = now()`],
    ['failed last', `consecutive_failures = 1`],
    ['backs off', `consecutive_failures = 5, resting_until = now() + interval '1 hour'`],
    ['has never answered', `last_success_at = null`],
    ['has other deliveries', `next_due_at = now() + interval '1 hour'`],
    ['waits for a secret', `awaits_secret_since = now()`],
    ['is leased', `lease_id = gen_random_uuid(), leased_until = now() + interval '1 hour'`],
  ])('are left to a dispatcher if their lane %s', async (_, change) => {
    const { shop, dispatcher } = await provenShop();
    await dispatcher.stop();
    await desk.database.pool.query(`update webhooks.lanes set ${change}`);
    const leaseIds = async () => (await desk.lanes()).map(({ lease_id: leaseId }) => leaseId);
    const before = await leaseIds();

    const { unleased, leased } = await addWithLease(shop.origin);

    expect(unleased).toBe(1);
    expect(leased.lanes).toEqual([]);
    expect(await leaseIds()).toEqual(before);
  });

  test.each([
    ['wants no more lanes', { lanes: 0 }],
    ['serves too many lanes of the merchant', { exceptOwners: [laneOwner(laneOf(''))] }],
  ])('are left to a dispatcher if the process %s', async (_, own) => {
    const { shop, dispatcher } = await provenShop();
    await dispatcher.stop();

    const { unleased } = await addWithLease(shop.origin, own);

    expect(unleased).toBe(1);
    expect((await desk.lanes())[0]).toMatchObject({ lease_id: null, next_due_at: expect.any(Date) });
  });

  test('that were leased by a process that then exited are sent by another one after the lease', async () => {
    const { shop } = await provenShop();

    const { leased } = await addWithLease(shop.origin, { leaseMs: 1 });

    expect(leased.lanes).toHaveLength(1);
    await desk.untilAllDelivered();
    expect(shop.webhooks).toHaveLength(2);
  });
});
