import { describe, expect, test } from '@jest/globals';
import { formatCursor } from '../../../src/contract/event-cursor.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { connectTo } from '../core/broker-messages.ts';
import { deskOfEachTest, numbered } from './intake-under-test.ts';
import type { IntakeDesk, RunningIntake } from './intake-under-test.ts';

const open = deskOfEachTest();

/** Expires orders until the intake gets events from the broker again. Returns their number. */
async function untilBrought({ stack, expireOrders }: IntakeDesk, brought: () => number): Promise<number> {
  const before = brought();
  const { id: merchantId } = await stack.createMerchant();
  let round = 0;
  await waitUntil('the broker brings events', async () => {
    round += 1;
    await expireOrders([`again-${round}`], merchantId);
    return brought() > before;
  });
  return round;
}

const linesOf = ({ log }: RunningIntake, text: string) => log.filter(({ msg }) => msg === text);

/** Whether a reason has two lines within a minute. A busy machine may take longer than that between two tries. */
const areRepeated = (lines: ReturnType<typeof linesOf>): boolean =>
  lines.some(({ err, time }, index) =>
    lines
      .slice(0, index)
      .some(
        (earlier) =>
          (earlier['err'] as Error).message === (err as Error).message &&
          Date.parse(String(time)) - Date.parse(String(earlier['time'])) < 59_000,
      ),
  );

describe('the intake misses nothing', () => {
  test('when stream and consumer are deleted while it runs', async () => {
    const desk = await open();
    const { broker, expireOrders, startIntake, untilAllTakenIn, expectEachTakenInOnce } = desk;
    const intake = startIntake();
    await expireOrders(numbered('A', 20));
    await untilAllTakenIn(20);

    const connection = await connectTo(broker.url);
    const manager = await connection.jetstreamManager();
    await manager.consumers.delete('ORDERS', 'webhooks');
    await expireOrders(numbered('B', 20));
    await untilAllTakenIn(40);
    const once = await untilBrought(desk, intake.brought);
    await manager.streams.delete('ORDERS');
    await connection.close();
    await expireOrders(numbered('C', 20));
    await untilAllTakenIn(60 + once);
    const twice = await untilBrought(desk, intake.brought);

    await expectEachTakenInOnce(60 + once + twice);
  });

  test('when messages are lost from the stream, repeated in it, or are no events', async () => {
    const desk = await open();
    const { broker, expireOrders, startIntake, untilAllTakenIn, expectEachTakenInOnce } = desk;
    const before = startIntake();
    await expireOrders(numbered('A', 10));
    await untilAllTakenIn(10);
    await before.stop();
    await expireOrders(numbered('B', 10));
    const connection = await connectTo(broker.url);
    const manager = await connection.jetstreamManager();
    const stored = await waitUntil('all is published', async () => {
      const { state } = await manager.streams.info('ORDERS');
      return state.messages >= 40 && state;
    });
    for (const seq of [stored.last_seq - 1, stored.last_seq - 7])
      await manager.streams.deleteMessage('ORDERS', seq);
    const repeated = await manager.streams.getMessage('ORDERS', { seq: stored.last_seq - 3 });
    const jetstream = connection.jetstream();
    await jetstream.publish(repeated.subject, repeated.data, { headers: repeated.header });
    await jetstream.publish('orders.sandbox.nobody.completed', Buffer.from([0xff, 0xff]));

    const intake = startIntake();
    await untilAllTakenIn(20);
    const more = await untilBrought(desk, intake.brought);

    await expectEachTakenInOnce(20 + more);
    await waitUntil('all is acknowledged', async () => {
      const info = await manager.consumers.info('ORDERS', 'webhooks');
      return info.num_pending === 0 && info.num_ack_pending === 0;
    });
    await connection.close();
  });

  test('when it exits between the write and the acknowledgement, and the repeat creates no second delivery', async () => {
    const desk = await open({ ackWaitMs: 2_000 });
    const { broker, merchantId, expireOrders, startIntake, untilAllTakenIn, expectEachTakenInOnce } = desk;
    let crashes = 0;
    const crashing = startIntake({
      onDeliveries: () => {
        crashes += 1;
        throw new Error('the end, on purpose');
      },
    });
    await waitUntil('the broker brings events', async () => {
      await desk.desk.registerHosted({ merchantId, orderNumber: `A-${crashing.brought()}-${Date.now()}` });
      return crashing.brought() > 0;
    });
    await expireOrders(numbered('B', 5));
    await waitUntil('it has ended', () => crashes > 0);
    const ended = crashes;
    await expireOrders(['B-again']);
    await waitUntil('it has ended again', () => crashes > ended);
    await crashing.stop();
    expect(
      areRepeated(linesOf(crashing, 'ingesting events failed; core keeps them, and the intake tries again')),
    ).toBe(false);
    const connection = await connectTo(broker.url);
    const manager = await connection.jetstreamManager();
    const unacknowledged = async (): Promise<number> =>
      (await manager.consumers.info('ORDERS', 'webhooks')).num_ack_pending;
    expect(await unacknowledged()).toBeGreaterThan(0);

    startIntake();
    await expireOrders(numbered('C', 5));
    await untilAllTakenIn(11);

    // The broker delivers messages again that were not acknowledged.
    await waitUntil('all is acknowledged', async () => (await unacknowledged()) === 0);
    await connection.close();
    await expectEachTakenInOnce(11);
  });

  test('after core was restored into another database server, where events have other positions', async () => {
    const desk = await open();
    const { expireOrders, startIntake, untilAllTakenIn, expectEachTakenInOnce } = desk;
    const before = startIntake();
    await expireOrders(numbered('A', 10));
    await untilAllTakenIn(10);
    await before.stop();
    await desk.desk.query('update webhooks.event_readers set cursor = $1', [
      formatCursor({ xid: '900000000000', position: '1' }),
    ]);
    await expireOrders(numbered('B', 10));

    const intake = startIntake();
    await untilAllTakenIn(20);
    const more = await untilBrought(desk, intake.brought);

    await expectEachTakenInOnce(20 + more);
    expect(intake.log.filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  test('while core is unavailable, because it ingests events from the broker', async () => {
    const desk = await open({ ownProcesses: true });
    const { stack, merchantId, startIntake, expectEachTakenInOnce } = desk;
    const order = await desk.desk.registerHosted({ merchantId, orderNumber: 'A-1' });
    const intake = startIntake();
    await waitUntil('it reads the stream', async () => {
      const rows = await desk.desk.query(`select 1 from webhooks.event_readers where cursor <> ''`);
      return rows.length > 0;
    });
    await stack.cores[0]?.stop('SIGKILL');
    const unlisted = 'the event list of core could not be read; trying again';
    await waitUntil('core is missed', () => linesOf(intake, unlisted).length > 0);
    const looks = intake.looks();

    // The core that the intake knows stays down. Another one ends the order, and publishes that event.
    await stack.startCore();
    await desk.desk.endSession(order);

    await expectEachTakenInOnce(1);
    expect(intake.brought()).toBeGreaterThan(0);
    await waitUntil('it has asked again, in vain', () => intake.looks() > looks + 2);
    expect(areRepeated(linesOf(intake, unlisted))).toBe(false);
  });
});
