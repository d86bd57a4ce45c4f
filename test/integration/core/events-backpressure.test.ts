import { runInThisContext } from 'node:vm';
import { expect, test } from '@jest/globals';
import { create } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import type { MethodImplSpec } from '@connectrpc/connect';
import {
  OrderService,
  WatchOrderEventsResponseSchema,
} from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { createLogger } from '../../../src/platform/logger.ts';
import { startGrpcServer } from '../../../src/platform/rpc/grpc-server.ts';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';

const cleanUps = closersOfEachTest();

/** A stream of messages of about 1 kB, as many as its reader takes. */
async function startEndlessWatch() {
  const source = { taken: 0, ended: false };
  const method: MethodImplSpec = {
    kind: 'server_streaming',
    method: OrderService.method.watchOrderEvents,
    impl: async function* () {
      try {
        for (;;) {
          source.taken += 1;
          yield create(WatchOrderEventsResponseSchema, { cursor: `${source.taken}.${'x'.repeat(1000)}` });
        }
      } finally {
        source.ended = true;
      }
    },
  };
  const logger = createLogger({ process: 'test', instance: 'backpressure', level: 'silent' });
  const service = { service: OrderService, methods: { watchOrderEvents: method } };
  const server = await startGrpcServer({ host: '127.0.0.1', port: 0, services: [service], logger });
  const transport = createGrpcTransport({ addresses: [server.address], token: 'any' });
  cleanUps.push(() => server.stop(0));
  cleanUps.push(async () => transport.close());
  const reading = new AbortController();
  const watch = createClient(OrderService, transport).watchOrderEvents({}, { signal: reading.signal });
  const messages = watch[Symbol.asyncIterator]();
  return { source, messages, leave: () => reading.abort() };
}

/** The value after it has not changed for twenty reads. */
async function settled(value: () => number): Promise<number> {
  let last = -1;
  let looks = 0;
  await waitUntil('nothing moves any more', () => {
    looks = value() === last ? looks + 1 : 0;
    last = value();
    return looks === 20;
  });
  return last;
}

test('a watcher that pauses slows its source down, and gets every message in order when it reads on', async () => {
  const { source, messages, leave } = await startEndlessWatch();
  await messages.next();
  const ahead = await settled(() => source.taken);
  expect(ahead).toBeLessThan(10_000);

  const numbers: number[] = [1];
  while (numbers.length < ahead + 500) {
    const { value } = await messages.next();
    numbers.push(Number.parseInt((value as { cursor: string }).cursor, 10));
  }

  expect(numbers).toEqual(Array.from(numbers, (_, index) => index + 1));
  leave();
  await waitUntil('the source has ended', () => source.ended);
});

test('repeated waits for a slow watcher leak no listener', async () => {
  // Jest gives tests a copy of `process`, which does not receive warnings.
  const realProcess = runInThisContext('process') as NodeJS.Process;
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  realProcess.on('warning', note);
  cleanUps.push(async () => void realProcess.off('warning', note));
  const { source, messages, leave } = await startEndlessWatch();
  await messages.next();
  const ahead = await settled(() => source.taken);

  while (source.taken < ahead + 2_000) await messages.next();

  expect(warnings.filter(({ name }) => name === 'MaxListenersExceededWarning')).toEqual([]);
  leave();
});
