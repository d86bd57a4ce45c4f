/**
 * Measures the dashboard over a table of a million orders. It takes the time to the first byte of its pages, and the effect of busy pages
 * and guessed passwords on registrations.
 *
 *     npm run bench:dashboard -- --orders 1000000
 */
import { loadavg } from 'node:os';
import { openDashboardUsers } from '../test/support/dashboard-users.ts';
import { createDashboardVisitor } from '../test/support/dashboard-visitor.ts';
import { benchmark, wholeNumber } from './command-line.ts';
import type { Contender } from './contender.ts';
import { restContender } from './contenders/rest.ts';
import { measureInTurns } from './measure-in-turns.ts';
import { median, percentile } from './statistics.ts';
import { startGatehouse } from './system/gatehouse.ts';
import type { Gatehouse } from './system/gatehouse.ts';
import { prepare } from './system/prepare.ts';
import type { Prepared } from './system/prepare.ts';
import { withEverythingStopped } from './system/with-everything-stopped.ts';
import { missingTools } from './tools.ts';

const pages = {
  home: '',
  'newest orders': '/orders',
  'orders by number': '/orders?number=S-00500000',
  'orders by start of number': '/orders?number=S-0050',
  'orders by phone': '/orders?phone=0911223344&status=pending',
  'orders by amount': '/orders?amount_from=100.50&amount_to=100.50&currency=ETB',
  'requests of the API': '/requests',
} as const;
const visitsEach = 40;
const visitorsAtOnce = 8;
const samples = { connections: [16, 64], seconds: 3, warmUpSeconds: 2 };

interface Visit {
  readonly firstByteMs: number;
  readonly bytes: number;
}

type Read = (path: string) => Promise<Visit>;

/** Signs a new owner of the merchant in. */
async function reader({ dashboardUrl }: Gatehouse, databaseUrl: string, merchantId: string): Promise<Read> {
  const owner = await openDashboardUsers({ databaseUrl }).member(merchantId);
  const visitor = createDashboardVisitor(dashboardUrl);
  const { status } = await visitor.signIn(owner);
  if (status !== 303) throw new Error(`could not sign in: ${status}`);
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  return async (path) => {
    const begun = performance.now();
    const answer = await fetch(`${dashboardUrl}/m/${merchantId}/sandbox${path}`, {
      headers: { cookie },
      redirect: 'manual',
    });
    const firstByteMs = performance.now() - begun;
    const bytes = (await answer.arrayBuffer()).byteLength;
    if (answer.status !== 200) throw new Error(`${path || 'home'} was answered with ${answer.status}`);
    return { firstByteMs, bytes };
  };
}

async function timePages(read: Read): Promise<void> {
  for (const [name, path] of Object.entries(pages)) {
    await read(path);
    const visits: Visit[] = [];
    while (visits.length < visitsEach) visits.push(await read(path));
    const times = visits.map(({ firstByteMs }) => firstByteMs);
    console.log(
      `${name.padEnd(26)} first byte p50 ${median(times).toFixed(1)} ms, p95 ${percentile(times, 0.95).toFixed(1)} ms,` +
        ` ${((visits[0]?.bytes ?? 0) / 1000).toFixed(0)} kB`,
    );
  }
}

/** Repeats a task without pause, some at a time, until it is stopped. Returns how often the task ran. */
function keepBusy(act: (count: number) => Promise<unknown>): () => Promise<number> {
  let isOver = false;
  let done = 0;
  const one = async (): Promise<void> => {
    while (!isOver) await act((done += 1));
  };
  const all = Array.from({ length: visitorsAtOnce }, one);
  return async () => {
    isOver = true;
    await Promise.all(all);
    return done;
  };
}

async function compareRegister(
  gatehouse: Gatehouse,
  { merchant, postgres, nextRun }: Prepared,
  read: Read,
  repeats: number,
): Promise<void> {
  const under = { gatehouse, merchant, postmaster: postgres.postmaster, nextRun };
  const alone = restContender('register', under, { name: 'register alone' });
  const beside = (name: string, act: (count: number) => Promise<unknown>): Contender => ({
    name: `register beside ${name}`,
    run: async (connections, seconds) => {
      const begun = performance.now();
      const stop = keepBusy(act);
      const sample = await alone.run(connections, seconds);
      const done = await stop();
      console.log(`  ${((done * 1000) / (performance.now() - begun)).toFixed(0)} a second of ${name}`);
      return sample;
    },
  });
  const paths = Object.values(pages);
  const guesser = createDashboardVisitor(gatehouse.dashboardUrl);
  const contenders = [
    alone,
    beside('pages of the dashboard', (count) => read(paths[count % paths.length] ?? '')),
    beside('guessed passwords', (count) =>
      guesser.signIn({ email: `u${count}@shop.example`, password: 'correct horse battery staple' }),
    ),
  ];
  const measured = await measureInTurns([contenders], { ...samples, repeats });
  for (const { contender, connections, samples: all } of measured)
    console.log(
      `${contender} @ ${connections}: ${median(all.map(({ perSecond }) => perSecond)).toFixed(0)}/s,` +
        ` p50 ${median(all.map(({ p50_ms }) => p50_ms)).toFixed(1)} ms, p99 ${median(all.map(({ p99_ms }) => p99_ms)).toFixed(1)} ms`,
    );
}

try {
  const { orders, repeats } = benchmark(
    'bench:dashboard',
    'Times pages over many orders, and registrations beside them.',
  )
    .option('--orders <number>', 'orders in the table', wholeNumber, 1_000_000)
    .option('--repeats <number>', 'runs of each contender', wholeNumber, 3)
    .parse()
    .opts<{ readonly orders: number; readonly repeats: number }>();
  const missing = missingTools();
  if (missing !== undefined) throw new Error(missing);
  console.log(`load average before: ${(loadavg()[0] ?? Number.NaN).toFixed(1)}`);
  await withEverythingStopped(async (cleanUps) => {
    const prepared = await prepare([orders], cleanUps);
    const [{ seeded, url: databaseUrl } = { seeded: 0, url: '' }] = prepared.databases;
    const gatehouse = await startGatehouse({ databaseUrl, seeded, withDashboard: true });
    cleanUps.add(gatehouse.stop);
    const read = await reader(gatehouse, databaseUrl, prepared.merchant.id);
    await timePages(read);
    await compareRegister(gatehouse, prepared, read, repeats);
  });
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
