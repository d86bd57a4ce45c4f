import { restContender } from '../contenders/rest.ts';
import { runOverload } from '../load/run-overload.ts';
import type { OverloadResult, StatusCounts } from '../load/run-overload.ts';
import { median } from '../statistics.ts';
import { startGatehouse } from '../system/gatehouse.ts';
import { watchPeakMemory } from '../system/peak-memory.ts';
import type { PeakMemory } from '../system/peak-memory.ts';
import type { Prepared } from '../system/prepare.ts';

export interface OverloadOptions {
  readonly peakConnections: readonly number[];
  /** More clients than both queues and all batches in flight hold together, so that requests must be refused. */
  readonly connections: number;
  readonly seconds: number;
  readonly repeats: number;
}

export interface OverloadTurn {
  readonly peakPerSecond: number;
  /** Requests per second, whatever their answer. */
  readonly offeredPerSecond: number;
  /** Successful registrations. */
  readonly acceptedPerSecond: number;
  readonly statuses: readonly StatusCounts[];
  readonly broken: number;
}

export interface OverloadReport {
  readonly connections: number;
  readonly thinkMs: number;
  readonly turns: readonly OverloadTurn[];
  readonly peakMegabytes: PeakMemory;
}

const timesCapacity = 2;
const calibrations = 4;
const created = 201;

/** Offers registrations at twice Gatehouse's best rate, in turns with a run at the best rate. */
export async function measureOverload(prepared: Prepared, options: OverloadOptions): Promise<OverloadReport> {
  const cleanUps = prepared.cleanUps.nest();
  const { databases, merchant, nextRun, postgres } = prepared;
  const { seeded = 0, url: databaseUrl = '' } = databases[0] ?? {};
  const { connections, seconds } = options;
  try {
    const gatehouse = await startGatehouse({ databaseUrl, seeded });
    cleanUps.add(gatehouse.stop);
    const memory = watchPeakMemory(gatehouse, postgres.postmaster);
    cleanUps.add(memory.stop);
    const register = restContender('register', {
      gatehouse,
      merchant,
      postmaster: postgres.postmaster,
      nextRun,
    });
    const flood = async (thinkMs: number): Promise<OverloadResult> => {
      const run = { url: gatehouse.urls[0] ?? '', scenario: 'register', apiKey: merchant.testKey } as const;
      const result = await runOverload({ ...run, connections, seconds, run: nextRun(), seeded, thinkMs });
      await gatehouse.settle();
      return result;
    };
    const findPeak = async (): Promise<number> => {
      const rates: number[] = [];
      for (const count of options.peakConnections) rates.push((await register.run(count, seconds)).perSecond);
      return Math.max(...rates);
    };
    await register.run(64, 2 * seconds);
    const thinkMs = await thinkTimeFor(timesCapacity * (await findPeak()), connections, flood);
    const turns: OverloadTurn[] = [];
    for (let repeat = 0; repeat < options.repeats; repeat += 1) {
      const turn = turnOf(await findPeak(), await flood(thinkMs));
      turns.push(turn);
      console.log(inWords(turn));
    }
    return { connections, thinkMs, turns, peakMegabytes: memory.stop() };
  } finally {
    await cleanUps.run();
  }
}

/** How long clients wait between requests if all together send this many a second; 0 when they cannot send so many. */
async function thinkTimeFor(
  perSecond: number,
  connections: number,
  flood: (thinkMs: number) => Promise<OverloadResult>,
): Promise<number> {
  const cycleMs = (connections * 1000) / perSecond;
  let thinkMs = cycleMs;
  for (let attempt = 0; attempt < calibrations; attempt += 1) {
    const offered = offeredPerSecond(await flood(thinkMs));
    if (offered >= perSecond || thinkMs === 0) break;
    const answerMs = (connections * 1000) / offered - thinkMs;
    thinkMs = Math.max(0, Math.floor(cycleMs - answerMs));
  }
  return thinkMs;
}

const offeredPerSecond = ({ seconds, statuses, broken }: OverloadResult): number =>
  (statuses.reduce((sum, { count }) => sum + count, 0) + broken) / seconds;

function turnOf(peakPerSecond: number, result: OverloadResult): OverloadTurn {
  const accepted = result.statuses.find(({ status }) => status === created)?.count ?? 0;
  return {
    peakPerSecond,
    offeredPerSecond: offeredPerSecond(result),
    acceptedPerSecond: accepted / result.seconds,
    statuses: result.statuses,
    broken: result.broken,
  };
}

function inWords({
  peakPerSecond,
  offeredPerSecond: offered,
  acceptedPerSecond,
  statuses,
  broken,
}: OverloadTurn): string {
  const part = (rate: number): string => (rate / peakPerSecond).toFixed(2);
  const answers = statuses.map(
    ({ status, count, p50_ms, p99_ms }) =>
      `${count} x ${status} (p50 ${p50_ms.toFixed(1)} ms, p99 ${p99_ms.toFixed(1)} ms)`,
  );
  return `overload: peak ${peakPerSecond.toFixed(0)}/s, offered ${part(offered)} x, accepted ${part(acceptedPerSecond)} x, ${answers.join(', ')}, ${broken} broken`;
}

/** The rate of accepted requests in an overload, as a fraction of the peak: the median of the turns. */
export const keptPart = ({ turns }: OverloadReport): number =>
  median(turns.map(({ acceptedPerSecond, peakPerSecond }) => acceptedPerSecond / peakPerSecond));
