import { once } from 'node:events';
import { queryObjects } from 'node:v8';
import { createClient, createRouterTransport } from '@connectrpc/connect';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { createEventListening } from '../../../src/webhooks/rpc/listen-to-events.ts';

/** Listens at a core without events. */
export function createListen() {
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

const promises = (): number => queryObjects(Promise, { format: 'count' });

/** Prints how many promises a hundred keep-alive messages leave behind. */
async function printGrowth(): Promise<void> {
  const leaving = new AbortController();
  const heard = createListen()('mer_1', leaving.signal)[Symbol.asyncIterator]();
  await heard.next();
  const before = promises();
  for (let each = 0; each < 100; each += 1) await heard.next();
  console.log(promises() - before);
  leaving.abort();
  await heard.return?.();
}

if (import.meta.main) await printGrowth();
