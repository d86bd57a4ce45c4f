import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Http2Stream } from 'node:http2';
import { createClient, createServiceImplSpec } from '@connectrpc/connect';
import { beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { Health } from '../../../src/gen/health/v1/health_pb.js';
import { startGrpcServer } from '../../../src/platform/rpc/grpc-server.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';

const closers = closersOfEachTest();
const never = 3_600_000;

/** Called for each ping that one side of a connection sends. */
let onPing: () => void;
const watchPings = (message: unknown): void => {
  const { session } = (message as { readonly stream: Http2Stream }).stream;
  if (session === undefined) return;
  const ping = session.ping.bind(session) as (...given: unknown[]) => boolean;
  session.ping = (...given: unknown[]): boolean => {
    onPing();
    return ping(...given);
  };
};
beforeEach(() => {
  onPing = () => undefined;
  for (const side of ['client', 'server']) {
    subscribe(`http2.${side}.stream.created`, watchPings);
    closers.push(() => unsubscribe(`http2.${side}.stream.created`, watchPings));
  }
});

test.each([
  { side: 'the server', server: 40, client: never },
  { side: 'the client', server: never, client: 40 },
])(
  'a server that stops completes its calls, although $side pings meanwhile',
  async ({ server: everyMs, client }) => {
    const arrived = Promise.withResolvers<undefined>();
    const mayEnd = Promise.withResolvers<undefined>();
    const health = createServiceImplSpec<typeof Health>(Health, {
      check: async () => {
        arrived.resolve(undefined);
        await mayEnd.promise;
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
    let pings = 0;
    onPing = () => {
      pings += 1;
      if (pings === 3) mayEnd.resolve(undefined);
    };

    expect(await call).toMatchObject({ status: 1 });
    await stopped;
  },
);
