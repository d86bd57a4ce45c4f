import { limitFailures } from '../platform/line-limit.ts';
import type { Logger } from '../platform/logger.ts';
import type { Timers } from './simulated-wallet.ts';

const retryMs = 1_000;

/** Timers whose tasks are repeated until they succeed. The end of a payment cannot be recorded while the disk is full or read-only. */
export function createRepeatingTimers(after: Timers, logger: Logger): Timers {
  const logFailed = limitFailures((error) =>
    logger.error(
      { err: error },
      'the end of a payment could not be recorded, so it stays open; trying again every second. Make the folder of GATEHOUSE_SIMULATOR_JOURNAL_DIR writable, and free space on its disk',
    ),
  );
  return (delayMs, task) => {
    let cancel = after(delayMs, run);
    function run(): void {
      try {
        task();
      } catch (error) {
        logFailed(error);
        cancel = after(retryMs, run);
      }
    }
    return () => cancel();
  };
}
