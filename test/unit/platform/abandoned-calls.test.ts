import { mock } from 'node:test';
import { createClient } from '@connectrpc/connect';
import type { Client } from '@connectrpc/connect';
import { Http2SessionManager, createConnectTransport } from '@connectrpc/connect-node';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Health } from '../../../src/gen/health/v1/health_pb.js';
import { createLogger } from '../../../src/platform/logger.ts';
import { startConnectServer } from '../../../src/platform/rpc/connect-server.ts';
import { startGrpcServer } from '../../../src/platform/rpc/grpc-server.ts';
import { createGrpcTransport } from '../../../src/contract/grpc-transport.ts';
import { rpcService } from '../../../src/platform/rpc/rpc-service.ts';
import { failureOf } from '../../support/rpc-failure.ts';

interface Server {
  readonly address: string;
  readonly stop: (timeoutMs: number) => Promise<void>;
}

interface Connection {
  readonly health: Client<typeof Health>;
  readonly close: () => void;
}

/** Delays every Health.Check until the test releases it. */
function heldBackService() {
  let answer = (): void => undefined;
  const held = new Promise<void>((resolve) => (answer = resolve));
  let calls = 0;
  const { spec } = rpcService(
    Health,
    {
      check: async () => {
        calls += 1;
        await held;
        return {};
      },
      list: () => ({}),
      watch: async function* () {},
    },
    { check: 'anyone', list: 'anyone', watch: 'anyone' },
  );
  return { spec, answer: () => answer(), calls: () => calls };
}

const logger = createLogger({ process: 'test', instance: 'test', level: 'silent' });

/** One connection to the server, by either protocol. */
const protocols = {
  gRPC: {
    start: startGrpcServer,
    connect: ({ address }: Server): Connection => {
      const transport = createGrpcTransport({ addresses: [address], token: 'any' });
      return { health: createClient(Health, transport), close: () => transport.close() };
    },
  },
  Connect: {
    start: startConnectServer,
    connect: ({ address }: Server): Connection => {
      const baseUrl = `http://${address}`;
      const sessionManager = new Http2SessionManager(baseUrl);
      const transport = createConnectTransport({ baseUrl, httpVersion: '2', sessionManager });
      return { health: createClient(Health, transport), close: () => sessionManager.abort() };
    },
  },
};

// connect-node writes to the console for every caller that disconnects, which all of these do.
beforeEach(() => void mock.method(console, 'error', () => undefined));
afterEach(() => mock.restoreAll());

test.each(['gRPC', 'Connect'] as const)(
  'over %s, 2,000 abandoned calls do not affect their connection, nor another call on it',
  async (name) => {
    const service = heldBackService();
    const { start, connect } = protocols[name];
    const server = await start({ host: '127.0.0.1', port: 0, services: [service.spec], logger });
    const { health, close } = connect(server);
    try {
      const patient = health.check({}, { timeoutMs: 60_000 }).then(
        () => 'answered',
        (error: unknown) => error,
      );
      const failures = new Set<string>();
      // By default Node allows 1,000, and 33 a second. Some pass their deadline before they are sent, and write
      // nothing.
      while (service.calls() < 2_001) {
        const late = Array.from({ length: 100 }, () => failureOf(health.check({}, { timeoutMs: 1 })));
        for (const { code } of await Promise.all(late)) failures.add(code);
      }
      service.answer();

      expect(await patient).toBe('answered');
      expect([...failures]).toEqual(['DeadlineExceeded']);
    } finally {
      service.answer();
      close();
      await server.stop(1_000);
    }
  },
);
