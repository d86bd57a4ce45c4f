import { createHook } from 'node:async_hooks';
import { expect, test } from '@jest/globals';
import { createPaymentLimit } from '../../../src/checkout/payment-limit.ts';
import { waitUntil } from '../../support/wait-until.ts';

const limits = { perBrowser: 5, perPage: 10, perNetwork: 20 };
const formOf = (network: string) => ({
  token: `token of ${network}`,
  browserSecret: `browser of ${network}`,
  network,
  isPayer: () => Promise.resolve(false),
});

test('forms that core could not answer leave nothing in memory, however many networks send them', async () => {
  const { count, takeBack } = createPaymentLimit(limits);
  // Each count has a timer that ends it.
  const timers = new Set<number>();
  const hook = createHook({
    init: (id, type) => void (type === 'Timeout' && timers.add(id)),
    destroy: (id) => void timers.delete(id),
  }).enable();
  try {
    for (let index = 0; index < 50; index += 1) {
      const form = formOf(`2001.db8.0.${index}`);
      expect(await count(form)).toBeUndefined();
      await takeBack(form);
    }
    expect(await waitUntil('the counts have ended', () => Promise.resolve(timers.size < 10))).toBe(true);
  } finally {
    hook.disable();
  }
});

test('a form that core could not answer takes nothing from the earlier forms of its network', async () => {
  const { count, takeBack } = createPaymentLimit({ ...limits, perNetwork: 2 });
  const unanswered = { ...formOf('192.0.2.1'), token: 'another', browserSecret: 'another' };
  expect(await count(formOf('192.0.2.1'))).toBeUndefined();
  expect(await count(unanswered)).toBeUndefined();
  await takeBack(unanswered);

  expect(await count(formOf('192.0.2.1'))).toBeUndefined();
  expect(await count(formOf('192.0.2.1'))).toEqual({ of: 'network', waitSeconds: 600 });
});

test('a form above the limit of its browser takes nothing from the limit of its page', async () => {
  const { count } = createPaymentLimit({ perBrowser: 1, perPage: 2, perNetwork: 0 });
  const form = formOf('192.0.2.1');

  const waits = [await count(form), await count(form), await count(form)];

  const exceeded = { of: 'page', waitSeconds: 600 };
  expect(waits).toEqual([undefined, exceeded, exceeded]);
  expect(await count({ ...form, browserSecret: 'another' })).toBeUndefined();
});
