import { afterEach, expect, test } from '@jest/globals';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { startInline } from '../support/inline-process.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';

let stack: Stack | undefined;
let replacement: GatehouseProcess | undefined;

afterEach(async () => {
  await replacement?.stop();
  await stack?.stop();
});

const registration = {
  order_number: 'AWAY-1',
  amount: '10.00',
  currency: 'ETB',
  reason: 'A test',
  customer_phone: '0911223344',
  return_url: 'https://shop.example/return',
};

test('a facade without a core answers the documented error at once, and recovers when a core starts', async () => {
  stack = await startStack({ ownProcesses: ['core'], cores: 1, facades: 1 });
  const { testKey } = await stack.createMerchant();
  const baseUrl = stack.facades[0]?.sandbox ?? '';
  const register = () =>
    fetch(`${baseUrl}/api/v1/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', apiKey: testKey },
      body: JSON.stringify(registration),
    });
  const statusOf = async (path: string): Promise<number> => (await fetch(`${baseUrl}${path}`)).status;
  const first = await (await register()).json();
  expect(await statusOf('/readyz')).toBe(200);

  await stack.cores[0]?.stop('SIGKILL');

  await waitUntil('it says that it is not ready', async () => (await statusOf('/readyz')) === 503);
  expect(await statusOf('/healthz')).toBe(200);
  const answers = await Promise.all(Array.from({ length: 50 }, register));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([500]));
  expect(await answers[0]?.json()).toEqual({ code: 500, message: 'Internal server error' });

  replacement = await startInline('core', {
    ...stack.coreSettings,
    GATEHOUSE_CORE_GRPC_PORT: stack.addresses[0]?.split(':').at(-1) ?? '',
  });
  await waitUntil('it is ready again', async () => (await statusOf('/readyz')) === 200);
  const again = await register();
  expect(again.status).toBe(201);
  expect(await again.json()).toEqual(first);
});
