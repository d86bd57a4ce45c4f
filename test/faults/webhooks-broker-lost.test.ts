import { afterEach, expect, test, beforeEach } from '@jest/globals';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import { startStack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { ownNats } from './stoppable-servers.ts';
import { startWebhookTraffic } from './webhook-traffic.ts';
import type { WebhookTraffic } from './webhook-traffic.ts';
import { shared } from '../support/shared-stack.ts';

// Without the broker, or after it has lost its messages, merchants get every webhook, only later.

const nats = shared(
  async () => {
    const server = await ownNats();
    await server.start();
    return server;
  },
  (server) => server.remove(),
);
const stack = shared(
  () =>
    startStack({
      ...{ facades: 0, webhooks: 2 },
      settings: { GATEHOUSE_NATS_URL: nats.url },
    }),
  ({ stop }) => stop(),
);
const receivers = [1, 2].map(() => shared(startReceiver, ({ close }) => close()));
let traffic: WebhookTraffic;
beforeEach(async () => {
  traffic = await startWebhookTraffic({ stack, receivers, clients: 4 });
});
afterEach(() => traffic.close());

async function expectAllTold(): Promise<void> {
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

test('orders are taken and webhooks are delivered while the broker is unavailable, and after it returns without its store', async () => {
  await traffic.untilMore(40);

  await nats.stop();
  await traffic.untilMore(100);
  const { isBrokerConnected } = await stack.webhookClient('reader').getPipelineStatus({});
  expect(isBrokerConnected).toBe(false);
  await nats.wipe();
  await nats.start();
  await traffic.untilMore(40);

  await expectAllTold();
});

test("every webhook arrives although the broker's files are deleted while it runs, and it is killed later", async () => {
  await traffic.untilMore(40);

  await nats.wipe();
  await traffic.untilMore(80);
  nats.kill();
  await traffic.untilMore(80);
  await waitUntil('the broker is reached again', async () => {
    const answer = await fetch(`http://${String(stack.webhooks[0]?.ready['connect'])}/metrics`);
    return (await answer.text()).includes('gatehouse_broker_connected 1');
  });
  await traffic.untilMore(40);

  await expectAllTold();
});
