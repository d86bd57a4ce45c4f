import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { waitUntil } from '../../test/support/wait-until.ts';

/** A Node process that writes its log into a file itself, because a reader of its output would cost CPU time. */
export interface LoggedProcess {
  readonly pid: number;
  readonly logFile: string;
  /** The facts in its log line `ready`. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Stops the process and removes its log. */
  readonly stop: () => Promise<void>;
}

export interface ProcessToStart {
  /** The folder of a checkout of this project; this one by default. */
  readonly folder?: string;
  readonly file: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Options of Node itself. */
  readonly nodeOptions?: readonly string[];
}

/** The folder of this checkout. */
export const root = resolve(import.meta.dirname, '../..');

/** Node's folder for compiled code, which `npm start` and the image use too. */
const compileCache = { NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache') };

const compiled = new Set<string>();

/**
 * Fills the compile cache with all modules of a process. Without its settings, the process exits when they are loaded.
 * The cache is valid for the same options of Node only. A second call for the same file does nothing.
 */
export function compileOnce(file: string, folder: string, nodeOptions: readonly string[]): void {
  const all = [folder, file, ...nodeOptions].join(' ');
  if (compiled.has(all)) return;
  compiled.add(all);
  spawnSync(process.execPath, [...nodeOptions, file], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...compileCache },
  });
}

/** Starts a file of this project with exactly these settings, and waits until it is ready. @throws when it exits */
export async function startLogged({
  folder: checkout = root,
  file,
  settings,
  nodeOptions = [],
}: ProcessToStart): Promise<LoggedProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-bench-log-'));
  const logFile = join(folder, 'log');
  const log = await open(logFile, 'a');
  const child = spawn(process.execPath, [...nodeOptions, file], {
    cwd: checkout,
    env: { PATH: process.env['PATH'], ...compileCache, GATEHOUSE_INSTANCE: 'bench', ...settings },
    stdio: ['ignore', log.fd, log.fd],
  });
  const exited = new Promise<void>((done) => child.once('exit', () => done()));
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
    await rm(folder, { recursive: true, force: true });
  };
  await log.close();
  try {
    const ready = await waitUntil(`${file} is ready`, async () => {
      const text = await readFile(logFile, 'utf8');
      if (child.exitCode !== null) throw new Error(`${file} ended with ${child.exitCode}:\n${text}`);
      return readyLineOf(text);
    });
    return { pid: child.pid ?? -1, logFile, ready, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function readyLineOf(text: string): Readonly<Record<string, unknown>> | undefined {
  const line = text.split('\n').find((each) => each.includes('"msg":"ready"') && each.endsWith('}'));
  return line === undefined ? undefined : (JSON.parse(line) as Record<string, unknown>);
}
