import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { captureTimed } from './capture.ts';

export type Scenario = 'register' | 'verify' | 'direct' | 'mixed';

export interface WrkRun {
  readonly url: string;
  readonly scenario: Scenario;
  readonly apiKey: string;
  readonly connections: number;
  readonly seconds: number;
  /**
   * The number of the run, from 1 for each database. Its order numbers and phones contain it, so no other run uses
   * them.
   */
  readonly run: number;
  /** Orders S-00000001 to this one exist and can be requested. */
  readonly seeded: number;
  /** The first of these orders to request; S-00000001 by default. */
  readonly seededFrom?: number;
  /** Requests the orders P-00000001 to the number of `seeded`, which are PENDING, instead of the ended ones. */
  readonly pending?: boolean;
}

/** Each phone gets one prompt. A run can use this many phones before it reaches those of the next run. */
const phonesARun = 400_000;

export const WrkResult = Type.Object({
  requests: Type.Number(),
  seconds: Type.Number(),
  p50_ms: Type.Number(),
  p99_ms: Type.Number(),
  /** Answers with 400 or more. No measured endpoint answers with a redirect. */
  refused: Type.Number(),
  /** Requests without an answer: connect, read, write and timeout errors. */
  broken: Type.Number(),
});
export type WrkResult = Static<typeof WrkResult> & {
  /** CPU time of the generator itself, user and system. */
  readonly generatorCpuSeconds: number;
};

/** Loads a URL with wrk over kept-alive connections. @throws when wrk fails */
export async function runWrk(options: WrkRun): Promise<WrkResult> {
  const { output, cpuSeconds } = await captureWrk('merchant.lua', options);
  return { ...readResult(WrkResult, 'RESULT', output), generatorCpuSeconds: cpuSeconds };
}

/** Runs one of the scripts in this folder, with at most two generator threads. */
export function captureWrk(script: string, options: WrkRun, more: Readonly<Record<string, string>> = {}) {
  const { connections, seconds, url } = options;
  const args = [`-t${Math.min(2, connections)}`, `-c${connections}`, `-d${seconds}s`, '--timeout', '10s'];
  return captureTimed('wrk', [...args, '-s', join(import.meta.dirname, script), url], {
    SCENARIO: options.scenario,
    API_KEY: options.apiKey,
    RUN: String(options.run),
    SEEDED: String(options.seeded),
    SEEDED_FROM: String(options.seededFrom ?? 1),
    PREFIX: options.pending === true ? 'P' : 'S',
    PHONE_BASE: String((options.run * phonesARun) % 100_000_000),
    SCRIPTS: import.meta.dirname,
    ...more,
  });
}

/** The JSON line after a word. @throws when there is none */
export function readResult<T extends Parameters<typeof Value.Check>[0]>(
  schema: T,
  word: string,
  output: string,
): Static<T> {
  const result: unknown = JSON.parse(new RegExp(`^${word} (.*)$`, 'm').exec(output)?.[1] ?? 'null');
  if (!Value.Check(schema, result)) throw new Error(`no ${word} in what was printed:\n${output}`);
  return result;
}
