import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { resolve } from 'node:path';
import { bundledProgram } from '../../src/main/local/bundle-programs.ts';
import { choosePorts } from '../../src/main/local/free-port.ts';
import { heapFlags } from '../../src/main/local/heap-flags.ts';
import { compileCache, programFolder } from './servers.ts';
import { waitUntil } from './wait-until.ts';

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };

/** One of Gatehouse's processes, run as in production. */
export interface GatehouseProcess {
  readonly pid: number;
  /** All log lines so far. */
  readonly log: readonly LogLine[];
  /** The fields of its log line `ready`. */
  readonly ready: LogLine;
  /** Sends a signal, and resolves with the exit code after the exit (null after a kill). */
  readonly stop: (signal?: NodeJS.Signals) => Promise<number | null>;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Resolves with the exit code after an exit for any reason (null after a kill). */
  readonly exited: Promise<number | null>;
  /** Stops reading its log, so that the pipe fills up. */
  readonly leaveLogUnread: () => void;
}

const root = resolve(import.meta.dirname, '../..');

/**
 * Starts the program `name`, or the file at that path, with exactly these settings, and waits until it is ready. `folder` is that
 * of another version of this project, which runs from its sources.
 */
export async function startProcess(
  name: string,
  settings: Readonly<Record<string, string>>,
  folder = root,
): Promise<GatehouseProcess> {
  const flags = ['core', 'rest-facade', 'checkout', 'dashboard', 'wallets', 'webhooks'].includes(name)
    ? heapFlags
    : [];
  const program = folder === root && !name.endsWith('.ts') ? ownProgram(name) : [sourceOf(name)];
  return startProgram(name, [process.execPath, ...flags, ...program], await withPorts(settings), folder);
}

const sourceOf = (name: string): string => (name.endsWith('.ts') ? name : `src/main/${name}.ts`);

/** Node's arguments for a program of this version, as `npm start` runs it. */
export function ownProgram(name: string): readonly string[] {
  const programs = programFolder();
  return programs === undefined ? [sourceOf(name)] : [bundledProgram(programs, name)];
}

/**
 * Chooses the ports that are set to 0. A test may start the process again with the same ports, and outgoing connections of other
 * tests can take a port that the kernel chose.
 */
export async function withPorts(
  settings: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, string>>> {
  const open = Object.keys(settings).filter((name) => name.endsWith('_PORT') && settings[name] === '0');
  const ports = await choosePorts(open.map((setting) => ({ setting, host: '127.0.0.1', port: 0 })));
  return { ...settings, ...Object.fromEntries(open.map((name, index) => [name, String(ports[index])])) };
}

/** The same with any arguments of Node. */
export const startNode = (
  name: string,
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<GatehouseProcess> => startProgram(name, [process.execPath, ...args], settings);

/** The same with any program that becomes a process of Gatehouse. */
export async function startProgram(
  name: string,
  [program = '', ...args]: readonly string[],
  settings: Readonly<Record<string, string>>,
  folder = root,
): Promise<GatehouseProcess> {
  const child = spawn(program, args, {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...compileCache(), GATEHOUSE_INSTANCE: name, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log: LogLine[] = [];
  const read = (line: string): void => void log.push(parseLogLine(line));
  const lines = createInterface({ input: child.stdout }).on('line', read);
  createInterface({ input: child.stderr }).on('line', read);
  let exitCode: number | null | undefined;
  const exited = new Promise<number | null>((done) => {
    child.once('exit', (code) => {
      exitCode = code;
      done(code);
    });
  });
  const stop = (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    if (exitCode === undefined) child.kill(signal);
    return exited;
  };
  const isReady = (): LogLine | undefined => {
    if (exitCode !== undefined)
      throw new Error(
        `${name} ended with ${exitCode}:\n${log.map((line) => JSON.stringify(line)).join('\n')}`,
      );
    return log.find(({ msg }) => msg === 'ready');
  };
  try {
    const ready = await waitUntil(`${name} is ready`, isReady);
    const signal = (name: NodeJS.Signals): void => void child.kill(name);
    return { pid: child.pid ?? -1, log, ready, stop, signal, exited, leaveLogUnread: () => lines.close() };
  } catch (error) {
    await stop('SIGKILL');
    throw error;
  }
}

export function parseLogLine(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine;
  } catch {
    return { msg: line };
  }
}
