import { chmod, mkdtemp, readFile, readdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../src/main/local/error-code.ts';

const memory = '/dev/shm';
/** A run stores at most a third of this. */
const leastFreeBytes = 4 * 1024 ** 3;

async function isUsable(): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(memory);
    const mounts = await readFile('/proc/mounts', 'utf8');
    const options = mounts.split('\n').find((line) => line.split(' ')[1] === memory);
    // Tests also run programs that they have written.
    return bavail * bsize >= leastFreeBytes && options !== undefined && !options.includes('noexec');
  } catch {
    return false;
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Another user's process is running, and refuses the signal.
    return !hasCode(error, 'ESRCH');
  }
}

/** Removes the folders of runs that were killed, because they occupy memory until the machine restarts. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(memory)) {
    const pid = Number(/^gatehouse-tests-(\d+)-/.exec(name)?.[1] ?? process.pid);
    if (isRunning(pid)) continue;
    await rm(join(memory, name), { recursive: true, force: true }).catch((error: unknown) => {
      // Another run removes the same folder at this moment.
      if (!hasCode(error, 'ENOENT')) throw error;
    });
  }
}

/**
 * Makes a new folder in memory for the temporary files of a test run. Each copy of a database creates and deletes some 300 files. Resolves
 * with undefined on a machine without `/dev/shm` or with less than 4 GB free there, such as a container of Docker.
 */
export async function createMemoryFolder(): Promise<string | undefined> {
  if (!(await isUsable())) return undefined;
  await removeLeftovers();
  const folder = await mkdtemp(join(memory, `gatehouse-tests-${process.pid}-`));
  // PostgreSQL and some processes run as another user.
  await chmod(folder, 0o1777);
  return folder;
}
