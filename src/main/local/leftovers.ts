import { readFile, readdir, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from './error-code.ts';
import { StartError } from './start-error.ts';

/** An environment variable of every process that is started for a data folder, which identifies it later. */
export const dataFolderMarker = 'GATEHOUSE_STARTED_FOR';

interface Leftover {
  readonly pid: number;
  readonly name: string;
}

const pollMs = 50;
/** The time limit for a killed process to exit. Beyond it, the machine has a problem. */
const killDeadlineMs = 5_000;

async function undefinedOnError<T>(read: Promise<T>): Promise<T | undefined> {
  // The process exited meanwhile, or belongs to another user and so is not ours.
  return read.catch(() => undefined);
}

/** The name of a process's program; undefined for a zombie, which has none and holds no resources. */
async function programOf(pid: number): Promise<string | undefined> {
  const executable = await undefinedOnError(readlink(`/proc/${pid}/exe`));
  return executable === undefined ? undefined : basename(executable).replace(/ \(deleted\)$/, '');
}

async function isOurs(
  { pid, name }: Leftover,
  dataFolder: string,
  postgresData: string | undefined,
): Promise<boolean> {
  // PostgreSQL overwrites its environment with process titles, but its working folder is its data folder. A person's
  // shell may have the same working folder, so the program's name is checked as well.
  if (
    postgresData !== undefined &&
    name === 'postgres' &&
    (await undefinedOnError(readlink(`/proc/${pid}/cwd`))) === postgresData
  )
    return true;
  const environment = (await undefinedOnError(readFile(`/proc/${pid}/environ`, 'utf8'))) ?? '';
  return environment.split('\0').includes(`${dataFolderMarker}=${dataFolder}`);
}

async function findLeftovers(dataFolder: string, postgresData: string | undefined): Promise<Leftover[]> {
  const pids = (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const name = pid === process.pid ? undefined : await programOf(pid);
      if (name === undefined) return [];
      return (await isOurs({ pid, name }, dataFolder, postgresData)) ? [{ pid, name }] : [];
    }),
  );
  return found.flat();
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error;
  }
}

const namesAndPids = (processes: readonly Leftover[]) =>
  processes.map(({ name, pid }) => `${name} ${pid}`).join(', ');

const cannotEnd = (left: readonly Leftover[]) =>
  `Processes of an earlier start cannot be ended: ${namesAndPids(left)}. Inspect them: ps -o pid,stat,wchan,cmd -p <pid>`;

/**
 * Ends processes that an earlier, killed Gatehouse left running for this data folder. It sends one signal (a fast
 * shutdown to PostgreSQL), waits, and kills the rest at the deadline. It finds them by what they hold, because pid
 * files are unreliable after a crash. Call it only while holding the data folder's lock.
 */
export async function endLeftovers(options: {
  readonly dataFolder: string;
  /** Undefined when the database runs elsewhere. */
  readonly postgresData: string | undefined;
  readonly report: (line: string) => void;
  readonly deadlineMs: number;
}): Promise<void> {
  const { dataFolder, postgresData, report } = options;
  const first = await findLeftovers(dataFolder, postgresData);
  if (first.length === 0) return;
  report(`Stopping processes that an earlier start left running: ${namesAndPids(first)}`);
  // Only PostgreSQL's postmaster gets the signal. The same signals mean other things to its children, and it ends them
  // in order.
  const pidFile =
    (await undefinedOnError(readFile(join(postgresData ?? '', 'postmaster.pid'), 'utf8'))) ?? '';
  const postmaster = Number.parseInt(pidFile, 10);
  for (const { pid, name } of first) {
    if (name !== 'postgres') signalTo(pid, 'SIGTERM');
    else if (pid === postmaster) signalTo(pid, 'SIGINT');
  }
  const deadline = performance.now() + options.deadlineMs;
  for (;;) {
    const left = await findLeftovers(dataFolder, postgresData);
    if (left.length === 0) return;
    if (performance.now() > deadline + killDeadlineMs) throw new StartError(cannotEnd(left));
    if (performance.now() > deadline) for (const { pid } of left) signalTo(pid, 'SIGKILL');
    await sleep(pollMs);
  }
}
