import type { CleanUps } from './clean-ups.ts';
import { fillDatabase } from './fill-database.ts';
import type { BenchMerchant } from './fill-database.ts';
import { seedOrders, seedPendingOrders } from './seed-orders.ts';
import { startPostgres } from './servers.ts';
import type { BenchPostgres } from './servers.ts';

/** A PostgreSQL with a database for each table size, and one for the baselines, which has no other users. */
export interface Prepared {
  readonly postgres: BenchPostgres;
  readonly merchant: BenchMerchant;
  /** By the number of orders, the smallest first. */
  readonly databases: readonly { readonly seeded: number; readonly url: string }[];
  readonly baselineUrl: string;
  /** A copy of the smallest for a Gatehouse with all its processes. */
  readonly wholeUrl: string;
  readonly nextRun: () => number;
  /** The clean-ups of everything that the run starts, PostgreSQL included. */
  readonly cleanUps: CleanUps;
}

/** Seeds the databases. No process of Gatehouse runs yet. The clean-ups stop everything, also after a failure. */
export async function prepare(
  sizes: readonly number[],
  cleanUps: CleanUps,
  settings: Readonly<Record<string, string>> = {},
): Promise<Prepared> {
  const postgres = await startPostgres(settings);
  cleanUps.add(postgres.stop);
  const { url, merchant } = await fillDatabase(postgres, 'bench');
  const [fewest = 0] = sizes.toSorted((a, b) => a - b);
  await seedPendingOrders(url, merchant, fewest);
  const databases: { seeded: number; url: string }[] = [];
  let last = { seeded: 0, name: 'bench', url };
  for (const seeded of sizes.toSorted((a, b) => a - b)) {
    const name = `bench_${seeded}`;
    const copy = await postgres.copyDatabase(last.name, name);
    const seconds = await seedOrders(copy, merchant, last.seeded + 1, seeded);
    console.log(`${seeded - last.seeded} orders with their events seeded in ${seconds.toFixed(1)} s`);
    last = { seeded, name, url: copy };
    databases.push(last);
  }
  const smallest = `bench_${databases[0]?.seeded}`;
  const baselineUrl = await postgres.copyDatabase(smallest, 'baseline');
  const wholeUrl = await postgres.copyDatabase(smallest, 'whole');
  let run = 0;
  return { postgres, merchant, databases, baselineUrl, wholeUrl, nextRun: () => (run += 1), cleanUps };
}
