import { afterEach, expect, test } from '@jest/globals';
import { waitUntil } from '../support/wait-until.ts';
import { ownPostgres } from './stoppable-servers.ts';
import type { StoppableServer } from './stoppable-servers.ts';
import { openWebhookSite } from './webhook-site.ts';
import type { WebhookSite } from './webhook-site.ts';

let site: WebhookSite | undefined;
let postgres: StoppableServer | undefined;

afterEach(async () => {
  await site?.close();
  await postgres?.remove();
});

test('every webhook arrives after a restart and a crash of PostgreSQL, and no process exits', async () => {
  postgres = await ownPostgres();
  await postgres.start();
  site = await openWebhookSite({ ownProcesses: [], databaseUrl: postgres.url });
  const { webhooks, cores, database } = site;
  const trade = await site.openTrade({ shops: 4, customers: 2 });
  const isAway = (): Promise<boolean> =>
    database.query('select').then(
      () => false,
      () => true,
    );
  for (const receiver of trade.receivers) receiver.behave(() => 'take slowly');
  await trade.arrival(50);

  await postgres.stop();
  await waitUntil('it is away', isAway);
  await postgres.start();
  await trade.arrival(50);
  postgres.kill();
  await waitUntil('it is away', isAway);
  await trade.arrival(50);
  await trade.stop();
  await trade.untilDelivered();

  expect(await trade.findFaults()).toEqual([]);
  const ended = [...webhooks, ...cores].flatMap(({ log }) => log.filter(({ msg }) => msg === 'stopped'));
  expect(ended).toEqual([]);
});
