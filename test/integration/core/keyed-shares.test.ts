import { ConnectError } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { directPayment, registration } from '../../support/order-requests.ts';
import { describeFailure } from '../../support/rpc-failure.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { hangMs, waitUntil } from '../../support/wait-until.ts';

/** A keyed call runs alone with this pool. */
const stack = sharedStack({ facades: 0, settings: { GATEHOUSE_DATABASE_POOL_SIZE: '3' } });
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
