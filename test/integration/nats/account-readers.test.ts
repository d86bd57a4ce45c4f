import { afterEach, describe, expect, test } from '@jest/globals';
import { AckPolicy, DeliverPolicy, ErrorCode } from 'nats';
import type { Consumer, NatsConnection } from 'nats';
import { waitUntil } from '../../support/wait-until.ts';
import { ask, openNatsDesk, otherShop, readersApi, subjects } from './nats-desk.ts';
import { shopOfTheSample } from './nats-with-accounts.ts';
import type { NatsUser } from './nats-with-accounts.ts';
import { shared } from '../../support/shared-stack.ts';

const desk = shared(openNatsDesk);

afterEach(() => desk.closeAll());

describe('a reader in an account of its own', () => {
  test.each<[NatsUser, string, readonly string[]]>([
    ['sandbox-reader', 'orders.sandbox.>', [subjects.sandbox]],
    ['shop-reader', `orders.production.${shopOfTheSample}.>`, [subjects.production]],
  ])('reads and acknowledges the events that %s is for: %s', async (user, filter, expected) => {
    const connection = await desk.connectAs(user);
    await desk.publishAsCore();
    const consumer = await openConsumer(connection, user, filter);
    await desk.publishAsCore();

    const read: string[] = [];
    for await (const message of await consumer.fetch({ max_messages: 10, expires: 1_000 })) {
      read.push(message.string());
      message.ack();
    }

    expect(read).toEqual(expected);
    await waitUntil('it is acknowledged', async () => (await desk.consumerState(user)).num_ack_pending === 0);
  });

  test.each<[NatsUser, string]>([
    ['sandbox-reader', 'orders.>'],
    ['sandbox-reader', 'orders.production.>'],
    ['shop-reader', 'orders.>'],
    ['shop-reader', 'orders.sandbox.>'],
    ['shop-reader', `orders.production.${otherShop}.>`],
    ['shop-reader', 'orders.production.*.completed'],
  ])('%s cannot have a consumer for %s', async (user, filter) => {
    const connection = await desk.connectAs(user);
    const allowed = user === 'sandbox-reader' ? 'orders.sandbox.>' : `orders.production.${shopOfTheSample}.>`;
    const config = { name: user, durable_name: user, ack_policy: 'explicit' };
    const request = { stream_name: 'ORDERS', config: { ...config, filter_subject: filter } };

    const create = `${readersApi}.CONSUMER.CREATE.ORDERS.${user}`;
    const named = await ask(connection, `${create}.${filter}`, request);
    const unnamed = await ask(connection, create, request);
    const disguised = await ask(connection, `${create}.${allowed}`, request);

    expect([named, unnamed]).toEqual([ErrorCode.NoResponders, ErrorCode.NoResponders]);
    expect(disguised).toMatch(/did not match filtered subject/);
  });

  test.each([
    ...['STREAM.DELETE', 'STREAM.PURGE', 'STREAM.INFO', 'STREAM.MSG.GET', 'STREAM.MSG.DELETE'].map(
      (operation) => `${operation}.ORDERS`,
    ),
    ...['CONSUMER.DELETE.ORDERS.webhooks', 'CONSUMER.MSG.NEXT.ORDERS.webhooks'],
    'CONSUMER.MSG.NEXT.ORDERS.shop-reader',
  ])('gets nothing from JetStream by %s', async (operation) => {
    const connection = await desk.connectAs('sandbox-reader');
    await desk.publishAsCore();
    const before = await desk.storedMessages();

    expect(await ask(connection, `${readersApi}.${operation}`)).toBe(ErrorCode.NoResponders);
    // A message without a reply.
    expect(await ask(connection, `$JS.API.${operation}`)).toMatch(/not enabled for account|^TIMEOUT$/i);
    expect(await desk.storedMessages()).toBe(before);
  });

  test('cannot write to the stream, not even by having a reply sent there', async () => {
    const connection = await desk.connectAs('sandbox-reader');
    await desk.publishAsCore();
    await openConsumer(connection, 'sandbox-reader', 'orders.sandbox.>');
    await desk.publishAsCore();
    const before = await desk.storedMessages();

    connection.publish(subjects.production, 'forged');
    const next = `${readersApi}.CONSUMER.MSG.NEXT.ORDERS.sandbox-reader`;
    connection.publish(next, JSON.stringify({ batch: 1 }), { reply: subjects.production });
    await connection.flush();
    const create = `${readersApi}.CONSUMER.CREATE.ORDERS.sandbox-reader.orders.sandbox.>`;
    const config = { durable_name: 'sandbox-reader', ack_policy: 'explicit' };
    const toStream = { filter_subject: 'orders.sandbox.>', deliver_subject: subjects.production };
    const pushing = await ask(connection, create, {
      stream_name: 'ORDERS',
      config: { ...config, ...toStream },
    });

    expect(pushing).toMatch(/cycle/);
    expect(await desk.storedMessages()).toBe(before);
  });

  test('does not receive the internal messages of Gatehouse', async () => {
    const connection = await desk.connectAs('sandbox-reader');
    const heard: string[] = [];
    connection.subscribe('>', { callback: (_error, { subject }) => void heard.push(subject) });
    await connection.flush();
    const core = await desk.busOf('core');
    const wallets = await desk.busOf('wallets');
    let rung = false;
    wallets.onWake('payment_attempts', () => (rung = true));

    await desk.publishAsCore();
    await waitUntil('the ring is heard by others', () => {
      core.wake('payment_attempts');
      return rung;
    });

    await connection.flush();
    expect(heard).toEqual([]);
  });
});

/** A reader's own consumer of the stream, like the one of examples/consume-order-stream.ts. */
async function openConsumer(connection: NatsConnection, name: string, filter: string): Promise<Consumer> {
  const manager = await connection.jetstreamManager({ apiPrefix: readersApi, checkAPI: false });
  await manager.consumers.add('ORDERS', {
    durable_name: name,
    filter_subject: filter,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.New,
  });
  return connection.jetstream({ apiPrefix: readersApi }).consumers.get('ORDERS', name);
}
