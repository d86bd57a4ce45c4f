import { expect, test } from '@jest/globals';
import { waitUntil } from '../support/wait-until.ts';
import { openWebhookSite } from './webhook-site.ts';
import type { Trade, WebhookSite } from './webhook-site.ts';
import { shared } from '../support/shared-stack.ts';

// A process that is killed or frozen between a merchant's receipt and the record of it: another one sends the same again
// when the lease is over, and only one of the two writes what came of it.

const site = shared(
  () => openWebhookSite({ cores: 1, webhooks: 1 }),
  ({ close }) => close(),
);

interface HeldLane {
  readonly merchant_id: string;
  readonly endpoint: string;
  readonly leased_until: Date;
}

const heldLanes = async ({ database }: WebhookSite): Promise<readonly HeldLane[]> => {
  const { rows } = await database.query<HeldLane>(
    'select merchant_id, endpoint, leased_until from webhooks.lanes where lease_id is not null',
  );
  return rows;
};

/** When the first attempt that was recorded on a lane began. */
async function firstRecordedAt({ database }: WebhookSite, lane: HeldLane): Promise<Date | undefined> {
  const { rows } = await database.query<{ first: Date | null }>(
    `select min(a.started_at) as first from webhooks.delivery_attempts a
     join webhooks.deliveries d on d.merchant_id = a.merchant_id and d.id = a.delivery_id
     where d.merchant_id = $1 and d.endpoint = $2`,
    [lane.merchant_id, lane.endpoint],
  );
  return rows[0]?.first ?? undefined;
}

const timesTold = ({ receivers }: Trade, eventId: string): number =>
  receivers.flatMap(({ exchanges }) => exchanges).filter((each) => each.eventId === eventId).length;

const hold = ({ receivers }: Trade): void => receivers.forEach((receiver) => receiver.behave(() => 'hold'));
const take = ({ receivers }: Trade): void => receivers.forEach((receiver) => receiver.behave(() => 'take'));

test('killed after the receipt and before the record: another sends the same bytes again, once the lease is over', async () => {
  const trade = await site.openTrade({ shops: 2, customers: 2 });
  hold(trade);
  const [webhooks] = site.webhooks;
  const { eventId } = await trade.arrival();

  await site.killWebhooks(webhooks!);
  // Long enough for the next one to start and to find them held.
  await site.endLeases(8_000);
  const lanes = await heldLanes(site);
  take(trade);
  await site.replaceWebhooks(webhooks!);
  await waitUntil('it is sent again', () => timesTold(trade, eventId) > 1);
  await trade.stop();
  await trade.untilDelivered();

  expect(await trade.findFaults()).toEqual([]);
  expect(lanes.length).toBeGreaterThan(0);
  for (const lane of lanes)
    expect((await firstRecordedAt(site, lane))?.getTime()).toBeGreaterThanOrEqual(
      lane.leased_until.getTime(),
    );
});

test('frozen for longer than its lease: another goes on with everything, and nothing is recorded twice when it thaws', async () => {
  const trade = await site.openTrade({ shops: 2, customers: 2 });
  await trade.arrival(20);
  hold(trade);
  const { eventId } = await trade.arrival();
  const [frozen] = site.webhooks;

  frozen!.signal('SIGSTOP');
  take(trade);
  const other = await site.stack.startWebhooks();
  await waitUntil('it is sent again', () => timesTold(trade, eventId) > 1);
  await waitUntil('the other takes in events', () => other.log.some(({ msg }) => msg === 'ingesting events'));
  await trade.arrival(20);
  frozen!.signal('SIGCONT');
  for (const receiver of trade.receivers) receiver.release();
  const line = await waitUntil('the frozen one says what became of it', () =>
    frozen!.log.find((each) => each.msg === 'webhook attempt' && each['event_id'] === eventId),
  );
  // The one that froze is as good as new.
  await other.stop('SIGKILL');
  await site.endLeases();
  await trade.arrival(20);
  await trade.stop();
  await trade.untilDelivered();

  expect(line).toMatchObject({ level: 'warn', not_recorded: true });
  expect(await trade.findFaults()).toEqual([]);
});
