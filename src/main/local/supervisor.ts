import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogFile } from './log-file.ts';
import type { SystemUser } from './postgres-home.ts';
import { restartDelayMs } from './restart-delay.ts';
import { StartError } from './start-error.ts';

/** A process to keep running. */
export interface ProcessSpec {
  /** The name in messages and of the log. */
  readonly name: string;
  /** The listening address, for messages. */
  readonly address: string;
  /** Run before every start. */
  readonly prepare?: () => Promise<void>;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly user?: SystemUser | undefined;
  /** Whether it is a Node process with an IPC channel, by which it detects this process's exit. */
  readonly ipc?: boolean;
  /** Whether the process is ready; polled. `log` returns its output since the start. */
  readonly isReady: (started: { pid: number; log: () => Promise<string> }) => Promise<boolean>;
  /** How long it may take until it is ready, in milliseconds: three minutes by default, for a busy machine. */
  readonly readyTimeoutMs?: number;
  /** Whether the process still does its work. Polled while it runs: after three failures in a row it is killed. */
  readonly isResponsive?: () => Promise<boolean>;
  readonly stopSignal: NodeJS.Signals;
  /** The time limit after that signal, before it is killed. */
  readonly stopTimeoutMs: number;
}

/** A process that is restarted until it is stopped. */
export interface SupervisedProcess {
  readonly name: string;
  /** The present pid, which changes at a restart. */
  readonly pid: () => number | undefined;
  readonly stop: () => Promise<void>;
}

export interface SupervisorOptions {
  readonly log: LogFile;
  /** Called with sentences about problems and restarts. */
  readonly warn: (line: string) => void;
  /** Aborts the start. */
  readonly signal: AbortSignal;
  /** The interval of the checks whether the process is responsive, in milliseconds. */
  readonly askEveryMs?: number;
  /** The time in milliseconds after which `warn` is called about a process that is still starting. */
  readonly longStartMs?: number;
}

const maxUnanswered = 3;
const standardReadyTimeoutMs = 180_000;
/** After this time, `warn` says that the process is still starting. */
const standardLongStartMs = 20_000;
const readyPollMs = 20;

interface Running {
  readonly child: ChildProcess;
  readonly exited: Promise<string>;
  readonly hasExited: () => boolean;
}

async function launchProcess(spec: ProcessSpec, log: LogFile): Promise<Running> {
  const output = await log.open();
  try {
    const child = spawn(spec.command, spec.args, {
      cwd: spec.cwd,
      env: spec.env,
      ...spec.user,
      // A separate process group. Ctrl-C in a terminal reaches only this process, which stops the others in order.
      detached: true,
      // A file, not a pipe, so that the child's output never depends on this process.
      stdio: ['ignore', output.fd, output.fd, ...(spec.ipc === true ? (['ipc'] as const) : [])],
    });
    let ended = false;
    const exited = new Promise<string>((resolve) => {
      const end = (how: string) => {
        ended = true;
        resolve(how);
      };
      child.once('error', (error) => end(error.message));
      child.once('exit', (code, signal) =>
        end(signal === null ? `exit code ${code}` : `killed by ${signal}`),
      );
    });
    return { child, exited, hasExited: () => ended };
  } finally {
    await output.close();
  }
}

async function endProcess(
  running: Running,
  { name, stopSignal, stopTimeoutMs }: ProcessSpec,
  warn: SupervisorOptions['warn'],
): Promise<void> {
  running.child.kill(stopSignal);
  const timer = setTimeout(() => {
    warn(
      `${name} did not stop within ${stopTimeoutMs / 1000} s, so it is killed. Nothing acknowledged is lost`,
    );
    running.child.kill('SIGKILL');
  }, stopTimeoutMs);
  await running.exited;
  clearTimeout(timer);
}

async function untilReady(spec: ProcessSpec, running: Running, options: SupervisorOptions): Promise<void> {
  const { log, warn, signal, longStartMs = standardLongStartMs } = options;
  const { readyTimeoutMs = standardReadyTimeoutMs } = spec;
  const since = performance.now();
  let isLong = false;
  for (;;) {
    signal.throwIfAborted();
    const { pid } = running.child;
    if (pid === undefined || running.hasExited())
      throw new StartError(`${spec.name} did not start (${await running.exited}). ${await endOf(log)}`);
    if (await spec.isReady({ pid, log: log.readNew })) return;
    const tookMs = performance.now() - since;
    // A process whose log has no room on the disk cannot report that it is ready. So its start does not fail. It reports when there is room.
    const isLate = tookMs > readyTimeoutMs && !(await log.isDiskFull());
    if (isLate)
      throw new StartError(
        `${spec.name} was not ready within ${readyTimeoutMs / 1000} s. If this machine is busy, try again later. ${await endOf(log)}`,
      );
    if (tookMs > longStartMs && !isLong) {
      isLong = true;
      warn(
        (await log.isDiskFull())
          ? `${spec.name} cannot report that it is ready, because the disk of its log is full. Free space on it. Its log: ${log.path}`
          : `${spec.name} is still starting. Its log: ${log.path}`,
      );
    }
    await sleep(readyPollMs);
  }
}

async function endOf(log: LogFile): Promise<string> {
  const tail = await log.tail();
  return tail === ''
    ? `It has written nothing to its log, ${log.path}`
    : `The end of its log, ${log.path}:\n${tail}`;
}

/**
 * A process that hangs may ignore SIGTERM, so it gets SIGKILL. Then it is restarted like one that exited.
 * @returns whether it was killed
 */
async function killWhenStuck(
  spec: ProcessSpec,
  running: Running,
  { log, warn, askEveryMs = 5_000 }: SupervisorOptions,
): Promise<boolean> {
  const { isResponsive } = spec;
  if (isResponsive === undefined) return false;
  const exited = new AbortController();
  void running.exited.then(() => exited.abort());
  for (let unanswered = 0; unanswered < maxUnanswered;) {
    await sleep(askEveryMs, undefined, { signal: exited.signal, ref: false }).catch(() => undefined);
    if (running.hasExited()) return false;
    unanswered = (await isResponsive().catch(() => false)) ? 0 : unanswered + 1;
  }
  if (running.hasExited()) return false;
  warn(`${spec.name} runs but no longer answers; ending it. Its log: ${log.path}`);
  return running.child.kill('SIGKILL');
}

/** The advice for a process that was killed. The kernel leaves no line in the log of the process. */
const memoryHint =
  'If nobody killed it, the system did, because the machine or the container has too little memory: see dmesg. ';

/**
 * Starts a process and returns when it is ready. Whenever it exits, it is restarted after the delay of
 * `restartDelayMs`, and `warn` is called. A process that no longer answers is killed first.
 * @throws StartError when the first start fails, the signal's reason when the signal aborts; nothing is left running
 * then
 */
export async function supervise(spec: ProcessSpec, options: SupervisorOptions): Promise<SupervisedProcess> {
  const { log, warn } = options;
  const stopping = new AbortController();
  let running: Running | undefined;
  let wasStuck = false;
  const start = async (signal: AbortSignal): Promise<Running> => {
    await spec.prepare?.();
    signal.throwIfAborted();
    const started = await launchProcess(spec, log);
    // Before it is ready, so that a stop in the meantime ends this process and not the one before it.
    running = started;
    try {
      await untilReady(spec, started, { ...options, signal });
      wasStuck = false;
      void killWhenStuck(spec, started, options).then((killed) => (wasStuck = killed));
      return started;
    } catch (error) {
      await endProcess(started, spec, warn);
      throw error;
    }
  };

  const first = await start(options.signal);

  const keepRunning = async (): Promise<void> => {
    let delayMs: number | undefined;
    // A monotonic clock, because a change of the system clock must not affect a process's health.
    let readyAt: number | undefined = performance.now();
    let why = await first.exited;
    let failure: string | undefined;
    while (!stopping.signal.aborted) {
      delayMs = restartDelayMs(delayMs, readyAt === undefined ? 0 : performance.now() - readyAt);
      const when = delayMs === 0 ? 'at once' : `in ${delayMs / 1000} s`;
      const hint = why === 'killed by SIGKILL' && !wasStuck ? memoryHint : '';
      warn(
        failure === undefined
          ? `${spec.name} ended (${why}); starting it again ${when}. ${hint}Its log: ${log.path}`
          : `${spec.name} is down; starting it again ${when}. ${failure}`,
      );
      await sleep(delayMs, undefined, { signal: stopping.signal });
      readyAt = undefined;
      try {
        const { exited } = await start(stopping.signal);
        readyAt = performance.now();
        failure = undefined;
        warn(`${spec.name} is running again`);
        why = await exited;
      } catch (error) {
        stopping.signal.throwIfAborted();
        failure = error instanceof Error ? error.message : String(error);
      }
    }
  };
  const kept = keepRunning().catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });

  return {
    name: spec.name,
    pid: () => running?.child.pid,
    stop: async () => {
      stopping.abort();
      if (running !== undefined) await endProcess(running, spec, warn);
      await kept;
    },
  };
}
