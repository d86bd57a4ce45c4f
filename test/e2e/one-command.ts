import { afterAll, afterEach, expect } from '@jest/globals';
import { spawn } from 'node:child_process';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { readLocalSettings } from '../../src/main/local/settings.ts';
import { startGatehouse } from '../../src/main/local/start-gatehouse.ts';
import type { DemoFile as AnyDemoFile } from '../../src/main/local/summary.ts';
import { programFolder } from '../support/servers.ts';
import { waitUntil } from '../support/wait-until.ts';
import { isRunning } from '../unit/local/processes.ts';
import { postJson } from '../support/post-json.ts';

/** With the demo merchant and its users, which only a restored database may lack. */
export type DemoFile = Required<AnyDemoFile>;

export const projectRoot = resolve(import.meta.dirname, '../..');

/** Node's arguments with which `npm start` runs Gatehouse after the installation. */
export const command = ['--import', './src/main/local/stop-with-parent.ts', 'src/main/all.ts'];

/** The settings of all ports, in the order in which a start asks for them. */
export const portSettings = [
  ...['REST_PRODUCTION', 'REST_SANDBOX', 'CHECKOUT', 'DASHBOARD', 'WALLET_CALLBACK', 'SIMULATOR'],
  ...['CORE_GRPC', 'CORE_CONNECT', 'WEBHOOKS_GRPC', 'WEBHOOKS_CONNECT', 'POSTGRES', 'NATS'],
].map((name) => `GATEHOUSE_${name}_PORT`);

/** A start of the one command, running or ended. */
export interface Run {
  readonly process: ChildProcess;
  /** Everything that it has printed so far. */
  readonly output: () => string;
  /** Resolves when everything runs. Rejects with the output when it ends before. */
  readonly ready: () => Promise<void>;
  /** The content of demo.json. */
  readonly demo: () => Promise<DemoFile>;
  /** The one command's process and all processes under it. */
  readonly processes: () => Promise<Map<number, string>>;
  /** Resolves to the exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
}

export interface RunOptions {
  readonly dataFolder: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly command?: readonly [string, ...string[]];
  /** Whether it bundles its programs, as it does for users. By default it runs those of the test run. */
  readonly bundles?: 'its own';
  readonly spawn?: SpawnOptions;
}

/** Returns the content of a file in /proc, or nothing after its process has ended. Files in /proc never block. */
function readProc(pid: number, file: 'stat' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** This process and those below it, each after its parent, with the names of their main files or programs. */
async function withDescendants(root: number): Promise<Map<number, string>> {
  const pids = (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name)).map(Number);
  const all = pids.map((pid) => {
    const [, program = '', parent = '0'] = /\((.*)\) . ([0-9]+)/.exec(readProc(pid, 'stat')) ?? [];
    return { pid, parent: Number(parent), program };
  });
  const byParent = Map.groupBy(all, ({ parent }) => parent);
  const below = all.filter(({ pid }) => pid === root);
  // The list grows during the loop.
  for (const { pid } of below) below.push(...(byParent.get(pid) ?? []));
  const nameOf = (pid: number, program: string): string =>
    /\/(?:main|[^/]*programs[^/]*)\/([a-z-]+)\.(?:ts|mjs)\0$/.exec(readProc(pid, 'cmdline'))?.[1] ?? program;
  return new Map(below.map(({ pid, program }) => [pid, nameOf(pid, program)]));
}

/** Waits until none of these processes is running. */
export async function untilGone(pids: Iterable<number>): Promise<void> {
  for (const pid of pids) await waitUntil(`process ${pid} is gone`, async () => !(await isRunning(pid)));
}

/** Posts to the sandbox listener with the demo merchant's test key. */
export async function post(
  demo: DemoFile,
  path: string,
  body: object,
): Promise<{ status: number; json: unknown }> {
  const answer = await postJson(`${demo.rest.sandbox}${path}`, body, { apiKey: demo.merchant.test_key });
  return { status: answer.status, json: await answer.json() };
}

/** The start has failed with an explanation that contains these sentences, and without a stack trace. */
export async function expectRefusal(run: Run, ...sentences: string[]): Promise<void> {
  expect(await run.ended).toBe(1);
  for (const sentence of ['Gatehouse did not start.', ...sentences]) expect(run.output()).toContain(sentence);
  expect(run.output()).not.toMatch(/^ {4}at /m);
}

/**
 * As `expectRefusal`, within the test's process, where a refused start needs no time of the processor. For refusals that depend neither on the
 * user nor on the disks of a process.
 */
export async function expectRefusalWithin(
  options: Pick<RunOptions, 'dataFolder' | 'env'>,
  ...sentences: string[]
): Promise<void> {
  const environment = environmentOf(options);
  const silent = (): void => undefined;
  const begin = async () =>
    startGatehouse({
      config: readLocalSettings(environment),
      environment,
      projectRoot,
      dataFolder: resolve(projectRoot, environment['GATEHOUSE_DATA_DIR'] ?? ''),
      ...{ report: silent, warn: silent, signal: new AbortController().signal },
    });
  const refusal = await begin().then(
    async ({ stop }) => stop(),
    (error: unknown) => error,
  );
  expect(refusal).toBeInstanceOf(Error);
  expect(['StartError', 'SettingsError']).toContain((refusal as Error).name);
  for (const sentence of sentences) expect((refusal as Error).message).toContain(sentence);
}

/** An order that can be registered. */
export const anOrder = (orderNumber: string) => ({
  ...{ order_number: orderNumber, amount: '150.00', currency: 'ETB', reason: 'Coffee beans' },
  ...{ customer_phone: '+251911223344', return_url: 'https://shop.example/thanks' },
});

/**
 * Runs the one command on free ports for tests. Whatever still runs is stopped after each test, or after all of them.
 */
export function oneCommand({ lasts = 'for a test' }: { lasts?: 'for a test' | 'for all tests' } = {}) {
  const runs: Run[] = [];
  (lasts === 'for a test' ? afterEach : afterAll)(async () => {
    for (const run of runs.splice(0)) {
      run.process.kill('SIGTERM');
      await run.ended;
    }
  });
  return (options: RunOptions): Run => {
    const run = start(options);
    runs.push(run);
    return run;
  };
}

function environmentOf({
  dataFolder,
  env,
  bundles,
}: Pick<RunOptions, 'dataFolder' | 'env' | 'bundles'>): Readonly<Record<string, string | undefined>> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('GATEHOUSE_'));
  return {
    ...Object.fromEntries([...inherited, ...portSettings.map((name) => [name, '0'] as const)]),
    GATEHOUSE_DATA_DIR: dataFolder,
    GATEHOUSE_PROGRAMS: bundles === 'its own' ? '' : programFolder(),
    ...env,
  };
}

function start({ command: given, spawn: options, ...rest }: RunOptions): Run {
  const { dataFolder } = rest;
  const [program, ...args] = given ?? [process.execPath, ...command];
  const child = spawn(program, args, {
    cwd: projectRoot,
    env: environmentOf(rest),
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  }
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  return {
    process: child,
    output: () => output,
    ready: async () => {
      const isReady = () => {
        if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}, saying:\n${output}`);
        return output.includes('Ctrl-C stops everything');
      };
      await waitUntil(`${dataFolder} is in use`, isReady);
    },
    demo: async () => JSON.parse(await readFile(join(dataFolder, 'demo.json'), 'utf8')) as DemoFile,
    processes: () => withDescendants(child.pid ?? 0),
    ended,
  };
}
