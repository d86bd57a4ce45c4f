import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { waitUntil } from '../../support/wait-until.ts';
import { newRandomId } from '../../../src/runtime/public-id.ts';
import { pauseLane, resumeLane } from '../../../src/webhooks/delivery/pause-lane.ts';
import { createRedeliveryStore } from '../../../src/webhooks/redeliveries/redelivery-store.ts';
import { merchant, openDispatchDesk } from './dispatch-desk.ts';
import type { DispatchDesk } from './dispatch-desk.ts';
import { answer, onlyFor, silence, startReceiver } from './receivers.ts';
import type { Behaviour, Receiver } from './receivers.ts';

let desk: DispatchDesk;
const receivers: Receiver[] = [];

beforeEach(async () => {
  desk = await openDispatchDesk();
});
afterEach(async () => {
  await desk.close();
  for (const receiver of receivers.splice(0)) await receiver.close();
});

const receive = async (behaviour: Behaviour = answer(204)): Promise<Receiver> => {
  const receiver = await startReceiver(behaviour);
  receivers.push(receiver);
  return receiver;
};
const hour = 3_600_000;
const untilState = (id: string, state: string) =>
  waitUntil(`${id} is ${state}`, async () => {
    const delivery = await desk.delivery(id);
    return delivery.state === state && delivery;
  });
const untilAttempts = (id: string, count: number) =>
  waitUntil(`${id} was tried ${count} times`, async () => {
    const delivery = await desk.delivery(id);
    return delivery.attempt_count >= count && delivery;
  });
const untilIdle = () =>
  waitUntil('no lane is held', async () =>
    (await desk.lanes()).every(({ lease_id: lease }) => lease === null),
  );
const inMs = (at: Date | null | undefined): number => (at?.getTime() ?? -Infinity) - Date.now();

describe('one delivery', () => {
  test('is sent once, with the bytes that were frozen, and its lane is given up with nothing left', async () => {
    const shop = await receive();
    const dispatcher = await desk.startDispatcher();

    const [delivery] = await desk.add({ url: `${shop.origin}/hook?key=1` });

    const stored = await untilState(delivery!.id, 'DELIVERED');
    await untilIdle();
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
    const shop = await receive(answer(500, {}, 'out of order'));
    const dispatcher = await desk.startDispatcher();
    const [delivery] = await desk.add({ url: shop.origin });

    const first = await untilAttempts(delivery!.id, 1);
    await untilIdle();
    expect(first).toMatchObject({ state: 'PENDING', round_attempts: 1, last_result: '500' });
    expect(inMs(first.due_at)).toBeGreaterThan(0);
    expect(inMs(first.due_at)).toBeLessThanOrEqual(5_500);
    expect((await desk.lanes())[0]!.next_due_at).toEqual(first.due_at);

    shop.behave(answer(200));
    await desk.letTimePass(6_000);
    await untilState(delivery!.id, 'DELIVERED');
    const { rows } = await desk.database.pool.query(
      'select number, result, status_code, response_body from webhooks.delivery_attempts order by number',
    );
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

  test('waits as long as Retry-After asks for', async () => {
    const shop = await receive(answer(429, { 'retry-after': '7200' }));
    await desk.startDispatcher();
    const [delivery] = await desk.add({ url: shop.origin });

    const stored = await untilAttempts(delivery!.id, 1);

    expect(inMs(stored.due_at)).toBeGreaterThan(2 * hour - 30_000);
    // Dispatchers take the database's time from a claim: up to its round trip too late.
    expect(inMs(stored.due_at)).toBeLessThan(2 * hour + 30_000);
  });

  test('is given up after the 13th attempt of its schedule', async () => {
    const shop = await receive(answer(404));
    await desk.startDispatcher();
    const [delivery] = await desk.add({ url: shop.origin });

    for (let attempts = 1; attempts <= 13; attempts += 1) {
      const { due_at: dueAt } = await untilAttempts(delivery!.id, attempts);
      await untilIdle();
      const [lane] = await desk.lanes();
      if (dueAt !== null) await desk.letTimePass(Math.max(inMs(dueAt), inMs(lane!.resting_until), 0) + 1);
    }

    expect(await desk.delivery(delivery!.id)).toMatchObject({
      state: 'GIVEN_UP',
      attempt_count: 13,
      due_at: null,
    });
    expect(shop.webhooks).toHaveLength(13);
    expect(await desk.lanes()).toMatchObject([{ next_due_at: null }]);
  });

  test.each([12, 6])(
    'that is redelivered during its attempt, after %i others of its schedule, is due at once whatever comes of that',
    async (attemptsBefore) => {
      let refuse = (): void => undefined;
      const shop = await receive(({ response }) => {
        refuse = () => response.writeHead(500).end();
      });
      const [delivery] = await desk.add({ url: shop.origin });
      await desk.database.pool.query(
        'update webhooks.deliveries set round_attempts = $1, attempt_count = $1',
        [attemptsBefore],
      );
      await desk.startDispatcher();
      await waitUntil('it is on its way', () => shop.webhooks.length === 1);

      const { pool } = desk.database;
      const redeliveries = createRedeliveryStore({ pool, newId: newRandomId, now: () => new Date() });
      await redeliveries.redeliver(delivery!.merchantId, delivery!.id, { actor: 'a', requestId: 'r' });
      shop.behave(answer(204));
      refuse();

      expect(await untilState(delivery!.id, 'DELIVERED')).toMatchObject({
        attempt_count: attemptsBefore + 2,
        round_attempts: 1,
      });
    },
  );

  test('answered with 410 pauses its lane; resuming sends it again', async () => {
    const shop = await receive(answer(410));
    const dispatcher = await desk.startDispatcher();
    const [gone] = await desk.add({ url: shop.origin });
    await untilAttempts(gone!.id, 1);
    await untilIdle();
    expect(await desk.delivery(gone!.id)).toMatchObject({ state: 'PENDING', last_result: '410' });
    expect(await desk.lanes()).toMatchObject([
      { paused_at: expect.any(Date), pause_reason: `answered 410 Gone to ${gone!.id}` },
    ]);
    const [later] = await desk.add({ url: shop.origin });
    shop.behave(answer(200));
    expect(shop.webhooks).toHaveLength(1);

    await resume(shop.origin);
    dispatcher.ring();

    await untilState(gone!.id, 'DELIVERED');
    await untilState(later!.id, 'DELIVERED');
    expect(await desk.lanes()).toMatchObject([{ paused_at: null, pause_reason: '' }]);
  });
});

const laneOf = (endpoint: string, merchantId = 'mer_01jd4s6w3hfk0a8m2x7v5n9q1r') =>
  ({ merchantId, environment: 'SANDBOX', endpoint }) as const;
const resume = (endpoint: string) => resumeLane(desk.database.pool, laneOf(endpoint));

describe('the order of an order', () => {
  test('the next event is not sent before the one before it was received, whoever sends', async () => {
    const held: (() => void)[] = [];
    const slow: Behaviour = ({ response }) => void held.push(() => response.writeHead(200).end());
    const shop = await receive(slow);
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
    held.splice(0).forEach((release) => release());
    await waitUntil('the next one arrived', () => held.length === 1);
    held.splice(0).forEach((release) => release());
    await untilState(second!.id, 'DELIVERED');
    expect(shop.webhooks.at(-1)!.headers['webhook-id']).toBe(second!.eventId);
    expect(shop.webhooks).toHaveLength(3);
  });

  test('the next event waits for the retries of the one before it, and goes when that is given up', async () => {
    const shop = await receive(answer(500));
    await desk.startDispatcher();
    const url = shop.origin;
    const [first, second] = await desk.add(
      { url, orderId: 'ord_1', sequence: 2n },
      { url, orderId: 'ord_1', sequence: 3n },
    );
    await untilAttempts(first!.id, 1);
    await untilIdle();
    expect((await desk.delivery(second!.id)).attempt_count).toBe(0);

    await desk.letTimePass(77 * hour);
    await untilState(first!.id, 'GIVEN_UP');
    await untilAttempts(second!.id, 1);

    expect(shop.webhooks.map(({ headers }) => headers['webhook-id'])).toEqual([
      first!.eventId,
      first!.eventId,
      second!.eventId,
    ]);
  });
});

describe('lanes', () => {
  test('two dispatchers never send the same delivery at the same time, and each goes once', async () => {
    const underWay = new Map<string, number>();
    let most = 0;
    const shop = await receive(({ webhook, response }) => {
      const id = String(webhook.headers['webhook-id']);
      underWay.set(id, (underWay.get(id) ?? 0) + 1);
      most = Math.max(most, ...underWay.values());
      setImmediate(() => {
        underWay.set(id, (underWay.get(id) ?? 1) - 1);
        response.writeHead(200).end();
      });
    });
    await desk.startDispatcher();
    await desk.startDispatcher();
    const merchants = Array.from({ length: 20 }, merchant);

    await desk.add(
      ...Array.from({ length: 400 }, (_, index) => ({
        url: shop.origin,
        merchantId: merchants[index % 20]!,
      })),
    );

    await waitUntil('all are delivered', async () =>
      (await desk.deliveries()).every(({ state }) => state === 'DELIVERED'),
    );
    await untilIdle();
    expect(most).toBe(1);
    expect(shop.webhooks).toHaveLength(400);
    expect((await desk.deliveries()).every(({ attempt_count: count }) => count === 1)).toBe(true);
  });

  test('a receiver that is slow for one order does not hold the others', async () => {
    const shop = await receive(onlyFor(({ target }) => target === '/slow', silence, answer(200)));
    await desk.startDispatcher();
    const [slow] = await desk.add({ url: `${shop.origin}/slow` });
    await waitUntil('the slow one is on its way', () => shop.webhooks.length === 1);

    const others = await desk.add(...Array.from({ length: 50 }, () => ({ url: shop.origin })));

    for (const { id } of others) await untilState(id, 'DELIVERED');
    expect(await desk.delivery(slow!.id)).toMatchObject({ state: 'PENDING', attempt_count: 0 });
  });

  test('rests after five failures in a row, is probed with one delivery, and opens with its success', async () => {
    const shop = await receive(answer(503));
    const dispatcher = await desk.startDispatcher();
    await desk.add(...Array.from({ length: 30 }, () => ({ url: shop.origin })));
    await waitUntil('the lane rests', async () => (await desk.lanes())[0]?.resting_until ?? false);
    await untilIdle();
    const [resting] = await desk.lanes();
    const before = shop.webhooks.length;
    expect(before).toBeLessThanOrEqual(6);
    expect(resting!.next_due_at!.getTime()).toBeGreaterThanOrEqual(resting!.resting_until!.getTime());

    await desk.letTimePass(Math.max(0, inMs(resting!.resting_until)) + 1);
    await waitUntil(
      'a probe failed',
      async () => (await desk.lanes())[0]!.consecutive_failures > resting!.consecutive_failures,
    );
    await untilIdle();
    expect(shop.webhooks).toHaveLength(before + 1);

    shop.behave(answer(200));
    await desk.letTimePass(60_000);
    await waitUntil('everything flowed', async () =>
      (await desk.deliveries()).every(({ state }) => state === 'DELIVERED'),
    );
    expect(
      await waitUntil('it is well', async () => {
        const [lane] = await desk.lanes();
        return lane!.consecutive_failures === 0 && lane;
      }),
    ).toMatchObject({ resting_until: null });
    expect(dispatcher.log.map(({ msg }) => msg)).toEqual(
      expect.arrayContaining(['an endpoint that keeps failing rests', 'an endpoint is well again']),
    );
  });

  test('one that never answers holds up nobody else', async () => {
    const dead = await receive(silence);
    const shop = await receive();
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

    for (const { id } of healthy) await untilState(id, 'DELIVERED');
    expect((await desk.deliveries()).filter(({ state }) => state === 'DELIVERED')).toHaveLength(100);
  });

  test('that have never answered take half the places at most, however many hang at once', async () => {
    const silent = await receive(silence);
    const shop = await receive();
    await desk.startDispatcher({ maxInFlight: 16 });
    const [first] = await desk.add({ url: shop.origin, merchantId: 'mer_known' });
    await untilState(first!.id, 'DELIVERED');
    await desk.add(
      ...Array.from({ length: 60 }, (_, index) => ({ url: silent.origin, merchantId: `mer_new_${index}` })),
    );
    await waitUntil('the new lanes have all that they may have', () => silent.webhooks.length >= 8);

    const [next] = await desk.add({ url: shop.origin, merchantId: 'mer_known' });

    await untilState(next!.id, 'DELIVERED');
    const others = (await desk.deliveries()).filter(({ merchant_id: id }) => id !== 'mer_known');
    expect(others.every(({ state, attempt_count: attempts }) => state === 'PENDING' && attempts === 0)).toBe(
      true,
    );
    expect(silent.webhooks).toHaveLength(8);
  });

  test('with much to send make way for one that has just become due', async () => {
    const shop = await receive((exchange) => void setTimeout(() => answer(204)(exchange), 20));
    for (let index = 0; index < 6; index += 1)
      await desk.add(
        ...Array.from({ length: 1_000 }, () => ({ url: shop.origin, merchantId: `mer_busy_${index}` })),
      );
    await desk.startDispatcher({ leaseMs: 5_000, deadlineMs: 3_000, maxInFlight: 4 });
    await waitUntil('they are being sent', () => shop.webhooks.length > 20);

    const [newcomer] = await desk.add({ url: shop.origin, merchantId: 'mer_new' });

    await untilState(newcomer!.id, 'DELIVERED');
    expect((await desk.deliveries()).some(({ state }) => state === 'PENDING')).toBe(true);
  });

  test('have sixteen of one merchant on their way, and all of its endpoints get their turn', async () => {
    const held: (() => void)[] = [];
    const slow: Behaviour = ({ response }) => void held.push(() => response.writeHead(200).end());
    const shops = await Promise.all(Array.from({ length: 20 }, () => receive(slow)));
    await desk.startDispatcher();

    await desk.add(...shops.flatMap(({ origin }) => Array.from({ length: 3 }, () => ({ url: origin }))));

    await waitUntil('sixteen arrived', () => held.length >= 16);
    const most = { inFlight: held.length };
    await waitUntil('everything is delivered', async () => {
      most.inFlight = Math.max(most.inFlight, held.length);
      held.splice(0).forEach((release) => release());
      return (await desk.deliveries()).every(({ state }) => state === 'DELIVERED');
    });
    expect(most.inFlight).toBe(16);
  });

  test('paused keep what they have, what is on its way is recorded, and resuming sends the rest', async () => {
    const held: (() => void)[] = [];
    const shop = await receive(({ response }) => void held.push(() => response.writeHead(200).end()));
    const dispatcher = await desk.startDispatcher();
    await desk.add(...Array.from({ length: 10 }, () => ({ url: shop.origin })));
    await waitUntil('two are on their way', () => held.length === 2);

    expect(await pauseLane(desk.database.pool, laneOf(shop.origin), 'moving house')).toBe(true);
    // What was read before the pause may still begin; nothing begins once a result has told of it.
    await waitUntil('the lane is given up', async () => {
      held.splice(0).forEach((release) => release());
      return (await desk.lanes())[0]!.lease_id === null;
    });
    const sentBefore = shop.webhooks.length;
    const delivered = (await desk.deliveries()).filter(({ state }) => state === 'DELIVERED');
    expect(delivered).toHaveLength(sentBefore);
    expect(sentBefore).toBeLessThan(10);
    expect(await desk.lanes()).toMatchObject([{ pause_reason: 'moving house' }]);

    shop.behave(answer(200));
    await desk.letTimePass(100 * hour);
    expect(await resume(shop.origin)).toBe(true);
    dispatcher.ring();
    await waitUntil('all are delivered', async () =>
      (await desk.deliveries()).every(({ state }) => state === 'DELIVERED'),
    );
    expect(shop.webhooks).toHaveLength(10);
  });

  test('that nobody knows can be neither paused nor resumed', async () => {
    const { pool } = desk.database;

    expect(await pauseLane(pool, laneOf('https://nobody.example'), '')).toBe(false);
    expect(await resumeLane(pool, laneOf('https://nobody.example'))).toBe(false);
  });

  test('that failed for 76 hours give up what never had its turn', async () => {
    const shop = await receive(answer(503));
    await desk.startDispatcher();
    const old = await desk.add(...Array.from({ length: 30 }, () => ({ url: shop.origin })));
    await waitUntil('the lane rests', async () => (await desk.lanes())[0]?.resting_until ?? false);
    await untilIdle();

    await desk.letTimePass(77 * hour);
    const [fresh] = await desk.add({ url: shop.origin });

    for (const { id } of old) await untilState(id, 'GIVEN_UP');
    await untilIdle();
    expect((await desk.delivery(fresh!.id)).state).toBe('PENDING');
    expect(shop.webhooks.length).toBeLessThan(10);
    expect((await desk.deliveries()).map(({ last_result: words }) => words)).toContain(
      'given up unsent: its endpoint did not answer for 76 hours',
    );
  });
});
