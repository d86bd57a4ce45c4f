import { setTimeout as delay } from 'node:timers/promises';
import { readGcTrace } from '../load/gc-trace.ts';
import { residentBytesOf } from '../load/process-usage.ts';
import { runWrk } from '../load/run-wrk.ts';
import type { WrkResult } from '../load/run-wrk.ts';
import { median } from '../statistics.ts';
import { startGatehouse } from '../system/gatehouse.ts';
import type { Gatehouse } from '../system/gatehouse.ts';
import { watchPeakMemory } from '../system/peak-memory.ts';
import type { PeakMemory } from '../system/peak-memory.ts';
import type { Prepared } from '../system/prepare.ts';

export interface MemoryOptions {
  readonly connections: number;
  readonly minutes: number;
}

/** The memory of a process at one time, in megabytes. */
export interface MemorySample {
  readonly seconds: number;
  readonly process: 'facade' | 'core';
  readonly resident: number;
  /** In use after the last collection of the whole heap; null before the first. */
  readonly heap: number | null;
}

export interface MemoryReport {
  readonly connections: number;
  readonly minutes: number;
  readonly samples: readonly MemorySample[];
  readonly peakMegabytes: PeakMemory;
  readonly perSecond: number;
  readonly failed: number;
}

const sampleEveryMs = 5_000;
const sayEverySeconds = 60;

/** The memory of facade and core during minutes of load, with three status checks for each registration. */
export async function measureMemory(
  prepared: Prepared,
  { connections, minutes }: MemoryOptions,
): Promise<MemoryReport> {
  const cleanUps = prepared.cleanUps.nest();
  const { databases, merchant, nextRun, postgres } = prepared;
  const { seeded = 0, url: databaseUrl = '' } = databases[0] ?? {};
  try {
    const gatehouse = await startGatehouse({ databaseUrl, seeded, nodeOptions: ['--trace-gc'] });
    cleanUps.add(gatehouse.stop);
    const peak = watchPeakMemory(gatehouse, postgres.postmaster);
    cleanUps.add(peak.stop);
    const sampling = new AbortController();
    const sampled = sampleUntil(gatehouse, sampling.signal);
    const result: WrkResult = await runWrk({
      url: gatehouse.urls[0] ?? '',
      scenario: 'mixed',
      apiKey: merchant.testKey,
      connections,
      seconds: Math.max(1, Math.round(minutes * 60)),
      run: nextRun(),
      seeded,
    }).finally(() => sampling.abort());
    return {
      connections,
      minutes,
      samples: await sampled,
      peakMegabytes: peak.stop(),
      perSecond: result.requests / result.seconds,
      failed: result.refused + result.broken,
    };
  } finally {
    await cleanUps.run();
  }
}

async function sampleUntil({ cores, facades }: Gatehouse, stop: AbortSignal): Promise<MemorySample[]> {
  const samples: MemorySample[] = [];
  const begunMs = performance.now();
  const watched = [
    ...facades.map((each) => ({ ...each, process: 'facade' as const, gc: readGcTrace(each.logFile) })),
    ...cores.map((each) => ({ ...each, process: 'core' as const, gc: readGcTrace(each.logFile) })),
  ];
  while (!stop.aborted) {
    await delay(sampleEveryMs, undefined, { signal: stop }).catch(() => undefined);
    const seconds = Math.round((performance.now() - begunMs) / 1000);
    for (const { pid, process, gc } of watched) {
      const heap = await gc.heapAfterCollection();
      const resident = residentBytesOf(pid) / 1e6;
      samples.push({ seconds, process, resident, heap: Number.isNaN(heap) ? null : heap });
    }
    if (seconds % sayEverySeconds < sampleEveryMs / 1000) console.log(lastOf(samples));
  }
  return samples;
}

const lastOf = (samples: readonly MemorySample[]): string =>
  samples
    .slice(-2)
    .map(
      ({ process, seconds, resident, heap }) =>
        `${seconds} s: ${process} ${resident.toFixed(0)} MB resident, ${heap?.toFixed(0) ?? '?'} MB of heap`,
    )
    .join('; ');

/** Medians of the first and of the second half of the time. Their difference is the growth. */
export function halvesOf(
  samples: readonly MemorySample[],
  process: MemorySample['process'],
  figure: 'resident' | 'heap',
): { first: number; second: number } {
  const values = samples
    .filter((each) => each.process === process)
    .map((each) => each[figure] ?? Number.NaN)
    .filter((value) => !Number.isNaN(value));
  const half = Math.ceil(values.length / 2);
  return { first: median(values.slice(0, half)), second: median(values.slice(half)) };
}
