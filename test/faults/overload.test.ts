import { readFile } from 'node:fs/promises';
import { ConnectError } from '@connectrpc/connect';
import { afterEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { reasonOf } from '../../src/runtime/rpc/rpc-error.ts';
import { registration } from '../support/order-requests.ts';
import { startStack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import type { Stack } from '../support/stack.ts';

let stack: Stack | undefined;
const clients: pg.Client[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
  await stack?.stop();
});

async function residentMegabytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

/** Nothing can be written to the orders until it is let go: the database at its slowest. */
async function holdOrders(databaseUrl: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  clients.push(client);
  await client.connect();
  await client.query('begin');
  await client.query('lock table core.orders in share mode');
  return async () => {
    await client.query('commit');
  };
}

test('registrations beyond what may wait are refused at once with 429, the others are made, and memory stays flat', async () => {
  stack = await startStack({ cores: 1, facades: 1, settings: { GATEHOUSE_RATE_LIMIT_PER_KEY: '0' } });
  const [core] = stack.cores;
  const { id: merchantId, testKey } = await stack.createMerchant();
  const orders = stack.client(OrderService, 'writer');
  const registerOverRest = (orderNumber: string) =>
    fetch(`${stack?.facades[0]?.sandbox}/api/v1/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', apiKey: testKey },
      body: JSON.stringify({
        order_number: orderNumber,
        amount: '10.00',
        currency: 'ETB',
        reason: 'A test',
        customer_phone: '0911223344',
        return_url: 'https://shop.example/return',
      }),
    });
  expect((await registerOverRest('BEFORE')).status).toBe(201);
  const megabytesBefore = await residentMegabytes(core?.pid);

  const letGo = await holdOrders(stack.databaseUrl);
  // Over one connection, as from one facade.
  let answered = 0;
  const calls = Array.from({ length: 8_000 }, (_, index) =>
    orders.registerOrder(registration({ merchantId, orderNumber: `G-${index}` }), { timeoutMs: 60_000 }).then(
      () => 'made',
      (error: unknown) => {
        answered += 1;
        return error instanceof ConnectError ? reasonOf(error) : String(error);
      },
    ),
  );
  // What is not refused waits, or is in one of the statements that run: a refusal has nothing to queue behind then.
  await waitUntil('all that are too many are refused', () => answered >= 4_500, 60_000);
  const refused = await registerOverRest('REFUSED');
  await letGo();
  const outcomes = await Promise.all(calls);

  expect(refused.status).toBe(429);
  expect(await refused.json()).toEqual({ code: 429, message: 'Too many requests' });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(new Set(outcomes)).toEqual(new Set(['OVERLOADED', 'made']));
  const [client] = clients;
  const counted = await client?.query<{ count: number }>(
    `select count(*)::int as count from core.orders where order_number like 'G-%'`,
  );
  expect(counted?.rows[0]?.count).toBe(outcomes.filter((outcome) => outcome === 'made').length);
  expect((await registerOverRest('AFTER')).status).toBe(201);
  expect(await residentMegabytes(core?.pid)).toBeLessThan(megabytesBefore + 400);
}, 120_000);
