import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { createLogger } from '../../../src/platform/logger.ts';
import type { Health } from '../../../src/wallets/connector/outcomes.ts';
import { createWalletBreaker } from '../../../src/wallets/wallet-breaker.ts';
import { waitUntil } from '../../support/wait-until.ts';

const silent = createLogger({ process: 'test', instance: 'wallet-breaker', level: 'silent' });
const available: Health = { kind: 'available' };
const unavailable: Health = { kind: 'unavailable', detail: 'no answer' };
const unreported: Health = { kind: 'unreported', detail: 'no heartbeat' };

/** A breaker that opens at the third failure in a row, and a wallet whose health the test sets. */
function begin(
  first: Health | Promise<Health>,
  { cooldownMs = 60_000, threshold = 3, logger = silent } = {},
) {
  const wallet = { health: first, asked: 0 };
  const breaker = createWalletBreaker({
    ...{ wallet: 'test', logger, cooldownMs, threshold },
    ask: async () => {
      wallet.asked += 1;
      return wallet.health;
    },
  });
  const answer = async (...areHealthy: readonly boolean[]): Promise<void> => {
    await Promise.all(areHealthy.map((isHealthy) => breaker.watch(() => Promise.resolve(isHealthy))));
  };
  const isCircuitOpen = () => breaker.allows() === 'nothing';
  return { wallet, breaker, answer, isCircuitOpen };
}

describe('failures', () => {
  test('in a row cause a health check, and a success in between resets the count', async () => {
    const { wallet, breaker, answer, isCircuitOpen } = begin(unavailable);

    for (const isHealthy of [false, false, true, false, false]) await answer(isHealthy);
    expect(wallet.asked).toBe(0);
    expect(breaker.allows()).toBe('all');

    await answer(false);
    await waitUntil('the circuit is open', isCircuitOpen);
    expect(wallet.asked).toBe(1);
  });

  test.each<[string, Health]>([
    ['well', available],
    ['degraded', { kind: 'degraded', detail: 'slow' }],
  ])('of any number stop no requests while the wallet reports that it is %s', async (_name, health) => {
    const { wallet, breaker, answer } = begin(health);

    for (let time = 0; time < 30; time += 1) await answer(false);

    expect(breaker.allows()).toBe('all');
    // The health is not queried after each of them either.
    expect(wallet.asked).toBe(10);
  });

  test('are discarded when the wallet answers another request during the check', async () => {
    let tell: (health: Health) => void = () => {};
    const { wallet, breaker, answer } = begin(new Promise((resolve) => (tell = resolve)));
    await answer(false, false, false);
    await waitUntil('it is asked', () => wallet.asked === 1);

    await answer(true);
    tell(unavailable);

    await answer(false, false);
    expect(breaker.allows()).toBe('all');
  });

  test('that core would not record do not count', async () => {
    const { wallet, breaker } = begin(unavailable, { threshold: 1 });

    for (let time = 0; time < 5; time += 1)
      await breaker.watch(() => Promise.reject(new Error('core is away'))).catch(() => {});

    expect(wallet.asked).toBe(0);
    expect(breaker.allows()).toBe('all');
  });
});

describe('a failing wallet', () => {
  test('is checked after each cooldown, and gets all requests again when it reports that it is healthy', async () => {
    const { wallet, breaker, answer, isCircuitOpen } = begin(unavailable, { cooldownMs: 5 });
    await answer(false, false, false);
    await waitUntil('the circuit is open', isCircuitOpen);
    await waitUntil('it is asked after some cooldowns', () => wallet.asked > 4);
    // On a busy machine, it may already be due for one request.
    expect(breaker.allows()).not.toBe('all');

    wallet.health = available;

    await waitUntil('it is given all again', () => breaker.allows() === 'all');
  });

  test('gets only one check: late failures cause no further checks', async () => {
    const { wallet, answer, isCircuitOpen } = begin(unavailable);
    await answer(false, false, false);
    await waitUntil('the circuit is open', isCircuitOpen);

    for (let time = 0; time < 20; time += 1) await answer(false);

    expect(wallet.asked).toBe(1);
  });

  test('without a health check gets one request, and all requests again after it succeeds', async () => {
    const { breaker, answer, isCircuitOpen } = begin(unreported, { cooldownMs: 5 });
    await answer(false, false, false);
    await waitUntil('the circuit is open', isCircuitOpen);

    await waitUntil('one request is allowed after a cooldown', () => breaker.allows() === 'one');
    await answer(false);
    expect(breaker.allows()).toBe('nothing');

    await waitUntil('one request is allowed after another cooldown', () => breaker.allows() === 'one');
    await answer(true);
    expect(breaker.allows()).toBe('all');
  });

  test('gets another trial request if the last one said nothing about the wallet', async () => {
    const { breaker, answer, isCircuitOpen } = begin(unreported, { cooldownMs: 5 });
    await answer(false, false, false);
    await waitUntil('the circuit is open', isCircuitOpen);
    await waitUntil('one request is allowed after a cooldown', () => breaker.allows() === 'one');

    await breaker.watch(() => Promise.resolve(undefined));
    const afterwards = breaker.allows();
    await answer(true);

    expect(afterwards).toBe('one');
    expect(breaker.allows()).toBe('all');
  });

  test('gets a request now and then although it reports a problem, because its report may be wrong', async () => {
    const { wallet, breaker, answer } = begin(unavailable, { cooldownMs: 2 });
    await answer(false, false, false);

    await waitUntil('one is allowed', () => breaker.allows() === 'one');
    const { asked } = wallet;
    await answer(true);

    expect(asked).toBeGreaterThan(10);
    expect(breaker.allows()).toBe('all');
  });

  test('that has recovered gets no request at once when it fails again', async () => {
    const { wallet, breaker, answer } = begin(unreported, { cooldownMs: 5 });
    await answer(false, false, false);
    await waitUntil('one request is allowed after a cooldown', () => breaker.allows() === 'one');
    wallet.health = available;
    await waitUntil('it has recovered', () => breaker.allows() === 'all');

    const { promise, resolve } = Promise.withResolvers<Health>();
    wallet.health = promise;
    await answer(false, false, false);
    resolve(unreported);
    wallet.health = Promise.withResolvers<Health>().promise;
    await setImmediate();

    expect(breaker.allows()).toBe('nothing');
  });

  test('stays closed after its recovery, and the previous wait has no further effect', async () => {
    const { wallet, breaker, answer } = begin(unreported, { cooldownMs: 20 });
    await answer(false, false, false);
    await waitUntil('one is allowed', () => breaker.allows() === 'one');
    await answer(true);
    const { asked } = wallet;

    // Another breaker completes its cooldown, so this one would be checked again too.
    const other = begin(unreported, { cooldownMs: 40 });
    await other.answer(false, false, false);
    await waitUntil('the other has rested', () => other.breaker.allows() === 'one');

    expect(breaker.allows()).toBe('all');
    expect(wallet.asked).toBe(asked);
  });
});

test('each reason of an outage is logged once, and again in the next outage', async () => {
  const lines: { health?: Health; msg: string }[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as (typeof lines)[number]);
  const logger = createLogger({ process: 'test', instance: 'wallet-breaker', level: 'info' }, { write });
  const { wallet, answer } = begin(unavailable, { cooldownMs: 1, threshold: 1, logger });
  const checkedOften = async (): Promise<void> => {
    const before = wallet.asked;
    await waitUntil('its health was checked often', () => wallet.asked > before + 5);
  };

  await answer(false);
  await checkedOften();
  wallet.health = { kind: 'unavailable', detail: 'certificate has expired' };
  await checkedOften();
  wallet.health = available;
  await waitUntil('the circuit is closed', () => lines.at(-1)?.health === undefined);
  wallet.health = unavailable;
  await answer(false);
  await checkedOften();
  wallet.health = available;

  expect(lines.slice(0, 4).map(({ health }) => health)).toEqual([
    unavailable,
    { kind: 'unavailable', detail: 'certificate has expired' },
    undefined,
    unavailable,
  ]);
});
