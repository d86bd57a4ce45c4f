import { limitFailures } from './line-limit.ts';
import type { Logger } from './logger.ts';
import { pause } from './pause.ts';

export interface RepeatOptions {
  /** The name of the task, for the log of a failure. */
  readonly task: string;
  readonly intervalMs: number;
  readonly logger: Logger;
  readonly stop: AbortSignal;
}

/** The pause after a failed run. It doubles with every further failure, up to the interval. */
const firstRetryMs = 1_000;

/**
 * Runs the task repeatedly, one run at a time, with the interval between runs, until `stop` aborts. Repeats a failed
 * run sooner: a task with a long interval must not be missing for that long because of one busy moment.
 */
export async function repeatEvery(
  options: RepeatOptions,
  run: (stop: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const { task, intervalMs, logger, stop } = options;
  const logFailed = limitFailures((error) => {
    // A stop often ends the run, which is then not tried again.
    if (!stop.aborted) logger.warn({ err: error, task }, 'a background task failed; trying again');
  });
  let retryMs = firstRetryMs;
  while (!stop.aborted) {
    try {
      await run(stop);
      retryMs = firstRetryMs;
      await pause(intervalMs, stop);
    } catch (error) {
      logFailed(error);
      await pause(Math.min(retryMs, intervalMs), stop);
      retryMs *= 2;
    }
  }
}

/**
 * Returns a `repeatEvery` whose tasks begin one after another. If all began at once, each would need its own connection to the database, and
 * the process would open as many as it may have. A task whose first run takes longer than `longestTurnMs` holds up no other.
 */
export function createRepeatInTurn(longestTurnMs = 100): typeof repeatEvery {
  let turn: Promise<unknown> = Promise.resolve();
  return (options, run) => {
    const { promise: ended, resolve: end } = Promise.withResolvers();
    const repeated = turn.then(() => repeatEvery(options, (stop) => run(stop).finally(() => end(undefined))));
    turn = turn.then(() => Promise.race([ended, pause(longestTurnMs, options.stop)]));
    return repeated;
  };
}
