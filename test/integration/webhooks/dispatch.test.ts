import { describe, expect, test } from '@jest/globals';
import { waitUntil } from '../../support/wait-until.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { resumeLane } from '../../../src/webhooks/delivery/pause-lane.ts';
import { createRedeliveryStore } from '../../../src/webhooks/redeliveries/redelivery-store.ts';
import { insertRow } from '../../support/insert-row.ts';
import { sql } from '../../support/sql.ts';
import { inMs, laneOf } from './dispatch-desk.ts';
import { answer, onDemand } from './receivers.ts';
import { sharedDispatchDesk } from './shared-dispatch-desk.ts';

const desk = sharedDispatchDesk();

const hour = 3_600_000;

describe('a delivery', () => {
  test('is sent once, with the stored bytes, and its empty lane is released', async () => {
    const shop = await desk.receive();
    const dispatcher = await desk.startDispatcher();

    const [delivery] = await desk.add({ url: `${shop.origin}/hook?key=1` });

    const stored = await desk.untilState(delivery!.id, 'DELIVERED');
    await desk.untilIdle();
    expect(stored).toMatchObject({ attempt_count: 1, last_result: '204', due_at: null });
    expect(shop.webhooks).toHaveLength(1);
    expect(shop.webhooks[0]).toMatchObject({ target: '/hook?key=1', body: delivery!.body });
    expect(shop.webhooks[0]!.headers).toMatchObject({ 'webhook-id': delivery!.eventId });
    expect(await desk.lanes()).toMatchObject([{ next_due_at: null, lease_id: null, last_result: '204' }]);
    expect(dispatcher.log.filter(({ msg }) => msg === 'webhook attempt')).toMatchObject([
      {
        level: 'info',
        delivery_id: delivery!.id,
        merchant_id: delivery!.merchantId,
        environment: 'sandbox',
        event_id: delivery!.eventId,
        event_type: 'order.completed',
        endpoint: shop.origin,
        attempt: 1,
        result: 'DELIVERED',
        status: 204,
        remote_address: '127.0.0.1',
      },
    ]);
    expect(JSON.stringify(dispatcher.log)).not.toContain('key=1');
  });

  test('that was not received is due again by its schedule, and each attempt is kept', async () => {
    const shop = await desk.receive(answer(500, {}, 'out of order'));
    const dispatcher = await desk.startDispatcher();
    const [delivery] = await desk.add({ url: shop.origin });

    const first = await desk.untilAttempts(delivery!.id, 1);
    await desk.untilIdle();
    expect(first).toMatchObject({ state: 'PENDING', round_attempts: 1, last_result: '500' });
    expect(inMs(first.due_at)).toBeGreaterThan(0);
    expect(inMs(first.due_at)).toBeLessThanOrEqual(5_500);
    expect((await desk.lanes())[0]!.next_due_at).toEqual(first.due_at);

    shop.behave(answer(200));
    await desk.letTimePass(6_000);
    await desk.untilState(delivery!.id, 'DELIVERED');
    const { rows } = await desk.database.pool.query(`
      select number, result, status_code, response_body from webhooks.delivery_attempts order by number`);
    expect(rows).toMatchObject([
      { number: 1, result: 'REFUSED', status_code: 500, response_body: Buffer.from('out of order') },
      { number: 2, result: 'DELIVERED', status_code: 200 },
    ]);
    expect(
      dispatcher.log.find(({ msg, level }) => msg === 'webhook attempt' && level === 'warn'),
    ).toMatchObject({
      next_attempt_at: first.due_at!.toISOString(),
    });
  });

  test('waits as long as Retry-After says', async () => {
    const shop = await desk.receive(answer(429, { 'retry-after': '7200' }));
    await desk.startDispatcher();
    const [delivery] = await desk.add({ url: shop.origin });

    const stored = await desk.untilAttempts(delivery!.id, 1);

    expect(inMs(stored.due_at)).toBeGreaterThan(2 * hour - 30_000);
    // Dispatchers take the database's time from a statement that leases lanes, which may be late by its round trip.
    expect(inMs(stored.due_at)).toBeLessThan(2 * hour + 30_000);
  });

  test('is abandoned after the 13th attempt of its schedule', async () => {
    const shop = await desk.receive(answer(404));
    const [delivery] = await desk.add({ url: shop.origin });
    await desk.database.pool.query('update webhooks.deliveries set round_attempts = 12, attempt_count = 12');
    await desk.startDispatcher();

    const stored = await desk.untilState(delivery!.id, 'GIVEN_UP');
    await desk.untilIdle();

    expect(stored).toMatchObject({ attempt_count: 13, due_at: null });
    expect(shop.webhooks).toHaveLength(1);
    expect(await desk.lanes()).toMatchObject([{ next_due_at: null }]);
  });

  test.each([12, 6])(
    'that is redelivered during its attempt, after %i others of its schedule, is due at once whatever the outcome of that attempt',
    async (attemptsBefore) => {
      let refuse = (): void => undefined;
      const shop = await desk.receive(({ response }) => {
        refuse = () => response.writeHead(500).end();
      });
      const [delivery] = await desk.add({ url: shop.origin });
      await desk.database.pool.query(sql`update webhooks.deliveries
        set round_attempts = ${attemptsBefore}, attempt_count = ${attemptsBefore}`);
      await desk.startDispatcher();
      await waitUntil('it is on its way', () => shop.webhooks.length === 1);

      const { pool } = desk.database;
      const redeliveries = createRedeliveryStore({ pool, newId: newRandomId, now: () => new Date() });
      await redeliveries.redeliver(delivery!.merchantId, delivery!.id, { actor: 'a', requestId: 'r' });
      shop.behave(answer(204));
      refuse();

      expect(await desk.untilState(delivery!.id, 'DELIVERED')).toMatchObject({
        attempt_count: attemptsBefore + 2,
        round_attempts: 1,
      });
    },
  );

  test('answered with 410 pauses its lane, and resuming sends it again', async () => {
    const shop = await desk.receive(answer(410));
    const dispatcher = await desk.startDispatcher();
    const [gone] = await desk.add({ url: shop.origin });
    await desk.untilAttempts(gone!.id, 1);
    await desk.untilIdle();
    expect(await desk.delivery(gone!.id)).toMatchObject({ state: 'PENDING', last_result: '410' });
    expect(await desk.lanes()).toMatchObject([
      {
        paused_at: expect.any(Date),
        pause_reason: `answered 410 Gone to ${gone!.id}`,
        paused_by_answer: true,
      },
    ]);
    const [later] = await desk.add({ url: shop.origin });
    shop.behave(answer(200));
    expect(shop.webhooks).toHaveLength(1);

    await resumeLane(desk.database.pool, laneOf(shop.origin));
    dispatcher.ring();

    await desk.untilState(gone!.id, 'DELIVERED');
    await desk.untilState(later!.id, 'DELIVERED');
    expect(await desk.lanes()).toMatchObject([{ paused_at: null, pause_reason: '' }]);
  });

  test('has the whole time of its schedule after a pause of a week', async () => {
    const shop = await desk.receive(answer(410));
    const dispatcher = await desk.startDispatcher();
    const [gone, later] = await desk.add({ url: shop.origin }, { url: shop.origin });
    await waitUntil('it is paused', async () => (await desk.lanes())[0]?.paused_at != null);
    await desk.untilIdle();
    await desk.letTimePass(7 * 24 * hour);
    const before = shop.webhooks.length;
    shop.behave(answer(500));

    await resumeLane(desk.database.pool, laneOf(shop.origin));
    dispatcher.ring();

    await waitUntil('both are sent again', () => shop.webhooks.length >= before + 2);
    await desk.untilIdle();
    for (const { id } of [gone!, later!]) expect((await desk.delivery(id)).state).toBe('PENDING');
  });
});

describe('the order of events', () => {
  test('holds within one order: no process sends an event before the previous one is delivered', async () => {
    const { held, behaviour, release } = onDemand();
    const shop = await desk.receive(behaviour);
    await desk.startDispatcher();
    await desk.startDispatcher();
    const url = shop.origin;

    const [first, second, other] = await desk.add(
      { url, orderId: 'ord_1', sequence: 2n },
      { url, orderId: 'ord_1', sequence: 3n },
      { url, orderId: 'ord_2', sequence: 2n },
    );

    await waitUntil('two of them arrived', () => held.length === 2);
    expect(shop.webhooks.map(({ headers }) => headers['webhook-id']).sort()).toEqual(
      [first!.eventId, other!.eventId].sort(),
    );
    release();
    await waitUntil('the next one arrived', () => held.length === 1);
    release();
    await desk.untilState(second!.id, 'DELIVERED');
    expect(shop.webhooks.at(-1)!.headers['webhook-id']).toBe(second!.eventId);
    expect(shop.webhooks).toHaveLength(3);
  });

  test('holds for each webhook endpoint, and one that fails delays no other', async () => {
    const [broken, working] = [await desk.receive(answer(500)), await desk.receive()];
    await desk.startDispatcher();
    const orderId = newRandomId('ord', new Date());
    const merchantId = newRandomId('mer', new Date());
    const own = { orderId, merchantId };
    const addEndpoint = async (url: string): Promise<string> => {
      const id = newRandomId('whe', new Date());
      const at = new Date();
      await insertRow(desk.database.pool, 'webhooks.webhook_endpoints', {
        ...{ merchant_id: merchantId, id, environment: 'SANDBOX', url, description: '' },
        ...{ created_at: at, updated_at: at },
      });
      return id;
    };
    const [one, two] = [await addEndpoint(broken.origin), await addEndpoint(working.origin)];

    const made = await desk.add(
      ...[1n, 2n].flatMap((sequence) => [
        { ...own, sequence, url: broken.origin },
        { ...own, sequence, url: broken.origin, endpoint: one },
        { ...own, sequence, url: working.origin, endpoint: two },
      ]),
    );

    await desk.untilState(made[5]!.id, 'DELIVERED');
    await desk.untilAttempts(made[0]!.id, 1);
    await desk.untilAttempts(made[1]!.id, 1);
    expect(await Promise.all([made[3]!, made[4]!].map(({ id }) => desk.delivery(id)))).toMatchObject([
      { state: 'PENDING', attempt_count: 0 },
      { state: 'PENDING', attempt_count: 0 },
    ]);
    expect(working.webhooks.map(({ headers }) => headers['webhook-id'])).toEqual([
      made[2]!.eventId,
      made[5]!.eventId,
    ]);
    // The endpoint has a new URL, and its pending deliveries go there in sequence.
    await desk.database.pool.query(sql`
      update webhooks.webhook_endpoints set url = ${`${working.origin}/moved`} where id = ${one}`);
    await desk.letTimePass(hour);
    await desk.untilState(made[4]!.id, 'DELIVERED');
    const moved = working.webhooks.filter(({ target }) => target === '/moved');
    expect(moved.map(({ headers }) => headers['webhook-id'])).toEqual([made[1]!.eventId, made[4]!.eventId]);
  });

  test('holds during retries: the next event waits for them, and is sent when the previous one is abandoned', async () => {
    const shop = await desk.receive(answer(500));
    await desk.startDispatcher();
    const url = shop.origin;
    const [first, second] = await desk.add(
      { url, orderId: 'ord_1', sequence: 2n },
      { url, orderId: 'ord_1', sequence: 3n },
    );
    await desk.untilAttempts(first!.id, 1);
    await desk.untilIdle();
    expect((await desk.delivery(second!.id)).attempt_count).toBe(0);

    await desk.letTimePass(77 * hour);
    await desk.untilState(first!.id, 'GIVEN_UP');
    await desk.untilAttempts(second!.id, 1);

    expect(shop.webhooks.map(({ headers }) => headers['webhook-id'])).toEqual([
      first!.eventId,
      first!.eventId,
      second!.eventId,
    ]);
  });
});
