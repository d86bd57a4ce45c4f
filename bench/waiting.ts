/**
 * Measures how soon a waiting request is answered, and what thousands of them cost. It runs one facade, one core and a durable PostgreSQL,
 * which reports the time of each commit. The clients are in this process, so they share the machine.
 */
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { Environment } from '../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../src/gen/gatehouse/v1/order_service_pb.js';
import { registration } from '../test/support/order-requests.ts';
import { startStack } from '../test/support/stack.ts';
import { waitUntil } from '../test/support/wait-until.ts';
import { benchmark, wholeNumber } from './command-line.ts';
import { inWords, latenciesOf, load } from './latencies.ts';
import { residentBytesOf } from './load/process-usage.ts';
import { createCleanUps } from './system/clean-ups.ts';
import { startEmptyPostgres } from './system/empty-postgres.ts';

interface Options {
  readonly waiting: number;
  readonly samples: number;
  readonly rate: number;
  readonly seconds: number;
}

const { waiting, samples, rate, seconds } = benchmark(
  'bench:waiting',
  'Measures how soon requests that wait for an order are answered, and their memory.',
)
  .option('--waiting <number>', 'requests that wait at the same time', wholeNumber, 10_000)
  .option('--samples <number>', 'orders that end one at a time', wholeNumber, 300)
  .option(
    '--rate <number>',
    'orders a second that end after these, until none is left, if core can',
    wholeNumber,
    500,
  )
  .option('--seconds <number>', 'time of waiting in which nothing ends, for the memory', wholeNumber, 90)
  .parse()
  .opts<Options>();

const atOnce = 32;
const endedAtOnce = 16;
const waitSeconds = 30;
const environment = Environment.SANDBOX;
const wallMs = (): number => performance.timeOrigin + performance.now();
const megabytes = (pid: number): string => `${(residentBytesOf(pid) / 1e6).toFixed(0)} MB`;

const cleanUps = createCleanUps();
try {
  await startEmptyPostgres(({ remove }) => cleanUps.add(remove), ['track_commit_timestamp = on']);
  const stack = await startStack({
    ownProcesses: true,
    // The stack starts a broker of its own for it.
    webhooks: 1,
    settings: { GATEHOUSE_RATE_LIMIT_PER_KEY: '0', GATEHOUSE_WAITING_REQUESTS: String(4 * waiting) },
  });
  cleanUps.add(stack.stop);
  const database = new pg.Client({ connectionString: stack.databaseUrl });
  await database.connect();
  cleanUps.add(() => database.end());
  const orders = stack.client(OrderService, 'writer');
  const { id: merchantId, testKey } = await stack.createMerchant();
  const [facade] = stack.facades;
  const [core] = stack.cores;
  if (facade === undefined || core === undefined) throw new Error('a stack without a facade or a core');

  const ids: string[] = [];
  while (ids.length < waiting) {
    const batch = Array.from({ length: Math.min(atOnce, waiting - ids.length) }, async (_, index) => {
      const orderNumber = `W-${ids.length + index}`;
      const { order } = await orders.registerOrder(registration({ merchantId, orderNumber, webhookUrl: '' }));
      return order?.orderId ?? '';
    });
    ids.push(...(await Promise.all(batch)));
  }

  const agent = new Agent({ keepAlive: true, maxSockets: Infinity });
  cleanUps.add(() => agent.destroy());
  const answeredAt = new Map<string, number>();
  const problems: string[] = [];
  let asked = 0;
  const ask = (orderNumber: string): Promise<string> =>
    new Promise((resolve, reject) => {
      asked += 1;
      const headers = { apiKey: testKey, 'content-type': 'application/json', prefer: `wait=${waitSeconds}` };
      const call = request(
        `${facade.sandbox}/api/v1/verify`,
        { method: 'POST', agent, headers },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part: string) => (text += part));
          response.once('end', () => resolve(text));
        },
      );
      call.once('error', reject);
      call.end(JSON.stringify({ order_number: orderNumber }));
    });
  const askUntilEnded = async (orderNumber: string): Promise<void> => {
    for (;;) {
      const text = await ask(orderNumber);
      if (text.includes('"status":"PENDING"')) continue;
      answeredAt.set(orderNumber, wallMs());
      if (!text.includes('"status":"FAILED"')) problems.push(text);
      return;
    }
  };

  const { pid } = facade.process;
  console.log(`facade before: ${megabytes(pid)}, core ${megabytes(core.pid)} (${load()})`);
  const clients: Promise<void>[] = [];
  const askedFromMs = performance.now();
  for (let index = 0; index < waiting; index += 1) {
    clients.push(askUntilEnded(`W-${index}`));
    // Spread over the longest wait. Otherwise all would ask again in the same moment, as real clients do not.
    const aheadMs = (index * waitSeconds * 1_000) / waiting - (performance.now() - askedFromMs);
    if (aheadMs > 1) await delay(aheadMs);
  }
  await waitUntil('all have asked', () => asked >= waiting);
  for (let passed = 0; passed < seconds; passed += 10) {
    await delay(10_000);
    console.log(
      `${passed + 10} s, ${waiting} wait: facade ${megabytes(pid)}, core ${megabytes(core.pid)}; ${asked} requests so far (${load()})`,
    );
  }

  const report = async (name: string, from: number, to: number): Promise<void> => {
    await waitUntil('all are answered', () =>
      Array.from({ length: to - from }, (_, index) => `W-${from + index}`).every((each) =>
        answeredAt.has(each),
      ),
    );
    const { rows } = await database.query<{ order_number: string; at: number }>(
      `select o.order_number, extract(epoch from pg_xact_commit_timestamp(e.xid::xid))::float8 * 1000 as at
       from core.order_events e join core.orders o on o.id = e.order_id and o.merchant_id = e.merchant_id
       where e.type = 'FAILED'`,
    );
    const commits = new Map(rows.map(({ order_number, at }) => [order_number, at]));
    const times = Array.from({ length: to - from }, (_, index) => {
      const orderNumber = `W-${from + index}`;
      return (answeredAt.get(orderNumber) ?? Number.NaN) - (commits.get(orderNumber) ?? Number.NaN);
    });
    console.log(`commit to answer, ${name}: ${inWords(latenciesOf(times))} (${load()})`);
  };
  const end = (index: number) => orders.cancelOrder({ merchantId, environment, orderId: ids[index] ?? '' });

  const alone = Math.min(samples, waiting);
  for (let index = 0; index < alone; index += 1) {
    await end(index);
    await waitUntil('it is answered', () => answeredAt.has(`W-${index}`));
  }
  await report(`one at a time while ${waiting} wait`, 0, alone);

  // A core that is slower ends as many as it can, because waiting for core is not the measured time.
  const beganMs = performance.now();
  let next = alone;
  const endOnes = async (): Promise<void> => {
    while (next < waiting) {
      const index = next;
      next += 1;
      const aheadMs = ((index - alone) * 1_000) / rate - (performance.now() - beganMs);
      if (aheadMs > 1) await delay(aheadMs);
      await end(index);
    }
  };
  await Promise.all(Array.from({ length: endedAtOnce }, endOnes));
  const reached = ((waiting - alone) * 1_000) / (performance.now() - beganMs);
  if (waiting > alone) await report(`${reached.toFixed(0)} of ${rate} a second`, alone, waiting);
  await Promise.all(clients);
  console.log(
    `facade after: ${megabytes(pid)}; ${problems.length} wrong answers${problems.slice(0, 3).join('\n')}`,
  );
} finally {
  await cleanUps.run();
}
