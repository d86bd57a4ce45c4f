import { expect, test } from '@jest/globals';
import { withinTenSeconds } from './within-ten-seconds.ts';
import { openWebhookSite } from './webhook-site.ts';
import type { Trade } from './webhook-site.ts';
import { shared } from '../support/shared-stack.ts';

const site = shared(
  () => openWebhookSite({ cores: 1, webhooks: 2, ownProcesses: ['webhooks'] }),
  ({ close }) => close(),
);

/** Events that came more than once. */
function repeats({ receivers }: Trade): string[] {
  const byEvent = Map.groupBy(
    receivers.flatMap(({ exchanges }) => exchanges),
    ({ eventId }) => eventId,
  );
  return [...byEvent].filter(([, exchanges]) => exchanges.length > 1).map(([eventId]) => eventId);
}

test('a webhooks process that stops under load exits with code 0 within 10 s, and no webhook is sent twice', async () => {
  const trade = await site.openTrade({ shops: 4, customers: 2 });
  for (const receiver of trade.receivers) receiver.behave(() => 'take slowly');

  const exitCodes: (number | null)[] = [];
  for (const which of [0, 1]) {
    await trade.arrival(30);
    const stopped = site.webhooks[which]!;
    exitCodes.push(await withinTenSeconds('stopping', stopped.stop('SIGTERM')));
    await site.replaceWebhooks(stopped);
  }
  await trade.stop();
  await trade.untilDelivered();

  expect(exitCodes).toEqual([0, 0]);
  expect(await trade.findFaults()).toEqual([]);
  expect(repeats(trade)).toEqual([]);
});

test('a webhooks process that stops while receivers hang exits with code 0 within 10 s, and another process takes its lanes at once', async () => {
  const trade = await site.openTrade({ shops: 2, customers: 2 });
  for (const receiver of trade.receivers) receiver.behave(() => 'hold');
  await trade.arrival(2);
  const [stopped] = site.webhooks;

  const stops = site.webhooks.map((each) => withinTenSeconds('stopping', each.stop('SIGTERM')));

  expect(await Promise.all(stops)).toEqual([0, 0]);
  const { rows: held } = await site.database.query('select from webhooks.lanes where lease_id is not null');
  expect(held).toEqual([]);
  for (const receiver of trade.receivers) receiver.behave(() => 'take');
  await site.replaceWebhooks(stopped!);
  await trade.arrival(20);
  await trade.stop();
  await trade.untilDelivered();
  expect(await trade.findFaults()).toEqual([]);
});
