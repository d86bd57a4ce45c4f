import { afterEach, expect, test } from '@jest/globals';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { startTraffic } from './merchant-traffic.ts';
import type { Traffic } from './merchant-traffic.ts';
import { withinTenSeconds } from './within-ten-seconds.ts';

let stack: Stack | undefined;

afterEach(async () => {
  await stack?.stop();
});

const withoutLimit = { GATEHOUSE_RATE_LIMIT_PER_KEY: '0' };

const untilMore = (traffic: Traffic, count: number): Promise<boolean> => {
  const wanted = traffic.acknowledged.length + count;
  return waitUntil(`${count} more orders are acknowledged`, () => traffic.acknowledged.length >= wanted);
};

test('a core that stops under traffic fails no request, and exits with code 0 within 10 s', async () => {
  stack = await startStack({ ownProcesses: ['core'], cores: 2, facades: 1, settings: withoutLimit });
  const { testKey } = await stack.createMerchant();
  const traffic = startTraffic({ baseUrl: stack.facades[0]?.sandbox ?? '', apiKey: testKey, clients: 8 });
  await untilMore(traffic, 50);

  const exitCode = await withinTenSeconds(
    'stopping',
    stack.cores[0]?.stop('SIGTERM') ?? Promise.resolve(null),
  );
  await untilMore(traffic, 50);
  await traffic.stop();

  expect(exitCode).toBe(0);
  expect(traffic.failures).toEqual([]);
  expect(traffic.contradictions).toEqual([]);
  expect(await traffic.findLost()).toEqual([]);
});

test('a facade that stops under traffic answers every accepted request, and exits with code 0 within 10 s', async () => {
  stack = await startStack({ ownProcesses: ['rest-facade'], cores: 1, facades: 2, settings: withoutLimit });
  const { testKey } = await stack.createMerchant();
  const [first, second] = stack.facades;
  const leaving = startTraffic({ baseUrl: first?.sandbox ?? '', apiKey: testKey, clients: 8 });
  await untilMore(leaving, 50);

  const exitCode = await withinTenSeconds(
    'stopping',
    first?.process.stop('SIGTERM') ?? Promise.resolve(null),
  );
  await waitUntil('nobody listens there any more', () =>
    leaving.failures.some(({ what }) => what === 'ECONNREFUSED'),
  );
  leaving.moveTo(second?.sandbox ?? '');
  await leaving.stop();

  expect(exitCode).toBe(0);
  // A connection may be closed before its request is read, but a request that was read is answered.
  const broken = new Set(leaving.failures.map(({ requestId }) => requestId));
  expect(first?.process.log.filter((line) => broken.has(String(line['request_id'])))).toEqual([]);
  expect(leaving.failures.filter(({ status }) => status !== undefined)).toEqual([]);
  expect(leaving.contradictions).toEqual([]);
  expect(await leaving.findLost()).toEqual([]);
});
