import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

export type Scenario = 'register' | 'verify' | 'direct' | 'mixed';

export interface WrkRun {
  readonly url: string;
  readonly scenario: Scenario;
  readonly apiKey: string;
  readonly connections: number;
  readonly seconds: number;
  /** Makes the order numbers of this run its own. */
  readonly run: number;
  /** Orders S-1 to S-n are there to be asked for. */
  readonly seeded: number;
}

const WrkResult = Type.Object({
  requests: Type.Number(),
  seconds: Type.Number(),
  p50_ms: Type.Number(),
  p90_ms: Type.Number(),
  p99_ms: Type.Number(),
  max_ms: Type.Number(),
  /** Answered with 400 or more. */
  refused: Type.Number(),
  /** Not answered: connect, read, write and timeout errors. */
  broken: Type.Number(),
});
export type WrkResult = Static<typeof WrkResult> & {
  /** Of the generator itself, user and system. */
  readonly generatorCpuSeconds: number;
};

/** Loads a URL with wrk over kept-alive connections, two generator threads at most. @throws when wrk fails */
export async function runWrk(options: WrkRun): Promise<WrkResult> {
  const { connections, seconds, url } = options;
  const wrk = [
    'wrk',
    `-t${Math.min(2, connections)}`,
    `-c${connections}`,
    `-d${seconds}s`,
    '--timeout',
    '10s',
    '-s',
    join(import.meta.dirname, 'merchant.lua'),
    url,
  ];
  // bash's own `time` is what tells a finished child's CPU time.
  const output = await capture('bash', ['-c', 'TIMEFORMAT="CPU %U %S"; time "$@"', 'time', ...wrk], {
    SCENARIO: options.scenario,
    API_KEY: options.apiKey,
    RUN: String(options.run),
    SEEDED: String(options.seeded),
    PHONE_BASE: String((options.run * 7_919_111) % 100_000_000),
  });
  const [, user = '0', system = '0'] = /^CPU ([0-9.]+) ([0-9.]+)$/m.exec(output) ?? [];
  const result: unknown = JSON.parse(/^RESULT (.*)$/m.exec(output)?.[1] ?? 'null');
  if (!Value.Check(WrkResult, result)) throw new Error(`wrk printed no result:\n${output}`);
  return { ...result, generatorCpuSeconds: Number(user) + Number(system) };
}

/** Everything a program printed. @throws when it fails */
export function capture(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${program} ended with ${code}:\n${output}`));
    });
  });
}
