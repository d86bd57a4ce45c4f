import type { Logger } from './logger.ts';
import { pause } from './pause.ts';

export interface RepeatOptions {
  /** The name of the task, for the log of a failure. */
  readonly task: string;
  readonly intervalMs: number;
  readonly logger: Logger;
  readonly stop: AbortSignal;
}

/** Runs the task repeatedly, one run at a time, with the interval between runs, until `stop` aborts. Logs a failed run. */
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
