import type { Logger } from './logger.ts';
import { pause } from './pause.ts';

export interface RepeatOptions {
  /** Named in the log when the task fails. */
  readonly task: string;
  readonly intervalMs: number;
  readonly logger: Logger;
  readonly stop: AbortSignal;
}

/** Runs the task over and over, one run at a time, with the interval between them, until `stop` aborts. A failed run is logged. */
export async function repeatEvery(
  options: RepeatOptions,
  run: (stop: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const { task, intervalMs, logger, stop } = options;
  while (!stop.aborted) {
    await run(stop).catch((error: unknown) => logger.warn({ err: error, task }, 'failed; it is tried again'));
    await pause(intervalMs, stop);
  }
}
