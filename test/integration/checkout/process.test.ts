import { afterEach, expect, test } from '@jest/globals';
import { createCustomer } from '../../support/customer.ts';
import { startProcess } from '../../support/gatehouse-process.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';

let running: GatehouseProcess | undefined;
afterEach(async () => {
  await running?.stop('SIGKILL');
  running = undefined;
});

/** There is no core, because port 1 refuses connections. */
const settings = {
  GATEHOUSE_CORE_ADDRESSES: '127.0.0.1:1',
  GATEHOUSE_SERVICE_TOKEN: 'token',
  GATEHOUSE_CHECKOUT_PORT: '0',
};

test('without core, the process starts, is not ready, shows a page that says what to do, and stops in order on SIGTERM', async () => {
  running = await startProcess('checkout', settings);
  const origin = String(running.ready['checkout']);

  expect((await createCustomer().get(`${origin}/healthz`)).status).toBe(200);
  expect((await createCustomer().get(`${origin}/readyz`)).status).toBe(503);
  expect((await createCustomer().get(`${origin}/c/${'a'.repeat(87)}`)).status).toBe(503);
  expect(await running.stop('SIGTERM')).toBe(0);
  expect(running.log.map(({ msg }) => msg)).toEqual(expect.arrayContaining(['stopping', 'stopped']));
});

test('the process names a setting that it cannot use, and exits', async () => {
  const start = startProcess('checkout', { ...settings, GATEHOUSE_CHECKOUT_BASE_URL: 'ftp://pay.example' });

  await expect(start).rejects.toThrow(/GATEHOUSE_CHECKOUT_BASE_URL must be a URL starting with http/);
});
