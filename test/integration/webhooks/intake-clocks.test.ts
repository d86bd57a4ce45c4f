import { describe, expect, test } from '@jest/globals';
import { formatCursor } from '../../../src/contract/event-cursor.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { insertWebhookEndpoint } from '../../../src/webhooks/endpoints/webhook-endpoint-rows.sql.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { deskOfEachTest, numbered } from './intake-under-test.ts';

const open = deskOfEachTest();
const dayMs = 24 * 60 * 60_000;

describe.each([-3_600_000, 3_600_000])('an intake whose clock is %i ms off', (clockOffMs) => {
  test('ingests events from the broker, from core while the broker is unavailable, and those that the broker lost', async () => {
    const { broker, startIntake, expireOrders, untilAllTakenIn, expectEachTakenInOnce } = await open();
    startIntake({ now: () => new Date(Date.now() + clockOffMs) });

    await expireOrders(numbered('BROUGHT', 3));
    await untilAllTakenIn(3);
    await broker.stop();
    await expireOrders(numbered('AWAY', 3));
    await untilAllTakenIn(6);
    await broker.wipe();
    await expireOrders(numbered('LOST', 3));
    await broker.start();

    await expectEachTakenInOnce(9);
  });
});

test('events at positions that earlier events had, as after a failover that lost transactions, are ingested', async () => {
  const desk = await open();
  const before = desk.startIntake();
  await desk.expireOrders(['BEFORE']);
  await desk.untilAllTakenIn(1);
  await before.stop();
  const readXid = async (expression: string): Promise<bigint> => {
    const [row] = await desk.desk.query<{ xid: string }>(`select ${expression}::text as xid`);
    return BigInt(row?.xid ?? 0);
  };
  const nextTransaction = () => readXid('pg_current_xact_id()');
  const reached = (await nextTransaction()) + 500n;
  const cursor = formatCursor({ xid: String(reached), position: '1' });
  await desk.desk.query('update webhooks.event_readers set cursor = $1', [cursor]);
  await desk.expireOrders(numbered('AGAIN', 3));
  await waitUntil('they have expired', async () => (await desk.toldEvents()).length === 4);
  while ((await nextTransaction()) <= reached);
  // Core lists events up to the oldest running transaction, which may be one of another database.
  await waitUntil(
    'core knows the cursor',
    async () => (await readXid('pg_snapshot_xmin(pg_current_snapshot())')) > reached,
  );

  const { log } = desk.startIntake();

  await desk.expectEachTakenInOnce(4);
  // The line follows the commit that the test waits for. An event that the broker still delivered is not among them.
  const line = await waitUntil('it is logged', () => log.find(({ level }) => level === 'error'));
  expect(line['deliveries']).toBeGreaterThan(0);
});

test("a webhook endpoint that was created while the database's clock was a day ahead receives the next events", async () => {
  const { startIntake, database, deliveries, merchantId, expireOrders } = await open();
  const createdAt = new Date(Date.now() + dayMs);
  const endpointId = newRandomId('whe', createdAt);
  const client = await database.pool.connect();
  await insertWebhookEndpoint(client, {
    ...{ merchantId, id: endpointId, environment: 'SANDBOX', url: 'https://endpoint.example/hook' },
    ...{ description: '', since: new Map([['*', createdAt]]), createdAt, updatedAt: createdAt },
  });
  client.release();
  startIntake();

  await expireOrders(['NEXT']);

  const rows = await waitUntil('the event is ingested', async () => {
    const found = await deliveries();
    return found.length > 0 && found;
  });
  expect(rows.map(({ endpoint }) => endpoint).sort()).toEqual(['https://shop.example', endpointId]);
});
