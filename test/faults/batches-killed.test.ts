import { randomInt } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { latestPayment, openPaymentDesk, outcomes } from '../integration/core/payment-desk.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { holdOrders } from '../support/hold-orders.ts';
import type { HeldOrders } from '../support/hold-orders.ts';
import { closersOfEachTest, sharedStack } from '../support/shared-stack.ts';
import { startStack } from '../support/stack.ts';
import type { Stack, StackOptions } from '../support/stack.ts';
import { insist, waitUntil } from '../support/wait-until.ts';
import { findStoredFaults, largestCommit, startBatchTraffic } from './batch-traffic.ts';
import type { BatchTraffic } from './batch-traffic.ts';
import { ownPostgres } from './stoppable-servers.ts';
import { queryOnce } from '../support/database-connections.ts';
import { postJson } from '../support/post-json.ts';

// The seed decides which process is killed after how many acknowledged orders. What it was doing depends on the
// machine.

const seed = Number(process.env['GATEHOUSE_TEST_SEED'] ?? randomInt(2 ** 31));
const shops = 24;

const closers = closersOfEachTest();

/** Cores that can be killed, behind a facade. */
async function startCores(options: StackOptions = {}): Promise<Stack> {
  const settings = { GATEHOUSE_RATE_LIMIT_PER_KEY: '0', ...options.settings };
  const stack = await startStack({ ...options, ownProcesses: ['core'], settings });
  closers.push(stack.stop);
  return stack;
}

async function startTraffic({ facades, createMerchant }: Stack): Promise<BatchTraffic> {
  const { testKey } = await createMerchant();
  const traffic = startBatchTraffic({ baseUrl: facades[0]?.sandbox ?? '', apiKey: testKey, shops });
  closers.push(traffic.stop);
  return traffic;
}

const untilMore = ({ acknowledged }: BatchTraffic, count: number): Promise<boolean> => {
  const wanted = acknowledged.length + count;
  return waitUntil(`${count} more are acknowledged`, () => acknowledged.length >= wanted);
};

/** Resolves with the number of requests in progress when there are many, so that a batch of them is being written. */
const untilManyOpen = ({ open }: BatchTraffic): Promise<number> =>
  waitUntil('many requests are under way', () => open() >= shops / 4 && open());

/** Each run has another seed, so several runs find what one long run would. */
const kills = 3;
const blows = fc.array(
  fc.record({ which: fc.constantFrom('first', 'second', 'both'), after: fc.integer({ min: 1, max: 60 }) }),
  { minLength: kills, maxLength: kills },
);

test(`no acknowledged order is lost when cores are killed in the middle of batches (GATEHOUSE_TEST_SEED=${seed})`, async () => {
  const stack = await startCores({ cores: 2 });
  const traffic = await startTraffic(stack);
  const cores: (GatehouseProcess | undefined)[] = [...stack.cores];
  const openAtKill: number[] = [];

  for (const { which, after } of fc.sample(blows, { seed, numRuns: 1 }).flat()) {
    await untilMore(traffic, after);
    const dead = which === 'both' ? [0, 1] : [which === 'first' ? 0 : 1];
    openAtKill.push(await untilManyOpen(traffic));
    await Promise.all(dead.flatMap((index) => cores[index] ?? []).map((core) => core.stop('SIGKILL')));
    traffic.pace('calm');
    const started = await Promise.all(dead.map((index) => stack.replaceCore({}, stack.addresses[index])));
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
  const postgres = await ownPostgres();
  closers.push(postgres.remove);
  await postgres.start();
  const traffic = await startTraffic(
    await startCores({ settings: { GATEHOUSE_DATABASE_URL: postgres.url } }),
  );
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

describe('a core that is killed after the commit and before its answer', () => {
  const stack = sharedStack({ ownProcesses: ['core'], settings: { GATEHOUSE_RATE_LIMIT_PER_KEY: '0' } });
  let core: GatehouseProcess | undefined;
  beforeAll(() => void ([core] = stack.cores));

  /** Kills it when the statements that it has sent are committed. Returns what `committed` finds then. */
  async function killAfterCommit<T>(
    held: HeldOrders,
    committed: () => Promise<T | undefined | false>,
  ): Promise<T> {
    core?.signal('SIGSTOP');
    await held.letGo();
    const found = await waitUntil('what core sent is committed', committed);
    await core?.stop('SIGKILL');
    return found;
  }
  const hold = async (): Promise<HeldOrders> => {
    const held = await holdOrders(stack.databaseUrl, 'inserts');
    closers.push(held.letGo);
    return held;
  };

  test('has written orders that exist once after the shop repeats them', async () => {
    const held = await hold();
    const traffic = await startTraffic(stack);
    await waitUntil('core has sent several batches', async () => (await held.statementsWaiting()) >= 2);
    expect(traffic.acknowledged).toEqual([]);

    const written = await killAfterCommit(held, () => countWritten(stack.databaseUrl));
    core = await stack.replaceCore();
    await untilMore(traffic, shops);
    await traffic.stop();

    expect(written).toBeGreaterThanOrEqual(2);
    expect(await findStoredFaults(stack.databaseUrl, traffic.acknowledged)).toEqual([]);
    expect((await readCounts(stack.databaseUrl)).orders).toBe(traffic.acknowledged.length);
    expect(await traffic.findChanged()).toEqual([]);
  });

  test('has stored the answer to a request with an idempotency key, which gets it when it is repeated', async () => {
    const { id: merchantId, testKey } = await stack.createMerchant();
    const desk = await openPaymentDesk(stack);
    closers.push(desk.close);
    const payment = { order_number: 'KEYED-1', amount: '100.50', currency: 'ETB', phone: '0911223344' };
    const pay = async (headers: Readonly<Record<string, string>> = { 'idempotency-key': 'once' }) => {
      const url = `${stack.facades[0]?.sandbox}/api/v1/direct?payment_option=walleta_ussd`;
      const response = await postJson(url, payment, { apiKey: testKey, ...headers });
      const { payment_status } = (await response.json()) as { payment_status?: string };
      return [response.status, payment_status];
    };
    const held = await hold();

    const unanswered = pay();
    await held.untilStatementsWait(1);
    const stored = await killAfterCommit(held, () =>
      latestPayment(desk, merchantId, payment.order_number).catch(() => undefined),
    );
    expect(await unanswered).toEqual([500, undefined]);
    core = await stack.replaceCore();
    await insist('the new core records the outcome', () => desk.settle(stored, outcomes.completed('t-1')));
    await waitUntil('the facade reaches the new core', async () => {
      const { ok } = await fetch(`${stack.facades[0]?.sandbox}/readyz`);
      return ok;
    });

    // The order is paid, so PENDING can only be the answer that was stored with the commit.
    expect(await pay()).toEqual([201, 'PENDING']);
    expect(await pay({})).toEqual([201, 'COMPLETED']);
    expect(await latestPayment(desk, merchantId, payment.order_number)).toEqual(stored);
    expect(await desk.history(stored)).toHaveLength(3);
  });
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
