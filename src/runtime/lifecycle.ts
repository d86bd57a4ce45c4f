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

/**
 * Stops the parts one after another, in the given order, on SIGTERM, SIGINT, an uncaught error or an unhandled
 * rejection, each within its own deadline, and ends the process: exit code 0 after a signal, 1 after an error.
 */
export function stopOnSignal(logger: Logger, parts: readonly Stoppable[]): void {
  closeWithGrace({ delay: exitDeadlineMs, logger: false }, async ({ signal, err }) => {
    if (err === undefined) logger.info({ signal }, 'stopping');
    else logger.fatal({ err }, 'stopping after an error nobody handled');
    for (const part of parts) await stopWithin(part, logger);
    logger.info('stopped');
  });
}
