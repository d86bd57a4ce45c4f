import { expect, test } from '@jest/globals';
import pino from 'pino';
import { openEventBus } from '../../src/contract/event-bus.ts';
import type { EventBus } from '../../src/contract/event-bus.ts';
import { AuditService } from '../../src/gen/gatehouse/v1/audit_service_pb.js';
import { openPaymentDesk, outcomes } from '../integration/core/payment-desk.ts';
import { startCuttingProxy } from '../support/cutting-proxy.ts';
import { startProcess } from '../support/gatehouse-process.ts';
import { storedId } from '../support/ids.ts';
import { startInline } from '../support/inline-process.ts';
import { startStack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { closersOfEachTest } from '../support/shared-stack.ts';
import { connectToDatabase } from '../support/database-connections.ts';
import { sql } from '../support/sql.ts';

const closers = closersOfEachTest();
const digits = '911775533';

/** How many messages of the broker contain the customer's number. */
async function messagesWithNumber(bus: EventBus): Promise<number> {
  const stream = await waitUntil('the broker answers', bus.storedStream);
  const messages = await stream.read(stream.range?.first ?? 1, stream.range?.last ?? 0);
  return messages.filter(({ body }) => Buffer.from(body).toString('latin1').includes(digits)).length;
}

test('the broker removes the events of an erased order although the core that erased it is killed before', async () => {
  const stack = await startStack({ facades: 0 });
  closers.push(stack.stop);
  const database = await connectToDatabase(stack.databaseUrl);
  closers.push(() => database.end());
  const natsUrl = stack.coreSettings['GATEHOUSE_NATS_URL'] ?? '';
  const bus = openEventBus({ url: natsUrl, name: 'test', logger: pino({ level: 'silent' }) });
  closers.push(bus.close);
  const broker = new URL(natsUrl);
  const proxy = await startCuttingProxy({ host: broker.hostname, port: Number(broker.port) });
  closers.push(proxy.close);

  const desk = await openPaymentDesk(stack);
  closers.push(desk.close);
  const { id: merchantId } = await stack.createMerchant();
  const payment = await desk.startDirect({ merchantId, orderNumber: 'PAID', phone: `0${digits}` });
  await desk.settle(payment, outcomes.completed('t-1'));
  const published = await waitUntil('all events are in the broker', async () => {
    const count = await messagesWithNumber(bus);
    return count === (await desk.history(payment)).length && count;
  });
  await waitUntil('all events are sealed', async () => {
    for await (const { message } of stack.client(AuditService, 'reader').verifyEvents({ merchantId }))
      if (message.case === 'summary') return message.value.waitingEventCount === 0n;
    return false;
  });
  await stack.cores[0]?.stop();

  // No removal reaches the broker.
  proxy.cutAt('$js.api.stream.msg.delete');
  broker.port = String(proxy.port);
  const killed = await startProcess('core', { ...stack.coreSettings, GATEHOUSE_NATS_URL: broker.href });
  const order = storedId('ord', payment.orderId);
  await database.query(sql`insert into core.erasures_due (merchant_id, environment, order_id, due_at)
    values (${storedId('mer', merchantId)}, 'SANDBOX', ${order}, now())`);
  await waitUntil('core asks the broker to remove an event', () => proxy.cuts() > 0);
  await killed.stop('SIGKILL');
  const { rows: erased } = await database.query(sql`
    select customer_phone from core.orders where id = ${order}`);
  const left = await messagesWithNumber(bus);
  await database.query(sql`update core.erasures_due set due_at = now() where order_id = ${order}`);
  const next = await startInline('core', stack.coreSettings);
  closers.push(next.stop);
  await waitUntil('the order is no longer due', async () => {
    const { rows } = await database.query(sql`select from core.erasures_due where order_id = ${order}`);
    return rows.length === 0;
  });

  expect(published).toBeGreaterThan(0);
  expect(erased).toEqual([{ customer_phone: 'erased' }]);
  expect(left).toBe(published);
  expect(await messagesWithNumber(bus)).toBe(0);
});
