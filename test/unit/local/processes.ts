import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Whether a process is running. One that has ended and was not yet collected by its parent is not. */
export async function isRunning(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return status !== '' && !/\) Z/.test(status);
}

/** Waits for a condition; fails with its description at the deadline. */
export async function until(
  description: string,
  isTrue: () => Promise<boolean> | boolean,
  deadlineMs = 15_000,
): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  while (!(await isTrue())) {
    if (Date.now() > deadline) throw new Error(`waited in vain until ${description}`);
    await sleep(20);
  }
}
