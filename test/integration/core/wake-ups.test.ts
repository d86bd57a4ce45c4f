import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { openEventBus } from '../../../src/contract/event-bus.ts';
import { startTemporaryNats } from '../../../src/main/local/temporary-servers.ts';
import { shared } from '../../support/shared-stack.ts';
import { startStack } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openPaymentDesk, outcomes } from './payment-desk.ts';

// A wallet that core does not wake finds its work by polling, up to two seconds later.

const gateway = shared(
  async () => {
    const broker = await startTemporaryNats();
    const stack = await startStack({ facades: 0, settings: { GATEHOUSE_NATS_URL: broker.url } });
    const bus = openEventBus({ url: broker.url, name: 'wallets', logger: pino({ level: 'silent' }) });
    await waitUntil('the broker is reached', bus.isConnected);
    return { stack, bus, broker, desk: await openPaymentDesk(stack) };
  },
  async ({ stack, bus, broker, desk }) => {
    await desk.close();
    await bus.close();
    await stack.stop();
    await broker.stop();
  },
);

test('core wakes the wallet of a payment for each kind of work that becomes due, and no other wallet', async () => {
  const { bus, desk } = gateway;
  const heard: string[] = [];
  // Core also wakes all wallets at times, for work that it starts on its own.
  bus.onWake('payment_attempts', (part) => part !== '' && heard.push(part));
  await bus.isAnswering(5_000);
  const wakeUp = () => waitUntil('core wakes a wallet', () => heard.shift());
  const { id: merchantId } = await gateway.stack.createMerchant();
  const payment = await desk.startDirect({ merchantId, orderNumber: 'W-1' });
  expect(await wakeUp()).toBe('payments SANDBOX walleta');

  await desk.settle(payment, outcomes.completed('w-1'));
  const { refundId } = await desk.refund(merchantId, 'W-1');
  expect(await wakeUp()).toBe('reversals SANDBOX walleta');

  await desk.refundWork.hastenRefund({ merchantId, refundId });
  expect(await wakeUp()).toBe('reversals SANDBOX walleta');

  const payerPaymentId = await desk.reportFromMenu(merchantId, 'no-order');
  expect(await wakeUp()).toBe('payerPayments SANDBOX walleta');

  await desk.confirmFromMenu(merchantId, payerPaymentId, 'no-order');
  expect(await wakeUp()).toBe('reversals SANDBOX walleta');
  expect(heard).toEqual([]);
});
