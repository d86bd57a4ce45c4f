import { hasCode } from '../../src/main/local/error-code.ts';

/** Sends a signal to a process, or to its group if the id is negative. Does nothing when it has exited already. */
export function killIfRunning(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error;
  }
}
