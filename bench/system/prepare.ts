import type { CleanUps } from './clean-ups.ts';
import { fillDatabase } from './fill-database.ts';
import type { BenchMerchant } from './fill-database.ts';
import { seedOrders } from './seed-orders.ts';
import { startPostgres } from './servers.ts';
import type { BenchPostgres } from './servers.ts';

/** A PostgreSQL with a database for each table size, and one for the baselines, in which nobody else works. */
export interface Prepared {
  readonly postgres: BenchPostgres;
  readonly merchant: BenchMerchant;
  /** By the number of orders in it, the smallest first. */
  readonly databases: readonly { readonly seeded: number; readonly url: string }[];
  readonly baselineUrl: string;
  readonly nextRun: () => number;
  /** Of everything that is started for the run, PostgreSQL among it. */
  readonly cleanUps: CleanUps;
}

/** Seeds; nothing of Gatehouse runs yet. What was started is stopped by the clean-ups, also when this fails. */
export async function prepare(
  sizes: readonly number[],
  cleanUps: CleanUps,
  settings: Readonly<Record<string, string>> = {},
): Promise<Prepared> {
  const postgres = await startPostgres(settings);
  cleanUps.add(postgres.stop);
  const { url, merchant } = await fillDatabase(postgres, 'bench');
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
  const baselineUrl = await postgres.copyDatabase(`bench_${databases[0]?.seeded}`, 'baseline');
  let run = 0;
  return { postgres, merchant, databases, baselineUrl, nextRun: () => (run += 1), cleanUps };
}
