import { beforeEach, expect, test } from '@jest/globals';
import { waitUntil } from '../support/wait-until.ts';
import { ownPostgres } from './stoppable-servers.ts';
import { openWebhookSite } from './webhook-site.ts';
import type { Trade } from './webhook-site.ts';
import { shared } from '../support/shared-stack.ts';

// Without the broker or its messages, or after an interruption of the database, merchants get every webhook, only later.

const postgres = shared(
  async () => {
    const server = await ownPostgres();
    await server.start();
    return server;
  },
  (server) => server.remove(),
);
const site = shared(() => openWebhookSite({ ownProcesses: [], databaseUrl: postgres.url }));
let trade: Trade;
beforeEach(async () => {
  trade = await site.openTrade({ shops: 4, customers: 2 });
  for (const receiver of trade.receivers) receiver.behave(() => 'take slowly');
});

async function expectAllTold(): Promise<void> {
  await trade.stop();
  await trade.untilDelivered();
  expect(await trade.findFaults()).toEqual([]);
  const logs = [...site.webhooks, ...site.cores].flatMap(({ log }) => log);
  expect(logs.filter(({ msg, level }) => msg === 'stopped' || level === 'fatal')).toEqual([]);
}

test('orders are taken and webhooks are delivered while the broker is unavailable, and after it returns without its store', async () => {
  const { broker, stack } = site;
  await trade.arrival(20);

  await broker.stop();
  await trade.arrival(50);
  const { isBrokerConnected } = await stack.webhookClient('reader').getPipelineStatus({});
  expect(isBrokerConnected).toBe(false);
  await broker.wipe();
  await broker.start();
  await trade.arrival(20);

  await expectAllTold();
});

test("every webhook arrives although the broker's files are deleted while it runs, and it is killed later", async () => {
  const { broker, webhooks } = site;
  await trade.arrival(20);

  await broker.wipe();
  await trade.arrival(40);
  broker.kill();
  await trade.arrival(40);
  await waitUntil('the broker is reached again', async () => {
    const answer = await fetch(`http://${String(webhooks[0]?.ready['connect'])}/metrics`);
    return (await answer.text()).includes('gatehouse_broker_connected 1');
  });
  await trade.arrival(20);

  await expectAllTold();
});

test('every webhook arrives after a restart and a crash of PostgreSQL, and no process exits', async () => {
  const isAway = (): Promise<boolean> =>
    site.database.query('select').then(
      () => false,
      () => true,
    );
  await trade.arrival(50);

  await postgres.stop();
  await waitUntil('it is away', isAway);
  await postgres.start();
  await trade.arrival(50);
  postgres.kill();
  await waitUntil('it is away', isAway);
  await trade.arrival(50);

  await expectAllTold();
});
