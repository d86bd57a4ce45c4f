/**
 * Moves a merchant between two complete Gatehouses while it sends requests, with the real programs and two durable PostgreSQL servers:
 * docs/adr/0051. Fails when a condition of the move is not met.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { storedId } from '../../test/support/ids.ts';
import { benchmark, wholeNumber } from '../command-line.ts';
import { inWords, latenciesOf, load as machineLoad } from '../latencies.ts';
import { withEverythingStopped } from '../system/with-everything-stopped.ts';
import { startReceiverProcess } from '../webhooks/receiver-process.ts';
import { checkCrashes } from './crashes.ts';
import { publishedIn } from './event-streams.ts';
import { orderOf, startLoad } from './load.ts';
import type { Load, Sent } from './load.ts';
import { runMover } from './mover-process.ts';
import { openRouter } from './router.ts';
import { startShards } from './shards.ts';
import { untilSettled } from './until-settled.ts';
import { checkEvents, checkOrders, checkShard, checkWebhooks, checkWork } from './verdict.ts';
import type { Check } from './verdict.ts';

interface Options {
  readonly rate: number;
  readonly others: number;
  readonly orders: number;
  readonly seconds: number;
  readonly crashes: boolean;
}

const { rate, others, orders, seconds, crashes } = benchmark(
  'bench:move',
  'Moves a merchant between two databases while it sends requests, and checks that nothing is lost.',
)
  .option('--rate <number>', 'requests a second of the moving merchant', wholeNumber, 1_000)
  .option('--others <number>', 'requests a second of one other merchant in each database', wholeNumber, 50)
  .option('--orders <number>', 'orders of the moving merchant at the beginning', wholeNumber, 3_000)
  .option('--seconds <number>', 'time of requests before and after the move, each', wholeNumber, 4)
  .option('--no-crashes', 'do not kill movers after each step')
  .parse()
  .opts<Options>();

const longestPauseMs = 1_000;
const registeredAtOnce = 32;

const checks = await withEverythingStopped(async (cleanUps) => {
  const receiver = await startReceiverProcess();
  cleanUps.add(receiver.stop);
  const webhookUrl = `http://127.0.0.1:${receiver.port}/hook`;
  const shards = await startShards(cleanUps);
  const { source, target } = shards;
  const create = { signsWebhooks: true, mayRefund: true } as const;
  const moving = await source.createMerchant(create);
  const staying = await source.createMerchant(create);
  // The readers of the target need events of its own.
  const resident = await target.createMerchant(create);
  const merchantId = storedId('mer', moving.id);
  const router = openRouter(
    { source: source.facades[0]?.sandbox ?? '', target: target.facades[0]?.sandbox ?? '' },
    new Map([
      [staying.testKey, 'source'],
      [resident.testKey, 'target'],
    ]),
    moving.testKey,
  );
  cleanUps.add(router.close);

  const known: string[] = [];
  while (known.length < orders) {
    const numbers = Array.from(
      { length: Math.min(registeredAtOnce, orders - known.length) },
      (_, index) => `OLD-${known.length + index}`,
    );
    await Promise.all(
      numbers.map((number) =>
        router.send({ path: '/api/v1/register', apiKey: moving.testKey, body: orderOf(number, webhookUrl) }),
      ),
    );
    known.push(...numbers);
  }
  const common = { router, webhookUrl };
  const load = startLoad({ ...common, merchant: moving, perSecond: rate, prefix: 'M', known });
  const ofOthers = [
    startLoad({ ...common, merchant: staying, perSecond: others, prefix: 'S' }),
    startLoad({ ...common, merchant: resident, perSecond: others, prefix: 'R' }),
  ];
  console.log(`${orders} orders registered; requests begin (${machineLoad()})`);
  await delay(seconds * 1000);
  const begunMs = performance.now();
  const options = {
    sourceUrl: source.databaseUrl,
    targetUrl: target.databaseUrl,
    merchantId,
    masterKey: source.ground.masterKey,
  };
  const report = (step: string, detail: string): void =>
    console.log(`${((performance.now() - begunMs) / 1000).toFixed(2).padStart(7)} s  ${step} ${detail}`);
  const end = await runMover(options, router, report);
  const endedMs = performance.now();
  await delay(seconds * 1000);
  await Promise.all([load, ...ofOthers].map(({ stop }) => stop()));
  console.log(`requests ended (${machineLoad()})`);
  tellLatencies(load, begunMs, endedMs);
  const held = router.held();
  console.log(`${held.requests} requests waited; the gate was closed for ${held.longestMs.toFixed(0)} ms`);
  await Promise.all([source, target].map(untilSettled));

  const longest = load.sent.reduce((a, b) => (a.tookMs > b.tookMs ? a : b));
  const late = await router.sendTo('source', {
    path: '/api/v1/register',
    apiKey: moving.testKey,
    body: orderOf('LATE', webhookUrl),
  });
  const arrived = (): string[] => [...receiver.arrived.keys()];
  const repeats = (): readonly string[] => receiver.repeats;
  return [
    { name: 'the mover', found: `ended with ${end}`, isGood: end === 0 },
    problemsOf('of the moving merchant', load),
    problemsOf('of the others', ...ofOthers),
    {
      name: `the longest request took less than ${longestPauseMs} ms`,
      found: `${longest.tookMs.toFixed(0)} ms, ${((longest.dueMs - begunMs) / 1000).toFixed(2)} s after the beginning of the move`,
      isGood: longest.tookMs < longestPauseMs,
    },
    await checkOrders(shards, merchantId, load.acknowledged),
    ...(await checkEvents(shards, merchantId, await publishedIn(shards))),
    ...(await checkWebhooks(shards, merchantId, arrived(), repeats())),
    await checkWork(shards, merchantId),
    { name: 'an order at the source is refused', found: String(late.status), isGood: late.status >= 500 },
    ...(crashes ? await checkCrashes(shards, { url: webhookUrl, arrived, repeats }) : []),
    ...(await checkShard('source', source)),
    ...(await checkShard('target', target)),
  ];
});

for (const { name, found, isGood } of checks)
  console.log(`${isGood ? 'ok    ' : 'FAILED'}  ${name}: ${found}`);
process.exitCode = checks.every(({ isGood }) => isGood) ? 0 : 1;

function tellLatencies({ sent }: Load, fromMs: number, untilMs: number): void {
  const tell = (name: string, some: readonly Sent[]): void =>
    console.log(
      `${name}: ${some.length} requests, ${inWords(latenciesOf(some.map(({ tookMs }) => tookMs)))}`,
    );
  tell(
    'before the move',
    sent.filter(({ dueMs }) => dueMs < fromMs),
  );
  tell(
    'during the move',
    sent.filter(({ dueMs }) => dueMs >= fromMs && dueMs < untilMs),
  );
  tell(
    'after the move',
    sent.filter(({ dueMs }) => dueMs >= untilMs),
  );
}

function problemsOf(whose: string, ...loads: readonly Load[]): Check {
  const problems = loads.flatMap((each) => each.problems);
  const count = loads.reduce((sum, { sent }) => sum + sent.length, 0);
  return {
    name: `failed requests ${whose}, of ${count}`,
    found: [problems.length, ...problems.slice(0, 3)].join('; '),
    isGood: problems.length === 0,
  };
}
