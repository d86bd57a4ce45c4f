import { pgbenchScripts } from '../baselines/pgbench-scripts.ts';
import { restContender } from '../contenders/rest.ts';
import { runPgbenchSteadily } from '../contenders/pgbench.ts';
import { runSteadily } from '../load/run-overload.ts';
import type { Latencies } from '../latencies.ts';
import { startGatehouse } from '../system/gatehouse.ts';
import type { Prepared } from '../system/prepare.ts';

export interface TailsOptions {
  readonly connections: number;
  readonly seconds: number;
  readonly repeats: number;
}

export type Tail = Pick<Latencies, 'p50' | 'p99' | 'p999'>;

/** Latencies of registrations and of pgbench at the same steady rate, one of each for each repeat. */
export interface TailsReport {
  readonly connections: number;
  readonly perSecond: number;
  readonly register: readonly Tail[];
  readonly pgbench: readonly Tail[];
}

const created = 201;

/**
 * Registers orders at half of the best rate, as customers who do not wait for each other do, in turns with pgbench. A time
 * begins when a request is due, so a stall counts for all requests that it holds up.
 */
export async function measureTails(prepared: Prepared, options: TailsOptions): Promise<TailsReport> {
  const cleanUps = prepared.cleanUps.nest();
  const { baselineUrl, databases, merchant, nextRun, postgres } = prepared;
  const { postmaster } = postgres;
  const { seeded = 0, url: databaseUrl = '' } = databases[0] ?? {};
  const { connections, seconds, repeats } = options;
  try {
    const gatehouse = await startGatehouse({ databaseUrl, seeded });
    cleanUps.add(gatehouse.stop);
    const scripts = await pgbenchScripts(baselineUrl, merchant);
    const baseline = { databaseUrl: baselineUrl, scripts, seeded, postmaster, nextRun };
    const closed = restContender('register', { gatehouse, merchant, postmaster, nextRun });
    await closed.run(connections, 8);
    const perSecond = Math.round((await closed.run(connections, 4)).perSecond / 2);
    const register: Tail[] = [];
    const pgbench: Tail[] = [];
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      register.push(await steadyRegistrations());
      pgbench.push(
        await runPgbenchSteadily('insert in a transaction', baseline, { connections, seconds, perSecond }),
      );
      console.log(`${perSecond}/s: register ${inWords(register.at(-1))}; pgbench ${inWords(pgbench.at(-1))}`);
    }
    return { connections, perSecond, register, pgbench };

    async function steadyRegistrations(): Promise<Tail> {
      const load = { scenario: 'register', apiKey: merchant.testKey, connections, seconds, seeded } as const;
      const { statuses, broken } = await runSteadily({
        ...load,
        url: gatehouse.urls[0] ?? '',
        run: nextRun(),
        perSecond,
      });
      await gatehouse.settle();
      const made = statuses.find(({ status }) => status === created);
      if (made === undefined || broken > 0 || statuses.length > 1)
        throw new Error(`half of the best rate was not kept: ${JSON.stringify({ statuses, broken })}`);
      return { p50: made.p50_ms, p99: made.p99_ms, p999: made.p999_ms };
    }
  } finally {
    await cleanUps.run();
  }
}

const inWords = (tail: Tail | undefined): string =>
  tail === undefined
    ? ''
    : `p50 ${tail.p50.toFixed(1)} ms, p99 ${tail.p99.toFixed(1)} ms, p99.9 ${tail.p999.toFixed(1)} ms`;
