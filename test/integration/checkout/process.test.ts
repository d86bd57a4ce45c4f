import { afterEach, expect, test } from '@jest/globals';
import { createCustomer } from '../../support/customer.ts';
import { startProcess } from '../../support/gatehouse-process.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';

let running: GatehouseProcess | undefined;
afterEach(() => running?.stop('SIGKILL'));

test('without core, the process starts, is not ready, shows a page that says what to do, and stops in order on SIGTERM', async () => {
  // Port 1 refuses connections.
  running = await startProcess('checkout', {
    GATEHOUSE_CORE_ADDRESSES: '127.0.0.1:1',
    GATEHOUSE_SERVICE_TOKEN: 'token',
    GATEHOUSE_CHECKOUT_PORT: '0',
  });
  const origin = String(running.ready['checkout']);

  expect((await createCustomer().get(`${origin}/healthz`)).status).toBe(200);
  expect((await createCustomer().get(`${origin}/readyz`)).status).toBe(503);
  expect((await createCustomer().get(`${origin}/c/${'a'.repeat(87)}`)).status).toBe(503);
  const tooMany = await fetch(origin, { headers: { cookie: `a=${'x'.repeat(20_000)}` } });
  expect(tooMany.status).toBe(431);
  expect(await tooMany.text()).toMatch(/^<!doctype html>[^]+Delete the cookies[^]+<section lang="am">/);
  expect(await running.stop('SIGTERM')).toBe(0);
  expect(running.log.map(({ msg }) => msg)).toEqual(expect.arrayContaining(['stopping', 'stopped']));
});
