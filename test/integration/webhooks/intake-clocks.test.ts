import { describe, expect, test } from '@jest/globals';
import { formatCursor } from '../../../src/contract/event-cursor.ts';
import { openEventBus } from '../../../src/contract/event-bus.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { openDatabase } from '../../../src/webhooks/database/database.ts';
import { ingestEvents } from '../../../src/webhooks/intake/ingest-events.ts';
import { createDeliveryWriter } from '../../../src/webhooks/intake/write-deliveries.ts';
import type { LogLine } from '../../support/gatehouse-process.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { deskOfEachTest, eventIdsOf, numbered } from './intake-under-test.ts';
import type { IntakeDesk } from './intake-under-test.ts';
import { keptLog } from '../../support/kept-log.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';

// The intakes stop before the desk, because hooks run in the order of their definition.
const intakes = closersOfEachTest();
const open = deskOfEachTest();

interface Intake {
  readonly log: readonly LogLine[];
  readonly stop: () => Promise<void>;
}

/** An intake whose clock is off. */
function startIntake(desk: IntakeDesk, clockOffMs = 0): Intake {
  const { logger, log } = keptLog();
  const stopping = new AbortController();
  const now = (): Date => new Date(Date.now() + clockOffMs);
  const { orders, stack, broker } = desk;
  const running = (async () => {
    const options = { poolSize: 4, applicationName: 'intake clocks', logger };
    const database = await openDatabase({ url: stack.databaseUrl, ...options });
    const bus = openEventBus({ url: broker.url, name: 'intake clocks', logger });
    const writer = createDeliveryWriter({
      database,
      retentionDays: 90,
      newId: newRandomId,
      now,
      machineNow: now,
    });
    const consumer = bus.eventConsumer({ name: 'webhooks', ackWaitMs: 30_000 });
    const parts = { database, writer, consumer, orders, onDeliveries: () => undefined, logger, now };
    await ingestEvents(parts, stopping.signal);
    await bus.close();
    await database.close();
  })();
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
  };
  intakes.push(stop);
  return { log, stop };
}

describe.each([-3_600_000, 3_600_000])('an intake whose clock is %i ms off', (clockOffMs) => {
  test('ingests events from the broker, from core while the broker is unavailable, and those that the broker lost', async () => {
    const desk = await open();
    const { id: merchantId } = await desk.stack.createMerchant();
    startIntake(desk, clockOffMs);

    await desk.expireOrders(merchantId, numbered('BROUGHT', 3));
    await desk.untilAllTakenIn(3);
    await desk.broker.stop();
    await desk.expireOrders(merchantId, numbered('AWAY', 3));
    await desk.untilAllTakenIn(6);
    await desk.broker.wipe();
    await desk.expireOrders(merchantId, numbered('LOST', 3));
    await desk.broker.start();

    const rows = await desk.untilAllTakenIn(9);
    expect(eventIdsOf(rows)).toEqual((await desk.toldEvents()).toSorted());
  });
});

test('events at positions that earlier events had, as after a failover that lost transactions, are ingested', async () => {
  const desk = await open();
  const { id: merchantId } = await desk.stack.createMerchant();
  const before = startIntake(desk);
  await desk.expireOrders(merchantId, ['BEFORE']);
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
  await desk.expireOrders(merchantId, numbered('AGAIN', 3));
  await waitUntil('they have expired', async () => (await desk.toldEvents()).length === 4);
  while ((await nextTransaction()) <= reached);
  // Core lists events up to the oldest running transaction, which may be one of another database.
  await waitUntil(
    'core knows the cursor',
    async () => (await readXid('pg_snapshot_xmin(pg_current_snapshot())')) > reached,
  );

  const { log } = startIntake(desk);

  const rows = await desk.untilAllTakenIn(4);
  expect(eventIdsOf(rows)).toEqual((await desk.toldEvents()).toSorted());
  // An event that the broker still delivered is not among them.
  expect(log.find(({ level }) => level === 'error')?.['deliveries']).toBeGreaterThan(0);
});
