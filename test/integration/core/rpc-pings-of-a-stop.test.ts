import { setTimeout as delay } from 'node:timers/promises';
import { createClient, createServiceImplSpec } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { Health } from '../../../src/gen/health/v1/health_pb.js';
import { startGrpcServer } from '../../../src/platform/rpc/grpc-server.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';

const closers = closersOfEachTest();
const never = 3_600_000;

test.each([
  { side: 'the server', server: 40, client: never },
  { side: 'the client', server: never, client: 40 },
])(
  'a server that stops completes its calls, although $side pings meanwhile',
  async ({ server: everyMs, client }) => {
    const arrived = Promise.withResolvers<undefined>();
    const health = createServiceImplSpec<typeof Health>(Health, {
      // Longer than several pings.
      check: async () => {
        arrived.resolve(undefined);
        await delay(400);
        return { status: 1 };
      },
    });
    const server = await startGrpcServer({
      host: '127.0.0.1',
      port: 0,
      services: [health],
      pingEveryMs: everyMs,
      logger: pino({ level: 'silent' }),
    });
    closers.push(() => server.stop(0));
    const transport = createGrpcTransport({ addresses: [server.address], token: '', pingEveryMs: client });
    closers.push(() => transport.close());

    const call = createClient(Health, transport).check({});
    await arrived.promise;
    const stopped = server.stop(5_000);

    expect(await call).toMatchObject({ status: 1 });
    await stopped;
  },
);
