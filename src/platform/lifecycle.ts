import closeWithGrace from 'close-with-grace';
import type { Logger } from './logger.ts';

/** Something to stop, and how long that may take. */
export interface Stoppable {
  readonly name: string;
  readonly stop: () => Promise<void> | void;
  readonly timeoutMs: number;
}

/** A process must be gone this long after it was asked to stop: supervisors and orchestrators kill it soon after. */
const exitDeadlineMs = 9_500;

async function stopWithin({ name, stop, timeoutMs }: Stoppable, logger: Logger): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), timeoutMs);
  });
  try {
    const outcome = await Promise.race([Promise.resolve(stop()), deadline]);
    if (outcome === 'late')
      logger.warn({ part: name, timeout_ms: timeoutMs }, 'did not stop in time; going on without it');
  } catch (error) {
    logger.error({ part: name, err: error }, 'failed while stopping');
  } finally {
    clearTimeout(timer);
  }
}

/** The parts of a process that its last resort needs. */
export type FallibleProcess = Pick<NodeJS.Process, 'on' | 'listenerCount' | 'exit'>;

/**
 * The last resort: an error that nothing handled is written as one fatal line, and the process exits with code 1, because
 * nobody knows what state it is in. Its supervisor starts it anew. Once `stopOnSignal` was called, the process stops its
 * parts first; before that, and after a second such error, it exits at once.
 */
export function exitOnUnhandledErrors(process: FallibleProcess, logger: Logger): void {
  const die = (event: 'uncaughtException' | 'unhandledRejection', thrown: unknown): void => {
    // Something that was thrown and is no error says little, and `close-with-grace` takes nothing for no error at all.
    const err = thrown instanceof Error ? thrown : new Error(`${String(thrown)} was thrown`);
    logger.fatal({ err, event }, 'nothing handled this error: the process exits');
    const isStoppedInOrder = Boolean(thrown) && process.listenerCount(event) > 1;
    if (!isStoppedInOrder) process.exit(1);
  };
  process.on('uncaughtException', (error) => die('uncaughtException', error));
  process.on('unhandledRejection', (reason) => die('unhandledRejection', reason));
}

/**
 * Stops the parts one after another, in the given order, on SIGTERM, SIGINT, an uncaught error or an unhandled
 * rejection, each within its own deadline, and ends the process: exit code 0 after a signal, 1 after an error.
 * `exitOnUnhandledErrors` has written the error.
 */
export function stopOnSignal(logger: Logger, parts: readonly Stoppable[]): void {
  closeWithGrace({ delay: exitDeadlineMs, logger: false }, async ({ signal, err }) => {
    await stopInOrder(logger, parts, err === undefined ? signal : undefined);
  });
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
