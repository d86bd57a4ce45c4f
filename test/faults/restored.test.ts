import { expect, test } from '@jest/globals';
import { Environment, OrderStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import { RecoveredWalletState, RecoveryStream } from '../../src/gen/gatehouse/v1/recovery_service_pb.js';
import { startTemporaryNats } from '../../src/main/local/temporary-servers.ts';
import type { Receiver } from '../integration/webhooks/receivers.ts';
import { waitUntil } from '../support/wait-until.ts';
import { numbers, openDrill } from './restore-drill.ts';
import { closersOfEachTest } from '../support/shared-stack.ts';

/* The drill of docs/operating/backup.md: a backup, payments after it, the loss of the database, the restore. */

const closers = closersOfEachTest();

/** The webhooks that have arrived for the first time, by the event's id, with the order and the exact body. */
const eventsAt = ({ webhooks }: Receiver): Map<string, { orderNumber: string; body: string }> =>
  new Map(
    webhooks.map(({ headers, body }) => {
      const { data } = JSON.parse(body.toString()) as { readonly data: { readonly order_number: string } };
      return [String(headers['webhook-id']), { orderNumber: data.order_number, body: body.toString() }];
    }),
  );

test('a restored gateway rebuilds what the broker knows, sends its webhooks again with the same ids, and no repeated request charges a customer again', async () => {
  const drill = await openDrill(closers);
  const { shop, receiver } = drill;
  const before = numbers('B', 1, 8);
  const openBefore = numbers('O', 101, 3);
  await drill.pay(before);
  for (const number of openBefore) await shop.register(number);
  await drill.allCompleted(before);
  await drill.backUp();

  const after = numbers('A', 201, 12);
  const registeredAfter = numbers('R', 301, 4);
  for (const number of registeredAfter) expect((await shop.register(number)).status).toBe(201);
  const withWebhooks = [...openBefore, registeredAfter[0]!];
  await drill.pay([...after, ...withWebhooks]);
  await drill.allCompleted([...after, ...withWebhooks]);
  await waitUntil('their webhooks have arrived', () => receiver.webhooks.length === withWebhooks.length);
  const received = eventsAt(receiver);
  const charged = await drill.charges();
  await drill.loseAndRestore();
  await expect(drill.startCore({ GATEHOUSE_MASTER_KEY: 'ab'.repeat(32) })).rejects.toThrow(
    'GATEHOUSE_MASTER_KEY is not the master key of this database',
  );
  await drill.startCore();
  await drill.startWebhooks();

  const open = await waitUntil('the sandbox is open', drill.isOpen);
  expect(open).toMatchObject({ stream: RecoveryStream.COMPLETE, conflictingOrderCount: 0 });
  expect(open.rebuiltOrderCount).toBe(after.length + openBefore.length + registeredAfter.length);
  await drill.allCompleted([...before, ...after, ...withWebhooks]);
  await waitUntil(
    'the webhooks have arrived again',
    () => receiver.webhooks.length === 2 * withWebhooks.length,
  );
  expect(eventsAt(receiver)).toEqual(received);
  expect(received.size).toBe(withWebhooks.length);
  for (const number of registeredAfter) expect((await shop.register(number)).status).toBe(201);
  for (const number of [...before, ...after])
    expect(await shop.pay(number)).toMatchObject({ status: 201, body: { payment_status: 'COMPLETED' } });
  expect(await drill.charges()).toEqual(charged);
  await drill.nothingWasChanged();
});

test('a gateway that was restored without its broker finds lost payments at the wallets and charges no customer again', async () => {
  const drill = await openDrill(closers);
  const { shop, receiver } = drill;
  const before = numbers('B', 1, 4);
  const openBefore = numbers('O', 101, 3);
  const neverPaid = numbers('N', 151, 2);
  await drill.pay(before);
  for (const number of [...openBefore, ...neverPaid]) await shop.register(number);
  await drill.allCompleted(before);
  await drill.backUp();

  const after = numbers('A', 201, 6);
  await drill.pay([...after, ...openBefore]);
  await drill.allCompleted([...after, ...openBefore]);
  await waitUntil('webhooks have arrived', () => receiver.webhooks.length === openBefore.length);
  await shop.register('L-0501');
  const charged = await drill.charges();
  await drill.loseAndRestore();
  // Until the settle time has passed, the gateway stays closed.
  const broker = await startTemporaryNats();
  closers.push(broker.stop);
  const newBroker = { GATEHOUSE_NATS_URL: broker.url };
  const closed = await drill.startCore({ ...newBroker, GATEHOUSE_RECOVERY_SETTLE_SECONDS: '3600' });
  await waitUntil('the stream was looked for', async () => {
    const now = await drill.recovery();
    return now?.stream === RecoveryStream.LOST && now.closedEnvironments.length === 2;
  });
  const refused = await Promise.all([shop.pay(after[0]!), shop.register(after[1]!), shop.verify('L-0501')]);
  const body = { code: 503, message: expect.stringContaining('recovering') };
  expect(refused).toMatchObject(refused.map(() => ({ status: 503, retryAfter: '30', body })));
  // Orders that the database knows are answered as before, and nothing is charged.
  expect(await drill.statusOf(before[0]!)).toBe(OrderStatus.COMPLETED);
  expect((await shop.register(neverPaid[0]!)).status).toBe(201);
  expect((await shop.pay(neverPaid[0]!)).status).toBe(503);
  await closed.stop();

  await drill.startCore(newBroker);
  const open = await waitUntil('the sandbox is open', drill.isOpen);
  const walleta = open.wallets.find(
    ({ wallet, environment }) => wallet === 'walleta' && environment === Environment.SANDBOX,
  );
  expect(walleta).toMatchObject({
    state: RecoveredWalletState.READ,
    unclaimedPaymentCount: after.length + openBefore.length,
  });
  // Orders of the backup get their payments back at once. A shop must repeat the others.
  await drill.allCompleted(openBefore);
  // Their event was lost. The new one is another event, with another id.
  await drill.startWebhooks(newBroker);
  await waitUntil('webhooks have arrived', () => receiver.webhooks.length === 2 * openBefore.length);
  const events = [...eventsAt(receiver).values()].map(({ orderNumber }) => orderNumber);
  expect(events.toSorted()).toEqual(openBefore.flatMap((number) => [number, number]));
  expect((await shop.verify('L-0501')).status).toBe(404);
  // Such an order was paid, so it must not look like one that was never sent.
  expect((await shop.verify(after[0]!)).status).toBe(503);
  for (const number of after) expect((await shop.pay(number)).status).toBe(201);
  await drill.allCompleted(after);
  expect(await drill.charges()).toEqual(charged);

  // Other orders are paid as usual.
  const others = [...neverPaid, ...numbers('X', 401, 1)];
  await drill.pay(others);
  await drill.allCompleted(others);
  await drill.nothingWasChanged();
});
