import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { waitUntil } from '../../support/wait-until.ts';
import { openDispatchDesk } from './dispatch-desk.ts';
import type { DispatchDesk } from './dispatch-desk.ts';
import { answer, startReceiver } from './receivers.ts';
import type { Receiver } from './receivers.ts';

let desk: DispatchDesk;
let shop: Receiver;
const children = new Set<ChildProcess>();

afterEach(async () => {
  for (const child of children) await kill(child);
  await desk.close();
  await shop.close();
});

const script = resolve(import.meta.dirname, 'dispatcher-process.ts');
const start = (): ChildProcess => {
  const options = JSON.stringify({ leaseMs: 1_500, deadlineMs: 1_000 });
  const child = spawn(process.execPath, [script, desk.url, options], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  children.add(child);
  return child;
};
const kill = async (child: ChildProcess): Promise<void> => {
  children.delete(child);
  child.kill('SIGKILL');
  await once(child, 'exit');
};

const orders = 40;
const eventsPerOrder = 4;

test('dispatchers that are killed again and again lose nothing, and keep the order of each order', async () => {
  desk = await openDispatchDesk();
  const history: { readonly id: string; readonly isReceived: boolean }[] = [];
  shop = await startReceiver((exchange) => {
    const id = String(exchange.webhook.headers['webhook-id']);
    const isReceived = history.length % 7 !== 3;
    history.push({ id, isReceived });
    answer(isReceived ? 204 : 500)(exchange);
  });
  const made = await desk.add(
    ...Array.from({ length: orders * eventsPerOrder }, (_, index) => ({
      url: shop.origin,
      merchantId: `mer_${index % 8}`,
      orderId: `ord_${index % orders}`,
      sequence: BigInt(Math.floor(index / orders)),
    })),
  );
  let [victim, survivor] = [start(), start()];

  for (let killed = 0; killed < 6; killed += 1) {
    const wanted = history.length + 10;
    await waitUntil('more arrived', async () => {
      await desk.letTimePass(2_000);
      return history.length >= wanted || (await isAllDelivered());
    });
    await kill(victim);
    [victim, survivor] = [survivor, start()];
  }
  await waitUntil('all are delivered', async () => {
    await desk.letTimePass(2_000);
    return isAllDelivered();
  });

  const firstSent = (id: string): number => history.findIndex((each) => each.id === id);
  const firstReceived = (id: string): number =>
    history.findIndex((each) => each.id === id && each.isReceived);
  for (const { eventId, body } of made) {
    expect(firstReceived(eventId)).toBeGreaterThanOrEqual(0);
    const bodies = shop.webhooks.filter(({ headers }) => headers['webhook-id'] === eventId);
    expect(bodies.every((each) => each.body.equals(body))).toBe(true);
  }
  const byOrder = Map.groupBy(made, ({ orderId }) => orderId);
  for (const events of byOrder.values())
    for (const [index, { eventId }] of events.slice(1).entries())
      expect(firstSent(eventId)).toBeGreaterThan(firstReceived(events[index]!.eventId));
});

const isAllDelivered = async (): Promise<boolean> =>
  (await desk.deliveries()).every(({ state }) => state === 'DELIVERED');
