import { cpuSecondsOf } from './load/process-usage.ts';

/** What one run of a contender came to. */
export interface Sample {
  readonly perSecond: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  /** Requests that were answered with an error, or not at all: a run that has any says nothing about speed. */
  readonly failed: number;
  /** CPU time for each request, by process, in microseconds. That of what follows a commit, up to the broker, is in it. */
  readonly cpu_us: Readonly<Record<string, number>>;
}

/** Something that is loaded in turns with others. */
export interface Contender {
  readonly name: string;
  readonly run: (connections: number, seconds: number) => Promise<Sample>;
}

/** All samples of a contender at a number of connections. */
export interface Measured {
  readonly contender: string;
  readonly connections: number;
  readonly samples: readonly Sample[];
}

/** Processes by what they are called in tables; asked anew each time, for PostgreSQL's come and go. */
export type ProcessGroups = Readonly<Record<string, () => readonly number[]>>;

/** Does something, and says how much CPU time it cost each group. */
export async function withCpu<T>(
  groups: ProcessGroups,
  work: () => Promise<T>,
): Promise<{ result: T; cpuSeconds: Readonly<Record<string, number>> }> {
  const read = (): [string, number][] =>
    Object.entries(groups).map(([name, pids]) => [name, cpuSecondsOf(pids())]);
  const before = Object.fromEntries(read());
  const result = await work();
  const cpuSeconds = Object.fromEntries(read().map(([name, used]) => [name, used - (before[name] ?? 0)]));
  return { result, cpuSeconds };
}

export const perRequest = (
  cpuSeconds: Readonly<Record<string, number>>,
  requests: number,
): Record<string, number> =>
  Object.fromEntries(Object.entries(cpuSeconds).map(([name, used]) => [name, (used * 1e6) / requests]));
