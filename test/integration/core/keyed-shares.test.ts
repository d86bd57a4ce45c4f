import { ConnectError } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { directPayment, registration } from '../../support/order-requests.ts';
import { describeFailure, refusalOf } from '../../support/rpc-failure.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { hangMs, waitUntil } from '../../support/wait-until.ts';
import { sharedPaymentDesk } from './payment-desk.ts';

/** A keyed call runs alone with this pool. */
const stack = sharedStack({ facades: 0, settings: { GATEHOUSE_DATABASE_POOL_SIZE: '3' } });
const desk = sharedPaymentDesk(stack);
const orders = sharedClient(stack, OrderService, 'writer');

/** On a busy machine, calls may wait for longer than a client usually does. */
const patiently = { timeoutMs: hangMs };

/** A call of a merchant with an idempotency key. `index` counts its calls. */
type KeyedCall = (merchantId: string, index: number) => Promise<{ order?: { orderId: string } | undefined }>;

const repeats: KeyedCall = (merchantId) =>
  orders.registerOrder({ ...registration({ merchantId }), idempotencyKey: 'one key' }, patiently);
/** Payments of registered orders. */
const payments: KeyedCall = async (merchantId, index) => {
  const orderNumber = `D-${index}`;
  await orders.registerOrder(registration({ merchantId, orderNumber }), patiently);
  const phone = `09113${String(index).padStart(5, '0')}`;
  const payment = { ...directPayment({ merchantId, orderNumber, phone }), idempotencyKey: `key-${index}` };
  return orders.startDirectPayment(payment, patiently);
};

test.each([
  ['registrations with one key', repeats],
  ['direct payments on registered orders', payments],
])(
  'many keyed %s do not delay another merchant, and those above the share are refused',
  async (_name, call) => {
    const [many, other] = await Promise.all([stack.createMerchant(), stack.createMerchant()]);
    const answered: (string | undefined)[] = [];
    const refused: (string | undefined)[] = [];
    const calls = Array.from({ length: 300 }, async (_, index) => {
      try {
        answered.push((await call(many.id, index)).order?.orderId);
      } catch (error) {
        refused.push(describeFailure(ConnectError.from(error)).reason);
      }
    });
    await waitUntil('the first call is answered', () => answered.length > 0);

    const { order } = await orders.registerOrder(registration({ merchantId: other.id }), patiently);
    const before = answered.length;

    expect(order?.merchantId).toBe(other.id);
    expect(before).toBeLessThan(100);
    await Promise.all(calls);
    expect(answered.length).toBeGreaterThanOrEqual(20);
    expect(new Set(answered).size).toBe(call === repeats ? 1 : answered.length);
    expect(refused.length).toBeGreaterThan(0);
    expect(new Set(refused)).toEqual(new Set(['OVERLOADED']));
  },
);

test.each([
  ['', ''],
  [' with an idempotency key', 'late'],
])(
  'a direct payment%s that waits for a third of its time for another is refused as OVERLOADED',
  async (_name, idempotencyKey) => {
    const { id: merchantId } = await stack.createMerchant();
    const [held, late] = await Promise.all(
      ['HELD', 'LATE'].map((orderNumber) => desk.registerHosted({ merchantId, orderNumber })),
    );
    const release = await desk.holdOrder(held!);
    const paying = orders.startDirectPayment(directPayment({ merchantId, orderNumber: 'HELD' }), patiently);
    await waitUntil('it waits for its order', async () => (await desk.lockWaits()) === 1);

    const payment = {
      ...directPayment({ merchantId, orderNumber: 'LATE', phone: '0911334455' }),
      idempotencyKey,
    };
    const refused = await refusalOf(orders.startDirectPayment(payment, { timeoutMs: 3_000 }));

    await release();
    expect((await paying).order?.orderId).toBe(held?.orderId);
    expect(refused).toBe('OVERLOADED');
    expect((await orders.startDirectPayment(payment, patiently)).order?.orderId).toBe(late?.orderId);
  },
);
