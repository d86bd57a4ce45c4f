import { perRequest, withCpu } from '../contender.ts';
import type { Contender } from '../contender.ts';
import { runWrk } from '../load/run-wrk.ts';
import type { LoggedProcess } from '../system/logged-process.ts';

/** Fastify that answers with the JSON of verify, from memory. */
export function bareFastifyContender(
  fastify: LoggedProcess,
  { apiKey, seeded, nextRun }: { apiKey: string; seeded: number; nextRun: () => number },
): Contender {
  return {
    name: 'bare Fastify verify',
    run: async (connections, seconds) => {
      const url = String(fastify.ready['origin']);
      const { result, cpuSeconds } = await withCpu({ fastify: () => [fastify.pid] }, () =>
        runWrk({ url, scenario: 'verify', apiKey, connections, seconds, run: nextRun(), seeded }),
      );
      return {
        perSecond: result.requests / result.seconds,
        p50_ms: result.p50_ms,
        p99_ms: result.p99_ms,
        failed: result.refused + result.broken,
        cpu_us: perRequest({ ...cpuSeconds, generator: result.generatorCpuSeconds }, result.requests),
      };
    },
  };
}
