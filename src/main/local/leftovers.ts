import { readFile, readdir, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from './error-code.ts';
import { StartError } from './start-error.ts';

/** Set in the environment of every process that is started for a data folder, so that it can be found again. */
export const dataFolderMarker = 'GATEHOUSE_STARTED_FOR';

interface Leftover {
  readonly pid: number;
  readonly name: string;
}

const pollMs = 50;
/** How long a killed process may take to be gone before something is wrong with the machine. */
const killDeadlineMs = 5_000;

async function attempt<T>(read: Promise<T>): Promise<T | undefined> {
  // Gone in the meantime, or another user's, which is never ours.
  return read.catch(() => undefined);
}

/** The name of the program a process runs; undefined for a zombie, which has none and holds nothing any more. */
async function programOf(pid: number): Promise<string | undefined> {
  const executable = await attempt(readlink(`/proc/${pid}/exe`));
  return executable === undefined ? undefined : basename(executable).replace(/ \(deleted\)$/, '');
}

async function isOurs(
  { pid, name }: Leftover,
  dataFolder: string,
  postgresData: string | undefined,
): Promise<boolean> {
  // PostgreSQL writes its process titles over its environment, but works in its data folder. So may the shell of
  // somebody who looks around there.
  if (
    postgresData !== undefined &&
    name === 'postgres' &&
    (await attempt(readlink(`/proc/${pid}/cwd`))) === postgresData
  )
    return true;
  const environment = (await attempt(readFile(`/proc/${pid}/environ`, 'utf8'))) ?? '';
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

const list = (processes: readonly Leftover[]) =>
  processes.map(({ name, pid }) => `${name} ${pid}`).join(', ');

const cannotEnd = (left: readonly Leftover[]) =>
  `Processes of an earlier start cannot be ended: ${list(left)}. Look at them with: ps -o pid,stat,wchan,cmd -p <pid>`;

/**
 * Ends what an earlier Gatehouse that was killed left running for this data folder: asks once (PostgreSQL by a fast
 * shutdown), waits, and kills what is still there at the deadline. Found by what the processes hold, not by pid files,
 * which lie after a crash. Call it only while holding the data folder's lock.
 */
export async function endLeftovers(options: {
  readonly dataFolder: string;
  /** Undefined: its database runs elsewhere. */
  readonly postgresData: string | undefined;
  readonly report: (line: string) => void;
  readonly deadlineMs: number;
}): Promise<void> {
  const { dataFolder, postgresData, report } = options;
  const first = await findLeftovers(dataFolder, postgresData);
  if (first.length === 0) return;
  report(`Ending what an earlier start left running: ${list(first)}`);
  // Of PostgreSQL only the postmaster: the same signals mean other things to its children, and it ends them in order.
  const pidFile = (await attempt(readFile(join(postgresData ?? '', 'postmaster.pid'), 'utf8'))) ?? '';
  const postmaster = Number.parseInt(pidFile, 10);
  for (const { pid, name } of first) {
    if (name !== 'postgres') signalTo(pid, 'SIGTERM');
    else if (pid === postmaster) signalTo(pid, 'SIGINT');
  }
  const deadline = Date.now() + options.deadlineMs;
  for (;;) {
    const left = await findLeftovers(dataFolder, postgresData);
    if (left.length === 0) return;
    if (Date.now() > deadline + killDeadlineMs) throw new StartError(cannotEnd(left));
    if (Date.now() > deadline) for (const { pid } of left) signalTo(pid, 'SIGKILL');
    await sleep(pollMs);
  }
}
