import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { OrderSchema, OrderStatus, PaymentType } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { createWaitingSlots } from '../../../src/rest-facade/waiting-slots.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { beginVerify, post, startFacadeOverRpc } from './facade-over-rpc.ts';
import type { Answer, FacadeOverRpc } from './facade-over-rpc.ts';

// An ended order changes only by an erasure or a restore, so verify answers about it from the facade's cache.

let facade: FacadeOverRpc;
let reads: string[] = [];
let status = OrderStatus.PENDING;
let elapsedMs = 0;
let endedOrdersVersion = 'v1';
let keyChecks = 0;

beforeAll(async () => {
  facade = await startFacadeOverRpc(
    {
      apiKeys: {
        authenticateApiKey: ({ apiKey }) => {
          keyChecks += 1;
          return { merchantId: `mer_${apiKey}`, apiKeyId: `key_${apiKey}`, endedOrdersVersion };
        },
      },
      orders: {
        getOrder: ({ merchantId, key }) => {
          const orderNumber = key.value ?? '';
          reads.push(`${merchantId} ${orderNumber}`);
          const order = create(OrderSchema, {
            orderId: `ord_${merchantId}_${orderNumber}`,
            merchantId,
            orderNumber,
            status,
            paymentType: PaymentType.API,
            createTime: timestampFromMs(0),
            updateTime: timestampFromMs(0),
          });
          return { order };
        },
      },
    },
    { nowMs: () => performance.now() + elapsedMs, waitingSlots: createWaitingSlots(0) },
  );
});
beforeEach(() => {
  reads = [];
});
afterAll(() => facade.close());

const verify = (orderNumber: string, headers: Record<string, string> = {}): Promise<Answer> =>
  post(`${facade.url}/api/v1/verify`, { order_number: orderNumber }, { apiKey: 'one', ...headers });

const ended = [
  ['COMPLETED', OrderStatus.COMPLETED],
  ['FAILED', OrderStatus.FAILED],
  ['EXPIRED', OrderStatus.EXPIRED],
] as const;

test.each(ended)(
  'core is called once about a %s order, and each time while it was PENDING',
  async (name, end) => {
    status = OrderStatus.PENDING;
    const pending = [await verify(name), await verify(name)];
    status = end;
    const first = await verify(name);
    const again = await verify(name, { prefer: 'wait=5' });

    expect(reads).toHaveLength(3);
    expect(pending.map(({ json }) => json)).toMatchObject(
      [1, 2].map(() => ({ data: { status: 'PENDING' } })),
    );
    expect(first.json).toMatchObject({ code: 200, data: { order_number: name, status: name } });
    expect([again.status, again.text]).toEqual([200, first.text]);
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(again.headers.get('preference-applied')).toBe('wait=5');
  },
);

test('a merchant gets the answer about its own order, never that of another with the same number', async () => {
  status = OrderStatus.COMPLETED;
  const own = await verify('shared');
  const other = await verify('shared', { apiKey: 'two' });

  expect(own.json).toMatchObject({ data: { order_id: 'ord_mer_one_shared' } });
  expect(other.json).toMatchObject({ data: { order_id: 'ord_mer_two_shared' } });
  expect(reads).toEqual(['mer_one shared', 'mer_two shared']);
});

/** The facade asks again who a key belongs to. */
const keyIsForgotten = (): void => void (elapsedMs += 3_001);

test('core is called again when it says that ended orders may have changed', async () => {
  status = OrderStatus.COMPLETED;
  await verify('erased');
  keyIsForgotten();
  await verify('erased');
  expect(reads).toHaveLength(1);

  endedOrdersVersion = 'v2';
  await verify('erased');
  expect(reads).toHaveLength(1);
  keyIsForgotten();
  await verify('erased');
  await verify('erased');
  expect(reads).toHaveLength(2);

  keyIsForgotten();
  const before = keyChecks;
  const finish = beginVerify(facade.url, 'erased', 'one');
  await waitUntil('the key is accepted before the body arrives', () => keyChecks > before);
  endedOrdersVersion = 'v3';
  keyIsForgotten();
  expect(await finish()).toMatch(/^HTTP\/1\.1 200 /);
  expect(reads).toHaveLength(3);
});

test('core is called each time if it does not say so, as an older core', async () => {
  status = OrderStatus.COMPLETED;
  endedOrdersVersion = '';
  keyIsForgotten();
  await verify('unknown');
  await verify('unknown');
  expect(reads).toHaveLength(2);
  endedOrdersVersion = 'v2';
  keyIsForgotten();
});

test('core is called again after ten minutes', async () => {
  status = OrderStatus.COMPLETED;
  await verify('old');
  elapsedMs += 599_000;
  await verify('old');
  expect(reads).toHaveLength(1);

  elapsedMs += 2_000;
  await verify('old');
  expect(reads).toHaveLength(2);
});
