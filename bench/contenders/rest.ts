import { perRequest, withCpu } from '../contender.ts';
import type { Contender, ProcessGroups } from '../contender.ts';
import { familyOf } from '../load/process-usage.ts';
import { runWrk } from '../load/run-wrk.ts';
import type { Scenario, WrkResult } from '../load/run-wrk.ts';
import type { BenchMerchant } from '../system/fill-database.ts';
import type { Gatehouse } from '../system/gatehouse.ts';

/** The parts that all contenders of one Gatehouse share. */
export interface UnderLoad {
  readonly gatehouse: Gatehouse;
  readonly merchant: BenchMerchant;
  readonly postmaster: number;
  /** Gives each number once, so that no two runs write the same order numbers. */
  readonly nextRun: () => number;
}

export const processesOf = ({ gatehouse, postmaster }: UnderLoad): ProcessGroups => ({
  facade: () => gatehouse.facades.map(({ pid }) => pid),
  core: () => gatehouse.cores.map(({ pid }) => pid),
  postgres: () => familyOf(postmaster),
  nats: () => [gatehouse.nats],
});

export interface RestOptions {
  readonly name?: string;
  /** Verify requests this many of the newest seeded orders; all of them by default. */
  readonly newest?: number;
  /** Verify requests PENDING orders; ended ones by default. */
  readonly pending?: boolean;
}

/** Gatehouse over REST. */
export function restContender(
  scenario: Scenario,
  under: UnderLoad,
  { name = `rest ${scenario}`, newest = under.gatehouse.seeded, pending = false }: RestOptions = {},
): Contender {
  const { gatehouse, merchant, nextRun } = under;
  const { urls, seeded } = gatehouse;
  return {
    name,
    run: async (connections, seconds) => {
      const run = nextRun();
      const share = Math.max(1, Math.floor(connections / urls.length));
      const wrk = {
        scenario,
        apiKey: merchant.testKey,
        connections: share,
        seconds,
        seeded,
        seededFrom: seeded - newest + 1,
        pending,
      };
      const { result: results, cpuSeconds } = await withCpu(processesOf(under), async () => {
        // Each of several facades is loaded by its own wrk, with its own order numbers.
        const all = await Promise.all(
          urls.map((url, index) => runWrk({ ...wrk, url, run: index === 0 ? run : nextRun() })),
        );
        await gatehouse.settle();
        return all;
      });
      const requests = sum(results.map((result) => result.requests));
      if (scenario === 'register' && urls.length === 1) await requireStored(under, run, results);
      const generator = sum(results.map((result) => result.generatorCpuSeconds));
      return {
        perSecond: sum(results.map((result) => result.requests / result.seconds)),
        p50_ms: Math.max(...results.map((result) => result.p50_ms)),
        p99_ms: Math.max(...results.map((result) => result.p99_ms)),
        failed: sum(results.map(({ refused, broken }) => refused + broken)),
        cpu_us: perRequest({ ...cpuSeconds, generator }, requests),
      };
    },
  };
}

/** @throws when PostgreSQL has fewer orders of a run, with their events, than the API acknowledged */
async function requireStored(
  { gatehouse, merchant }: UnderLoad,
  run: number,
  results: readonly WrkResult[],
): Promise<void> {
  const acknowledged = sum(results.map(({ requests, refused }) => requests - refused));
  const { rows } = await gatehouse.database.query<{ stored: number }>(
    `select count(*)::int as stored from core.orders o
     join core.order_events e on e.merchant_id = o.merchant_id and e.order_id = o.id and e.sequence = 1
     where o.merchant_id = $1 and o.environment = 'SANDBOX' and o.order_number >= $2 and o.order_number < $3`,
    // The character after '-', so that the range contains everything with the run's prefix.
    [merchant.storedId, `B${run}-`, `B${run}.`],
  );
  const stored = rows[0]?.stored ?? 0;
  if (stored < acknowledged)
    throw new Error(`${acknowledged} registrations were acknowledged and ${stored} are stored`);
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
