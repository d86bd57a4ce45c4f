import { expect, test } from '@jest/globals';
import type { Order } from '../../../src/core/domain/order.ts';
import { createWaitForOrder } from '../../../src/core/payments/orders/wait-for-order.ts';
import type { OrderWait } from '../../../src/core/payments/orders/wait-for-order.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { refusalOf } from '../../support/rpc-failure.ts';

const at = new Date('2026-03-10T12:00:00Z');
const merchantId = newRandomId('mer', at);
const id = newRandomId('ord', at);
const wait: OrderWait = {
  name: { merchantId, environment: 'SANDBOX', by: 'id', value: id },
  knownSequence: undefined,
  timeoutMs: 60_000,
};

test('the waits of one owner leave half of all waits to others', async () => {
  const stopping = new AbortController();
  const waitForOrder = createWaitForOrder({
    findOrder: () => Promise.resolve({ id, status: 'PENDING' } as Order),
    changedOrders: { listen: () => Promise.resolve(() => undefined) },
    draining: stopping.signal,
    maxWaiting: 4,
  });
  const { signal } = new AbortController();
  const of = (owner: string) => waitForOrder(wait, { signal, owner });
  const waiting = [of('reader'), of('reader')];

  expect(await refusalOf(of('reader'))).toBe('OVERLOADED');

  waiting.push(of('writer'));
  stopping.abort();
  expect((await Promise.all(waiting)).map((answer) => answer?.timedOut)).toEqual([true, true, true]);
});
