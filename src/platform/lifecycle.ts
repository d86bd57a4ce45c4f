import { constants } from 'node:os';
import closeWithGrace from 'close-with-grace';
import pTimeout from 'p-timeout';
import type { Logger } from './logger.ts';

/** A part of a process that can be stopped, and the time limit for stopping it. */
export interface Stoppable {
  readonly name: string;
  readonly stop: () => Promise<void> | void;
  readonly timeoutMs: number;
}

/** The time limit for a stop. Docker kills a container after 10 seconds. systemd and Kubernetes wait longer with our files. */
const exitDeadlineMs = 9_500;

/** @throws Error when the sum of the parts' limits is longer than a stop may take, because the last parts would be cut off */
export function requireTimeToStop(parts: readonly Stoppable[]): void {
  const neededMs = parts.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0);
  if (neededMs > exitDeadlineMs)
    throw new Error(`the parts may need ${neededMs} ms to stop, and the process has ${exitDeadlineMs} ms`);
}

async function stopWithin({ name, stop, timeoutMs }: Stoppable, logger: Logger): Promise<void> {
  const logLate = (): void =>
    logger.warn(
      { part: name, timeout_ms: timeoutMs },
      'a part of the process did not stop in time; the shutdown continues without it',
    );
  try {
    await pTimeout(Promise.resolve(stop()), { milliseconds: timeoutMs, fallback: logLate });
  } catch (error) {
    logger.error(
      { part: name, err: error },
      'a part of the process failed while stopping; the shutdown continues',
    );
  }
}

/** The members of a process that the handler of unhandled errors needs. */
export type FallibleProcess = Pick<NodeJS.Process, 'on' | 'listenerCount' | 'exit'>;

/**
 * Handles errors that no other code handled. The error is logged as one fatal line, and the process exits with code 1,
 * because its state is unknown. Its supervisor restarts it. After a call of `stopOnSignal`, the process first stops its parts.
 * Before that, and after a second such error, it exits at once. `explain` may replace an error by one that says what to do.
 */
export function exitOnUnhandledErrors(
  process: FallibleProcess,
  logger: Logger,
  explain: (error: Error) => Error = (error) => error,
): void {
  const exitOn = (event: 'uncaughtException' | 'unhandledRejection', thrown: unknown): void => {
    // A thrown value may not be an Error. `close-with-grace` treats undefined as no error.
    const err = thrown instanceof Error ? thrown : new Error(`${String(thrown)} was thrown`);
    logger.fatal({ err: explain(err), event }, 'unhandled error: the process exits');
    const isStoppedInOrder = Boolean(thrown) && process.listenerCount(event) > 1;
    if (!isStoppedInOrder) process.exit(1);
  };
  process.on('uncaughtException', (error) => exitOn('uncaughtException', error));
  process.on('unhandledRejection', (reason) => exitOn('unhandledRejection', reason));
}

/**
 * Keeps Node's debugger closed. By default SIGUSR1 opens it on port 9229, where every user of the machine can run code within the
 * process. Operators send this signal to programs that then open their log files again.
 */
export function ignoreDebuggerSignal(process: Pick<NodeJS.Process, 'on'>, logger: Logger): void {
  process.on('SIGUSR1', (signal) =>
    logger.warn(
      { signal },
      'this signal has no effect: there is no log file to open again, because the log is the standard output, and no debugger opens',
    ),
  );
}

/** The members of a process that the handler of early signals needs. */
export type SignalledProcess = Pick<NodeJS.Process, 'pid' | 'on' | 'listenerCount' | 'exit'>;

/**
 * Ends a process of id 1 at once on a signal before `stopOnSignal`, with 128 + the signal's number as exit code. A process has this id in a
 * container without an init. Linux then ignores a signal that has no listener, so a stop during the start would last until SIGKILL. It ends
 * all other processes itself.
 */
export function exitOnEarlySignals(process: SignalledProcess, logger: Logger): void {
  if (process.pid !== 1) return;
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const)
    process.on(name, (signal) => {
      const isStoppedInOrder = process.listenerCount(name) > 1;
      if (isStoppedInOrder) return;
      logger.info({ signal }, 'stopped during the start');
      process.exit(128 + constants.signals[signal]);
    });
}

/**
 * A fault of the processor or an abort within Node, such as a wrong memory access. The kernel must end the process. With a listener in
 * JavaScript, the failed instruction would run again and again, and the process would hang for ever.
 */
const crashSignals = ['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV'] as const;

/**
 * Stops the parts in the given order on SIGTERM, SIGINT, an uncaught error or an unhandled rejection. Each part has its own
 * deadline. Then the process exits, with code 0 after a signal and 1 after an error. `exitOnUnhandledErrors` logs the error. A second
 * signal ends the process at once, with code 1.
 * @throws Error as `requireTimeToStop`
 */
export function stopOnSignal(logger: Logger, parts: readonly Stoppable[]): void {
  requireTimeToStop(parts);
  const onSecondSignal = (signal: string): void =>
    logger.warn({ signal }, 'a second signal: the process exits at once, and the stop is not completed');
  closeWithGrace(
    { delay: exitDeadlineMs, logger: false, onSecondSignal, skip: [...crashSignals] },
    async ({ signal, err }) => {
      await stopInOrder(logger, parts, err === undefined ? signal : undefined);
    },
  );
}

/** Stops the parts one after another, each within its own deadline. A part that fails or is late is logged. */
export async function stopInOrder(
  logger: Logger,
  parts: readonly Stoppable[],
  signal: NodeJS.Signals | undefined,
): Promise<void> {
  logger.info(signal === undefined ? {} : { signal }, 'stopping');
  for (const part of parts) await stopWithin(part, logger);
  logger.info('stopped');
}
