import { readFile } from 'node:fs/promises';

/** Whether a process is running. An exited one that its parent has not collected is not. */
export async function isRunning(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return status !== '' && !/\) Z/.test(status);
}
