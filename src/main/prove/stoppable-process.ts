import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasCode } from '../local/error-code.ts';
import { beginLog } from '../local/log-file.ts';
import { supervise } from '../local/supervisor.ts';
import type { ProcessSpec, SupervisedProcess } from '../local/supervisor.ts';

/** A process that is stopped, killed and frozen on purpose, and started again at the same address. */
export interface StoppableProcess {
  readonly name: string;
  /** Starts it, and returns when it is ready. @throws StartError */
  readonly start: () => Promise<void>;
  /** Stops it as an operator does. It stays stopped. */
  readonly stop: () => Promise<void>;
  /** Sends SIGKILL. Its supervisor starts it again. */
  readonly kill: () => void;
  /** Sends SIGKILL. It stays stopped. */
  readonly killAndStop: () => Promise<void>;
  /** Stops the process and its children from running, until `thaw`. */
  readonly freeze: () => void;
  readonly thaw: () => void;
  /** Undefined while it is stopped. */
  readonly pid: () => number | undefined;
}

export interface StoppableProcessOptions {
  readonly logFolder: string;
  /** Called with a sentence when the process exits by itself, and when it runs again. */
  readonly warn: (line: string) => void;
  /** Aborts a start. */
  readonly signal?: AbortSignal;
}

export async function stoppableProcess(
  spec: ProcessSpec,
  { logFolder, warn, signal = new AbortController().signal }: StoppableProcessOptions,
): Promise<StoppableProcess> {
  const log = await beginLog(join(logFolder, `${spec.name}.log`));
  let running: SupervisedProcess | undefined;
  let isIntended = false;
  const stop = async (): Promise<void> => {
    isIntended = true;
    await running?.stop();
    running = undefined;
  };
  const signalAll = (name: NodeJS.Signals, parentFirst: boolean): void => {
    const pid = running?.pid();
    if (pid === undefined) return;
    const pids = parentFirst ? [pid, ...childrenOf(pid)] : [...childrenOf(pid), pid];
    for (const each of pids) signalTo(each, name);
  };
  const kill = (): void => {
    const pid = running?.pid();
    if (pid !== undefined) signalTo(pid, 'SIGKILL');
  };
  return {
    name: spec.name,
    start: async () => {
      isIntended = false;
      const warnOfExit = (line: string): void => {
        if (!isIntended) warn(line);
      };
      running = await supervise(spec, { log, warn: warnOfExit, signal });
    },
    stop,
    kill,
    killAndStop: () => {
      isIntended = true;
      kill();
      // Not restarted by its supervisor, which waits longer after each crash.
      return stop();
    },
    freeze: () => signalAll('SIGSTOP', true),
    thaw: () => signalAll('SIGCONT', false),
    pid: () => running?.pid(),
  };
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .trim()
      .split(' ')
      .filter(Boolean)
      .map(Number);
  } catch {
    // The process has exited, or the kernel does not offer the list.
    return [];
  }
}

function signalTo(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It may have exited.
    if (!hasCode(error, 'ESRCH')) throw error;
  }
}
