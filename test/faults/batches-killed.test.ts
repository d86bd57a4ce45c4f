import { randomInt } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { startProcess } from '../support/gatehouse-process.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { holdOrders } from '../support/hold-orders.ts';
import type { HeldOrders } from '../support/hold-orders.ts';
import { startStack } from '../support/stack.ts';
import type { Stack } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { findStoredFaults, largestCommit, startBatchTraffic } from './batch-traffic.ts';
import type { BatchTraffic } from './batch-traffic.ts';
import { ownPostgres } from './stoppable-servers.ts';
import type { CrashingPostgres } from './stoppable-servers.ts';
import { queryOnce } from '../support/database-connections.ts';

// The seed decides which process is killed after how many acknowledged orders. What it was doing depends on the
// machine.

const seed = Number(process.env['GATEHOUSE_TEST_SEED'] ?? randomInt(2 ** 31));
const shops = 24;

let stack: Stack | undefined;
let postgres: CrashingPostgres | undefined;
let traffic: BatchTraffic | undefined;
let held: HeldOrders | undefined;
const replacements: GatehouseProcess[] = [];

afterEach(async () => {
  await held?.letGo();
  held = undefined;
  await traffic?.stop();
  traffic = undefined;
  await Promise.all(replacements.splice(0).map((core) => core.stop()));
  await stack?.stop();
  stack = undefined;
  await postgres?.remove();
  postgres = undefined;
});

const noRateLimit = { GATEHOUSE_RATE_LIMIT_PER_KEY: '0' };

async function startTraffic(own: Stack): Promise<BatchTraffic> {
  const { testKey } = await own.createMerchant();
  return startBatchTraffic({ baseUrl: own.facades[0]?.sandbox ?? '', apiKey: testKey, shops });
}

const untilMore = ({ acknowledged }: BatchTraffic, count: number): Promise<boolean> => {
  const wanted = acknowledged.length + count;
  return waitUntil(`${count} more are acknowledged`, () => acknowledged.length >= wanted);
};

/** Resolves with the number of requests in progress when there are many, so that a batch of them is being written. */
const untilManyOpen = ({ open }: BatchTraffic): Promise<number> =>
  waitUntil('many requests are under way', () => open() >= shops / 4 && open());

/** A core at the address of the killed one, as a supervisor starts it. */
async function replace({ coreSettings }: Stack, address: string | undefined): Promise<GatehouseProcess> {
  const port = address?.split(':').at(-1) ?? '';
  const core = await startProcess('core', { ...coreSettings, GATEHOUSE_CORE_GRPC_PORT: port });
  replacements.push(core);
  return core;
}

/** Each run has another seed, so several runs find what one long run would. */
const kills = 3;
const blows = fc.array(
  fc.record({ which: fc.constantFrom('first', 'second', 'both'), after: fc.integer({ min: 1, max: 60 }) }),
  { minLength: kills, maxLength: kills },
);

test(`no acknowledged order is lost when cores are killed in the middle of batches (GATEHOUSE_TEST_SEED=${seed})`, async () => {
  stack = await startStack({ ownProcesses: ['core'], cores: 2, facades: 1, settings: noRateLimit });
  traffic = await startTraffic(stack);
  const own = stack;
  const { addresses } = own;
  const cores: (GatehouseProcess | undefined)[] = [...own.cores];
  const openAtKill: number[] = [];

  for (const { which, after } of fc.sample(blows, { seed, numRuns: 1 }).flat()) {
    await untilMore(traffic, after);
    const dead = which === 'both' ? [0, 1] : [which === 'first' ? 0 : 1];
    openAtKill.push(await untilManyOpen(traffic));
    await Promise.all(dead.flatMap((index) => cores[index] ?? []).map((core) => core.stop('SIGKILL')));
    traffic.pace('calm');
    const started = await Promise.all(dead.map((index) => replace(own, addresses[index])));
    for (const [place, index] of dead.entries()) cores[index] = started[place];
    traffic.pace('busy');
  }
  await untilMore(traffic, 2 * shops);
  await traffic.stop();

  expect(Math.min(...openAtKill)).toBeGreaterThanOrEqual(shops / 4);
  expect(await largestCommit(stack.databaseUrl)).toBeGreaterThan(1);
  expect(await findStoredFaults(stack.databaseUrl, traffic.acknowledged)).toEqual([]);
  expect(await traffic.findChanged()).toEqual([]);
  const resent = traffic.acknowledged.filter(({ sent }) => sent > 1).length;
  console.log(`seed ${seed}: ${traffic.acknowledged.length} acknowledged, ${resent} had to be sent again`);
});

test(`no acknowledged order is lost when PostgreSQL is killed in the middle of batches (GATEHOUSE_TEST_SEED=${seed})`, async () => {
  postgres = await ownPostgres();
  await postgres.start();
  const settings = { ...noRateLimit, GATEHOUSE_DATABASE_URL: postgres.url };
  stack = await startStack({ ownProcesses: ['core'], facades: 1, settings });
  traffic = await startTraffic(stack);
  const crashes = fc.sample(fc.integer({ min: 1, max: 100 }), { seed, numRuns: 2 });

  for (const after of crashes) {
    await untilMore(traffic, after);
    await untilManyOpen(traffic);
    postgres.kill();
    traffic.pace('calm');
    await postgres.untilRecovered();
    traffic.pace('busy');
  }
  await untilMore(traffic, 2 * shops);
  await traffic.stop();

  expect(await largestCommit(postgres.url)).toBeGreaterThan(1);
  expect(await findStoredFaults(postgres.url, traffic.acknowledged)).toEqual([]);
  expect(await traffic.findChanged()).toEqual([]);
});

test('an order that was committed but not answered before core was killed exists once after the shop repeats it', async () => {
  stack = await startStack({ ownProcesses: ['core'], facades: 1, settings: noRateLimit });
  const { addresses, cores, databaseUrl } = stack;
  const [core] = cores;
  held = await holdOrders(databaseUrl, 'inserts');
  traffic = await startTraffic(stack);
  const { statementsWaiting } = held;
  await waitUntil('core has sent several batches', async () => (await statementsWaiting()) >= 2);
  expect(traffic.acknowledged).toEqual([]);

  core?.signal('SIGSTOP');
  await held.letGo();
  held = undefined;
  const written = await waitUntil('what core sent is committed', () => countWritten(databaseUrl));
  await core?.stop('SIGKILL');
  await replace(stack, addresses[0]);
  await untilMore(traffic, shops);
  await traffic.stop();

  expect(written).toBeGreaterThanOrEqual(2);
  expect(await findStoredFaults(databaseUrl, traffic.acknowledged)).toEqual([]);
  expect((await readCounts(databaseUrl)).orders).toBe(traffic.acknowledged.length);
  expect(await traffic.findChanged()).toEqual([]);
});

/** Undefined while core's inserts are under way, or have written nothing. */
async function countWritten(databaseUrl: string): Promise<number | undefined> {
  const { busy, orders } = await readCounts(databaseUrl);
  return busy === 0 && orders > 0 ? orders : undefined;
}

interface Counts {
  busy: number;
  orders: number;
}

/** The number of orders, and of bulk statements that PostgreSQL executes now. */
async function readCounts(databaseUrl: string): Promise<Counts> {
  const [row] = await queryOnce<Counts>(
    databaseUrl,
    `select (select count(*)::int from core.orders) as orders,
       (select count(*)::int from pg_stat_activity
        where datname = current_database() and state = 'active' and pid <> pg_backend_pid()
          and query like '%unnest(%') as busy`,
  );
  return row ?? { busy: 0, orders: 0 };
}
