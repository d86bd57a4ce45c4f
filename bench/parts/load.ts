import { pgbenchScripts } from '../baselines/pgbench-scripts.ts';
import type { Contender, Measured } from '../contender.ts';
import { bareFastifyContender } from '../contenders/bare-fastify.ts';
import { pgbenchContender } from '../contenders/pgbench.ts';
import { restContender } from '../contenders/rest.ts';
import { rpcContender } from '../contenders/rpc.ts';
import { measureInTurns } from '../measure-in-turns.ts';
import type { Turns } from '../measure-in-turns.ts';
import { startGatehouse } from '../system/gatehouse.ts';
import { startLogged } from '../system/logged-process.ts';
import { watchPeakMemory } from '../system/peak-memory.ts';
import type { PeakMemory } from '../system/peak-memory.ts';
import type { Prepared } from '../system/prepare.ts';

export interface LoadOptions extends Turns {
  readonly cores: number;
  readonly facades: number;
  readonly profileFolder: string;
  /** Whether a contender takes part. */
  readonly includes: (name: string) => boolean;
}

export interface LoadReport {
  readonly measured: readonly Measured[];
  readonly peakMegabytes: PeakMemory;
}

/** A Gatehouse whose `webhooks` ingests the events of the registrations, as in production. */
const besideWebhooks = 'rest register beside webhooks';

/** Throughput and latency by the number of connections, of Gatehouse and of the other contenders. */
export async function measureLoad(prepared: Prepared, options: LoadOptions): Promise<LoadReport> {
  const cleanUps = prepared.cleanUps.nest();
  const { baselineUrl, databases, merchant, nextRun, postgres, wholeUrl } = prepared;
  const { postmaster } = postgres;
  const { seeded = 0, url = '' } = databases[0] ?? {};
  try {
    const gatehouse = await startGatehouse({ databaseUrl: url, seeded, ...options });
    cleanUps.add(gatehouse.stop);
    const fastify = await startLogged({
      file: 'bench/baselines/bare-fastify.ts',
      settings: { API_KEY: merchant.testKey },
    });
    cleanUps.add(fastify.stop);
    const scripts = await pgbenchScripts(baselineUrl, merchant);
    const baseline = { databaseUrl: baselineUrl, scripts, seeded, postmaster, nextRun };
    const under = { gatehouse, merchant, postmaster, nextRun };
    const whole: Contender[] = [];
    if (options.includes(besideWebhooks)) {
      const all = await startGatehouse({ databaseUrl: wholeUrl, seeded, withDashboard: true });
      cleanUps.add(all.stop);
      const only = restContender('register', { ...under, gatehouse: all }, { name: besideWebhooks });
      // The other Gatehouse gets the warm-up of all of its contenders.
      await only.run(64, 3 * options.warmUpSeconds);
      whole.push(only);
    }
    const contenders: Contender[] = [
      restContender('register', under),
      ...whole,
      pgbenchContender('insert in a transaction', baseline),
      pgbenchContender('insert in one statement', baseline),
      restContender('verify', under, { name: 'rest verify ended' }),
      restContender('verify', under, { name: 'rest verify pending', pending: true }),
      bareFastifyContender(fastify, { apiKey: merchant.testKey, seeded, nextRun }),
      pgbenchContender('select by key', baseline),
      restContender('direct', under),
      restContender('mixed', under),
      rpcContender('grpc', 'register', under),
      rpcContender('connect', 'register', under),
      rpcContender('grpc', 'batch register', under),
      rpcContender('connect', 'batch register', under),
      rpcContender('grpc', 'get', under),
      rpcContender('connect', 'get', under),
    ].filter(({ name }) => options.includes(name));
    const memory = watchPeakMemory(gatehouse, postmaster);
    cleanUps.add(memory.stop);
    const measured = await measureInTurns([contenders], options);
    return { measured, peakMegabytes: memory.stop() };
  } finally {
    await cleanUps.run();
  }
}
