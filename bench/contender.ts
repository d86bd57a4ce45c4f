import { cpuSecondsOf } from './load/process-usage.ts';

/** The result of one run of a contender. */
export interface Sample {
  readonly perSecond: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  /** Requests with an error or without an answer. A run with any of them says nothing about speed. */
  readonly failed: number;
  /** CPU time for each request, by process, in microseconds. It includes the work after a commit, up to the broker. */
  readonly cpu_us: Readonly<Record<string, number>>;
}

/** A system that is loaded in turns with others. */
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

/**
 * Processes by their names in tables. The list is read again each time, because PostgreSQL's processes start and exit.
 */
export type ProcessGroups = Readonly<Record<string, () => readonly number[]>>;

/** Runs a function, and returns the CPU time that each group used meanwhile. */
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
