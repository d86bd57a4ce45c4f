import { mock } from 'node:test';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createRateLimits } from '../../../src/rest-facade/rate-limits.ts';

// All requests of a test fall into one second.
beforeEach(() => mock.timers.enable({ apis: ['Date'] }));
afterEach(() => mock.timers.reset());

test('all keys of a merchant together may send as much as four keys', async () => {
  const { countRequest } = createRateLimits({ perKeyPerSecond: 2, failedKeysPerMinute: 0 });
  const keys = ['a', 'b', 'c', 'd'];
  for (const apiKeyId of [...keys, ...keys])
    expect(await countRequest({ merchantId: 'mer_1', apiKeyId }, 0)).toBeUndefined();

  expect(await countRequest({ merchantId: 'mer_1', apiKeyId: 'e' }, 0)).toBe(1);
  expect(await countRequest({ merchantId: 'mer_2', apiKeyId: 'f' }, 0)).toBeUndefined();
});

test('unknown keys of a site are limited to ten a second after more failures than the limit, not at it', async () => {
  const limits = createRateLimits({ perKeyPerSecond: 0, failedKeysPerMinute: 3 });
  const sites = ['2001:db8:1', '2001:db8:2'];
  const askedElevenTimes = async (site: string) => {
    const waits: (number | undefined)[] = [];
    for (let asked = 0; asked < 11; asked += 1)
      waits.push(await limits.countUnknownKey(`${site}:${asked}::1`));
    return waits.map((wait) => wait !== undefined);
  };
  for (const site of sites) {
    for (let failed = 0; failed < 3; failed += 1) await limits.countFailedKey(`${site}:${failed}::1`);
    expect(await askedElevenTimes(site)).not.toContain(true);

    await limits.countFailedKey(`${site}:a::1`);

    expect(await askedElevenTimes(site)).toEqual([...Array.from({ length: 10 }, () => false), true]);
  }
});

test('a merchant may have a rate of its own, and 0 sets no limit', async () => {
  const { countRequest } = createRateLimits({ perKeyPerSecond: 1, failedKeysPerMinute: 0 });
  const ask = (perSecond: number, apiKeyId: string) =>
    countRequest({ merchantId: 'mer_1', apiKeyId }, perSecond);

  expect([await ask(2, 'a'), await ask(2, 'a'), await ask(2, 'a')]).toEqual([undefined, undefined, 1]);
  expect([await ask(0, 'b'), await ask(0, 'b')]).toEqual([undefined, 1]);
  const unlimited = createRateLimits({ perKeyPerSecond: 0, failedKeysPerMinute: 0 });
  expect(await unlimited.countRequest({ merchantId: 'mer_1', apiKeyId: 'a' }, 0)).toBeUndefined();
  expect(await unlimited.countFailedKey('192.0.2.1')).toBeUndefined();
});

test('a wait is the rest of the window, in seconds that are rounded up', async () => {
  const { countFailedKey } = createRateLimits({ perKeyPerSecond: 1, failedKeysPerMinute: 1 });
  await countFailedKey('192.0.2.1');

  mock.timers.setTime(29_500);

  expect(await countFailedKey('192.0.2.1')).toBe(31);
});

test('no wait is longer than the window of its limit, even after the clock was set back', async () => {
  const limits = createRateLimits({ perKeyPerSecond: 1, failedKeysPerMinute: 1 });
  const by = { merchantId: 'mer_1', apiKeyId: 'a' };
  const ask = async () => [await limits.countRequest(by, 0), await limits.countFailedKey('192.0.2.1')];
  mock.timers.setTime(86_400_000);
  await ask();

  mock.timers.setTime(0);

  expect(await ask()).toEqual([1, 60]);
});
