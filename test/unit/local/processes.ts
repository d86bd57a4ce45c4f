import { readFile } from 'node:fs/promises';

/** Whether a process is running. One that has ended and was not yet collected by its parent is not. */
export async function isRunning(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return status !== '' && !/\) Z/.test(status);
}
