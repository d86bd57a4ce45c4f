import { loadavg } from 'node:os';

/** Durations in milliseconds. */
export interface Latencies {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export function latenciesOf(values: readonly number[]): Latencies {
  const sorted = values.toSorted((a, b) => a - b);
  const part = (of: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * of))] ?? Number.NaN;
  return { p50: part(0.5), p99: part(0.99), p999: part(0.999), max: part(1) };
}

export const inWords = ({ p50, p99, max }: Latencies): string =>
  `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, max ${max.toFixed(1)} ms`;

/** The load of the machine. Every figure depends on it. */
export const load = (): string => `load ${loadavg()[0]?.toFixed(1)}`;
