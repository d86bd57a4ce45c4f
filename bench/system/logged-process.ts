import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { waitUntil } from '../../test/support/wait-until.ts';

/** One of Node's processes, which writes its log into a file by itself: a reader would cost what is measured. */
export interface LoggedProcess {
  readonly pid: number;
  readonly logFile: string;
  /** What it said when it became ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Ends it and removes its log. */
  readonly stop: () => Promise<void>;
}

export interface ProcessToStart {
  /** Of a checkout of this project: this one when it is left out. */
  readonly folder?: string;
  readonly file: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Of Node itself. */
  readonly nodeOptions?: readonly string[];
}

/** Where this checkout is. */
export const root = resolve(import.meta.dirname, '../..');

/** Where Node keeps what it compiled, as `npm start` and the image have it: Node's own folder for that. */
const compileCache = { NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache') };

/**
 * Leaves in the compile cache all that a process is made of: without its settings it ends when that is loaded. What is there
 * counts for the same options of Node only.
 */
export function compileOnce(file: string, folder: string, nodeOptions: readonly string[]): void {
  spawnSync(process.execPath, [...nodeOptions, file], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...compileCache },
  });
}

/** Starts a file of this project with just these settings and waits until it says it is ready. @throws when it ends */
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
