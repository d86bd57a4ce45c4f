import { expect, test } from '@jest/globals';
import { waitUntil } from '../support/wait-until.ts';
import type { Exchange } from './logging-receiver.ts';
import { openWebhookSite } from './webhook-site.ts';
import type { Trade, WebhookSite } from './webhook-site.ts';
import { shared } from '../support/shared-stack.ts';
import { withinTenSeconds } from './within-ten-seconds.ts';

// A process that stops gives its leases back. It may freeze after a merchant has received a webhook and before it has recorded the
// result. After the lease has expired, another process sends the webhook again. Only one of the two records the result.
// webhooks-killed.test.ts kills processes at such moments.

const site = shared(() => openWebhookSite({ cores: 1, webhooks: 2, ownProcesses: ['webhooks'] }));

interface HeldLane {
  readonly merchant_id: string;
  readonly endpoint: string;
  readonly lease_id: string;
  readonly leased_until: Date;
}

const heldLanes = async ({ database }: WebhookSite): Promise<readonly HeldLane[]> => {
  const { rows } = await database.query<HeldLane>(
    'select merchant_id, endpoint, lease_id, leased_until from webhooks.lanes where lease_id is not null',
  );
  return rows;
};

/** The recorded attempts to send an event, with the lane of each. */
async function recordedAttempts({ database }: WebhookSite, eventId: string) {
  const { rows } = await database.query<Pick<HeldLane, 'merchant_id' | 'endpoint'> & { started_at: Date }>(
    `select d.merchant_id, d.endpoint, a.started_at from webhooks.delivery_attempts a
     join webhooks.deliveries d on d.merchant_id = a.merchant_id and d.id = a.delivery_id
     where d.event_id = $1`,
    [eventId],
  );
  return rows;
}

const sent = ({ receivers }: Trade, eventId: string): readonly Exchange[] =>
  receivers.flatMap(({ exchanges }) => exchanges).filter((each) => each.eventId === eventId);

/** Events that came more than once. */
function repeats({ receivers }: Trade): string[] {
  const byEvent = Map.groupBy(
    receivers.flatMap(({ exchanges }) => exchanges),
    ({ eventId }) => eventId,
  );
  return [...byEvent].filter(([, exchanges]) => exchanges.length > 1).map(([eventId]) => eventId);
}

const hold = ({ receivers }: Trade): void => receivers.forEach((receiver) => receiver.behave(() => 'hold'));
const take = ({ receivers }: Trade): void => receivers.forEach((receiver) => receiver.behave(() => 'take'));

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

test('another process delivers everything for a process that is frozen for longer than its lease, and the attempt is recorded once', async () => {
  const [frozen, idle] = site.webhooks;
  await idle!.stop();
  const trade = await site.openTrade({ shops: 2, customers: 1 });
  await trade.arrival(20);
  hold(trade);
  const { eventId } = await trade.arrival();

  frozen!.signal('SIGSTOP');
  const lanes = await heldLanes(site);
  take(trade);
  const other = await site.stack.startWebhooks();
  await waitUntil('it is sent again', () => sent(trade, eventId).length > 1);
  const [again] = await waitUntil('the other process has recorded it', async () => {
    const attempts = await recordedAttempts(site, eventId);
    return attempts.length > 0 && attempts;
  });
  await waitUntil('the other process ingests events', () =>
    other.log.some(({ msg }) => msg === 'ingesting events'),
  );
  await trade.arrival(20);
  frozen!.signal('SIGCONT');
  for (const receiver of trade.receivers) receiver.release();
  const line = await waitUntil('the frozen process has the answer', () =>
    frozen!.log.find((each) => each.msg === 'webhook attempt' && each['event_id'] === eventId),
  );
  // The process that was frozen delivers again.
  await other.stop('SIGKILL');
  await site.endLeases();
  await trade.arrival(20);
  await trade.stop();
  await trade.untilDelivered();

  const lane = lanes.find(
    ({ merchant_id: id, endpoint }) => id === again!.merchant_id && endpoint === again!.endpoint,
  );
  expect(again!.started_at.getTime()).toBeGreaterThanOrEqual(lane!.leased_until.getTime());
  expect(line).toMatchObject({ level: 'warn', not_recorded: true });
  expect(await recordedAttempts(site, eventId)).toHaveLength(1);
  expect(await trade.findFaults()).toEqual([]);
});
