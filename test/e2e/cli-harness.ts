import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { openCore } from '../../src/cli/core-clients.ts';
import { openWebhooks } from '../../src/cli/webhooks/webhook-clients.ts';
import type { ProcessEnvironment } from '../../src/platform/settings/read-settings.ts';
import { closedPort } from '../integration/webhooks/receivers.ts';
import { ownProgram } from '../support/gatehouse-process.ts';
import { compileCache } from '../support/servers.ts';
import { runCommand } from '../support/run-command.ts';
import { shared } from '../support/shared-stack.ts';
import type { Stack } from '../support/stack.ts';
import type { CliParts } from '../../src/cli/program.ts';

/** The result of a command. */
export interface Outcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that runs until it is interrupted. */
export interface RunningCommand {
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Interrupts it like Ctrl-C, and returns its result. */
  readonly interrupt: () => Promise<Outcome>;
  /** Closes its stdout, as `head` does when it has read enough. */
  readonly closeOutput: () => void;
  /** Its result when it ends by itself. */
  readonly ended: Promise<Outcome>;
}

/** The command line of one operator, with exactly these settings. */
export interface CommandLine {
  /** Runs a command within the test's process, which is much faster than a process of its own. */
  readonly run: (...args: readonly string[]) => Promise<Outcome>;
  /** Starts a command as a process, as a terminal does. */
  readonly start: (...args: readonly string[]) => RunningCommand;
  /** Runs a command that must succeed, with --json, and returns what it printed. */
  readonly json: (...args: readonly string[]) => Promise<Record<string, unknown>>;
  /** Where demo.json is looked for. */
  readonly dataFolder: string;
  readonly stop: () => Promise<void>;
}

const root = resolve(import.meta.dirname, '../..');

/** The settings of an operator of this stack. */
export const operatorSettings = ({ addresses, tokens }: Pick<Stack, 'addresses' | 'tokens'>) => ({
  GATEHOUSE_CORE_ADDRESSES: addresses.join(','),
  GATEHOUSE_SERVICE_TOKEN: tokens.operator,
});

/** The command line of an operator of this stack for all tests of a file. `own` are settings that differ. */
export const sharedCommandLine = (
  stack: Stack,
  own: () => Readonly<Record<string, string>> = () => ({}),
): CommandLine => shared(() => openCommandLine({ ...operatorSettings(stack), ...own() }));

/** `own` are parts of the machine that differ from this one. */
export async function openCommandLine(
  settings: Readonly<Record<string, string>>,
  own: Partial<CliParts> = {},
): Promise<CommandLine> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'gatehouse-cli-'));
  const env = { PATH: process.env['PATH'], ...compileCache(), GATEHOUSE_DATA_DIR: dataFolder, ...settings };
  const running: RunningCommand[] = [];
  const run = (...args: readonly string[]): Promise<Outcome> => runInline(args, env, own);
  return {
    run,
    start(...args) {
      const started = startCommand(process.execPath, [...ownProgram('cli'), ...args], env);
      running.push(started);
      return started;
    },
    json: async (...args) => {
      const { exitCode, stdout, stderr } = await run(...args, '--json');
      if (exitCode !== 0) throw new Error(`${args.join(' ')} ended with ${exitCode}: ${stderr}`);
      return JSON.parse(stdout) as Record<string, unknown>;
    },
    dataFolder,
    stop: async () => {
      await Promise.all(running.map(({ interrupt }) => interrupt()));
      await rm(dataFolder, { recursive: true });
    },
  };
}

/** Does what `src/main/cli.ts` does, with these arguments and settings. */
function runInline(
  args: readonly string[],
  settings: ProcessEnvironment,
  own: Partial<CliParts>,
): Promise<Outcome> {
  const identity = { actor: userInfo().username, newRequestId: randomUUID };
  return runCommand(args, settings, {
    openCore: (addresses, token) => openCore({ addresses, token, ...identity }),
    openWebhooks: (addresses, token) => openWebhooks({ addresses, token, ...identity }),
    readInput: (file) => readFile(file, 'utf8'),
    now: () => new Date(),
    ...own,
  });
}

export function execute(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<Outcome> {
  return startCommand(program, args, env).ended;
}

function startCommand(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): RunningCommand {
  const child = spawn(program, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<Outcome>((done, fail) => {
    child.once('error', fail);
    child.once('close', (exitCode) => done({ exitCode, stdout, stderr }));
  });
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    closeOutput: () => child.stdout.destroy(),
    interrupt: () => {
      child.kill('SIGINT');
      return ended;
    },
  };
}

/** An address of this machine on which probably nothing listens. */
export const deadAddress = async (): Promise<string> => `127.0.0.1:${await closedPort()}`;

/** The longest word that fits on a line beside its label. Longer ones, such as a callback's URL, are never broken. */
const longestWrapped = 80;

/** The width of the widest line that could have been wrapped. */
export const widthOf = (text: string): number =>
  Math.max(
    ...text
      .split('\n')
      .filter((line) => line.split(/\s+/).every((word) => word.length <= longestWrapped))
      .map((line) => [...line].length),
  );
