import { once } from 'node:events';
import { queryObjects } from 'node:v8';
import { createClient, createRouterTransport } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { createEventListening } from '../../../src/webhooks/rpc/listen-to-events.ts';
import { refusalOf } from '../../support/rpc-failure.ts';

const promises = (): number => queryObjects(Promise, { format: 'count' });

/** Listens at a core without events. */
function createListen() {
  const transport = createRouterTransport(({ service }) =>
    service(OrderService, {
      async *watchOrderEvents(_request, { signal }) {
        yield { cursor: '1' };
        await once(signal, 'abort');
      },
    }),
  );
  return createEventListening({
    orders: createClient(OrderService, transport),
    secrets: { live: async () => undefined, unseen: () => ({ current: 'whsec_c2VjcmV0' }) },
    now: () => new Date(),
    keepAliveMs: 1,
    draining: new AbortController().signal,
  });
}

test('signs of life leave nothing behind while no event arrives', async () => {
  const listen = createListen();
  const leaving = new AbortController();
  const heard = listen('mer_1', leaving.signal)[Symbol.asyncIterator]();
  await heard.next();
  const before = promises();

  for (let each = 0; each < 100; each += 1) await heard.next();

  expect(promises() - before).toBeLessThan(50);
  leaving.abort();
  await heard.return?.();
});

test('the listeners of one merchant leave room for those of others', async () => {
  const listen = createListen();
  const leaving = new AbortController();
  const begin = async (merchantId: string) => {
    const heard = listen(merchantId, leaving.signal)[Symbol.asyncIterator]();
    await heard.next();
    return heard;
  };
  const heard = [];
  for (let each = 0; each < 100; each += 1) heard.push(await begin('mer_1'));

  expect(await refusalOf(begin('mer_1'))).toBe('OVERLOADED');
  heard.push(await begin('mer_2'));

  await heard[0]?.return?.();
  heard.push(await begin('mer_1'));
  leaving.abort();
  for (const each of heard) await each.return?.();
});
