import { afterEach, expect, test } from '@jest/globals';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { startTraffic } from './merchant-traffic.ts';
import type { Traffic } from './merchant-traffic.ts';
import { ownPostgres } from './stoppable-servers.ts';
import type { StoppableServer } from './stoppable-servers.ts';

let stack: Stack | undefined;
let postgres: StoppableServer | undefined;

afterEach(async () => {
  await stack?.stop();
  await postgres?.remove();
});

const untilMore = (traffic: Traffic, count: number): Promise<boolean> => {
  const wanted = traffic.acknowledged.length + count;
  return waitUntil(`${count} more orders are acknowledged`, () => traffic.acknowledged.length >= wanted);
};

const untilFailing = (traffic: Traffic): Promise<boolean> => {
  const before = traffic.failures.length;
  return waitUntil('requests fail', () => traffic.failures.length > before);
};

test('cores outlive a restart and a crash of PostgreSQL, and go on by themselves with nothing acknowledged lost', async () => {
  postgres = await ownPostgres();
  await postgres.start();
  stack = await startStack({
    ownProcesses: true,
    cores: 2,
    facades: 1,
    settings: { GATEHOUSE_DATABASE_URL: postgres.url, GATEHOUSE_RATE_LIMIT_PER_KEY: '0' },
  });
  const { testKey } = await stack.createMerchant();
  const traffic = startTraffic({ baseUrl: stack.facades[0]?.sandbox ?? '', apiKey: testKey, clients: 8 });
  await untilMore(traffic, 100);

  await postgres.stop();
  await untilFailing(traffic);
  await postgres.start();
  await untilMore(traffic, 100);
  postgres.kill();
  await untilFailing(traffic);
  await untilMore(traffic, 100);
  await traffic.stop();

  expect(traffic.contradictions).toEqual([]);
  expect(await traffic.findLost()).toEqual([]);
  expect(new Set(traffic.failures.map(({ status, what }) => `${status} ${what}`))).toEqual(
    new Set(['500 {"code":500,"message":"Internal server error"}']),
  );
  const ended = stack.cores.flatMap(({ log }) => log.filter(({ msg }) => msg === 'stopped'));
  expect(ended).toEqual([]);
});
