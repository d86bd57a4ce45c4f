import { afterEach, expect, test } from '@jest/globals';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import type { Receiver } from '../integration/webhooks/receivers.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { ownNats } from './stoppable-servers.ts';
import type { StoppableServer } from './stoppable-servers.ts';
import { startWebhookTraffic } from './webhook-traffic.ts';
import type { WebhookTraffic } from './webhook-traffic.ts';

// The broker is fan-out: without it, or with nothing left of what it stored, merchants are told later, and of everything.

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

interface Site {
  readonly nats: StoppableServer;
  readonly stack: Stack;
  readonly traffic: WebhookTraffic;
  readonly receivers: readonly Receiver[];
}

async function openSite(): Promise<Site> {
  const nats = await ownNats();
  cleanUps.push(nats.remove);
  await nats.start();
  const stack = await startStack({
    ownProcesses: true,
    facades: 0,
    webhooks: 2,
    settings: { GATEHOUSE_NATS_URL: nats.url },
  });
  cleanUps.push(stack.stop);
  const receivers = [await startReceiver(), await startReceiver()];
  cleanUps.push(...receivers.map(({ close }) => close));
  const traffic = await startWebhookTraffic({ stack, receivers, clients: 4 });
  cleanUps.push(traffic.close);
  return { nats, stack, traffic, receivers };
}

async function expectAllTold({ traffic, receivers, stack }: Site): Promise<void> {
  await traffic.stop();
  await traffic.untilAllDelivered();
  const committed = await traffic.committed();
  const told = new Set(
    receivers.flatMap(({ webhooks }) => webhooks.map(({ headers }) => headers['webhook-id'])),
  );
  expect(told).toEqual(committed);
  expect(await traffic.findContradictions()).toEqual([]);
  expect(stack.webhooks.flatMap(({ log }) => log.filter(({ level }) => level === 'fatal'))).toEqual([]);
}

test('orders go on and are told of while the broker is away, and when it is back', async () => {
  const site = await openSite();
  const { nats, traffic } = site;
  await traffic.untilMore(100);

  await nats.stop();
  await traffic.untilMore(300);
  await nats.start();
  await traffic.untilMore(100);

  await expectAllTold(site);
});

test('the broker loses everything it has stored, again and again: nobody has to do anything', async () => {
  const site = await openSite();
  const { nats, traffic } = site;
  for (let round = 0; round < 3; round += 1) {
    await traffic.untilMore(100);
    await nats.stop();
    await nats.wipe();
    await traffic.untilMore(50);
    await nats.start();
  }
  await traffic.untilMore(100);

  await expectAllTold(site);
});

test("the broker's files are removed under it while it runs, and it is killed only later", async () => {
  const site = await openSite();
  const { nats, traffic, stack } = site;
  await traffic.untilMore(100);

  await nats.wipe();
  await traffic.untilMore(200);
  nats.kill();
  await traffic.untilMore(200);
  await waitUntil('the broker is reached again', async () => {
    const answer = await fetch(`http://${String(stack.webhooks[0]?.ready['connect'])}/metrics`);
    return (await answer.text()).includes('gatehouse_broker_connected 1');
  });
  await traffic.untilMore(100);

  await expectAllTold(site);
});
