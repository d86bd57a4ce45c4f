import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { expect, test } from '@jest/globals';
import { PaymentAttemptService } from '../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import {
  Health,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../src/gen/health/v1/health_pb.js';
import { openNetworkLink } from '../../src/main/prove/network-link.ts';
import { pause } from '../../src/platform/pause.ts';
import { createGrpcTransport } from '../../src/contract/grpc-transport.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { closersOfEachTest } from '../support/shared-stack.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { insist, waitUntil } from '../support/wait-until.ts';
import { startTraffic } from './merchant-traffic.ts';
import type { Traffic } from './merchant-traffic.ts';
import { ownPostgres } from './stoppable-servers.ts';

const closers = closersOfEachTest();

/** A stack on this database. */
async function startOn(databaseUrl: string, { cores = 1, webhooks = 0 } = {}): Promise<Stack> {
  const settings = { GATEHOUSE_DATABASE_URL: databaseUrl, GATEHOUSE_RATE_LIMIT_PER_KEY: '0' };
  const stack = await startStack({ cores, webhooks, settings });
  closers.push(stack.stop);
  return stack;
}

async function startMerchants({ createMerchant, facades }: Stack, clients: number): Promise<Traffic> {
  const { testKey } = await createMerchant();
  return startTraffic({ baseUrl: facades[0]?.sandbox ?? '', apiKey: testKey, clients });
}

/** The first is a restart by an operator, and the others are crashes. */
const ends = 3;
const retryMs = 50;
/** More callers than connections in a core's pool, so that each kill finds all of them in a transaction. */
const workers = 24;

/** Callers whose calls each are a transaction of core, and who repeat them whatever the answer is. */
function startTransactions(running: Stack) {
  const attempts = running.client(PaymentAttemptService, 'wallets');
  const loaded = new AbortController();
  closers.push(() => loaded.abort());
  const lease = { environment: Environment.SANDBOX, paymentOptions: ['walleta_ussd'] };
  let done = 0;
  const run = async (): Promise<void> => {
    while (!loaded.signal.aborted) {
      await attempts
        .leasePaymentAttempts(
          { ...lease, maxAttempts: 1, lease: durationFromMs(10_000) },
          { timeoutMs: 8_000 },
        )
        .then(
          () => (done += 1),
          () => pause(retryMs, loaded.signal),
        );
    }
  };
  const callers = Array.from({ length: workers }, run);
  return {
    done: () => done,
    stop: async () => {
      loaded.abort();
      await Promise.all(callers);
    },
  };
}

async function readPool({ ready }: GatehouseProcess): Promise<Record<string, number>> {
  const page = await (await fetch(`http://${String(ready['connect'])}/metrics`)).text();
  const lines = page.matchAll(/^gatehouse_database_pool_(\w+)(?:\{state="(\w+)"\})? (\S+)$/gm);
  return Object.fromEntries([...lines].map(([, name = '', state, value]) => [state ?? name, Number(value)]));
}

test('every process serves again after PostgreSQL restarts or crashes under load, and no acknowledged order is lost', async () => {
  const own = await ownPostgres();
  closers.push(own.remove);
  await own.start();
  const running = await startOn(own.url, { cores: 2, webhooks: 1 });
  const traffic = await startMerchants(running, 4);
  const transactions = startTransactions(running);

  for (let end = 0; end < ends; end += 1) {
    const before = { orders: traffic.acknowledged.length, transactions: transactions.done() };
    await waitUntil(
      `orders and transactions go on after ${end} ends`,
      () =>
        traffic.acknowledged.length > before.orders && transactions.done() > before.transactions + workers,
    );
    const failuresBefore = traffic.failures.length;
    if (end > 0) own.kill();
    // Not by its supervisor, which waits longer after each crash.
    await own.stop();
    await waitUntil('requests fail', () => traffic.failures.length > failuresBefore);
    await insist('PostgreSQL is started again', own.start);
  }
  const withPools = [...running.cores, ...running.webhooks];
  for (const each of withPools)
    await waitUntil('no place is filled by what ended', async () => (await readPool(each))['ended'] === 0);
  const acknowledged = traffic.acknowledged.length;
  await waitUntil('orders are acknowledged again', () => traffic.acknowledged.length > acknowledged + 20);
  await Promise.all([traffic.stop(), transactions.stop()]);

  for (const each of withPools) {
    const transport = createGrpcTransport({ addresses: [String(each.ready['grpc'])], token: '' });
    const health = createClient(Health, transport);
    await waitUntil(
      'it is ready',
      async () => (await health.check({ service: '' })).status === ServingStatus.SERVING,
    );
    transport.close();
    // Connections that work for longer hold locks: one for the relay, one for each task of webhooks.
    const pool = await waitUntil('its pool is at rest', async () => {
      const now = await readPool(each);
      return now['waiting'] === 0 && (now['in_use'] ?? Infinity) <= 4 ? now : undefined;
    });
    expect(pool).toMatchObject({ size: 12, ended: 0, waiting: 0 });
    expect(pool['silence_seconds']).toBeLessThan(10);
  }
  expect(await traffic.findLost()).toEqual([]);
  expect(traffic.contradictions).toEqual([]);
  for (const { status, what } of traffic.failures.filter(({ status }) => status !== 429))
    expect({ status, what }).toEqual({ status: 500, what: '{"code":500,"message":"Internal server error"}' });
  expect(withPools.flatMap(({ log }) => log.filter(({ msg }) => msg === 'stopped'))).toEqual([]);
});

test('core replaces database connections that broke without notice', async () => {
  const database = await createTestDatabase();
  closers.push(database.drop);
  const url = new URL(database.url);
  const proxy = await openNetworkLink({ host: url.hostname, port: Number(url.port) });
  closers.push(proxy.close);
  url.port = String(proxy.port);
  const stack = await startOn(url.href);
  const traffic = await startMerchants(stack, 8);
  await waitUntil('orders are acknowledged', () => traffic.acknowledged.length > 50);

  proxy.interrupt();
  await waitUntil('requests fail', () => traffic.failures.length > 0);
  proxy.restore();
  const before = traffic.acknowledged.length;
  await waitUntil('orders are acknowledged again', () => traffic.acknowledged.length > before + 50);
  await traffic.stop();
  await waitUntil(
    'events are relayed again',
    () => stack.cores[0]?.log.filter(({ msg }) => msg === 'relaying events').length === 2,
  );

  expect(traffic.contradictions).toEqual([]);
  expect(await traffic.findLost()).toEqual([]);
});
