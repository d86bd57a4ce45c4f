import { nextTick } from 'node:process';

const runBetweenClockReadings = 8;

/**
 * Runs functions in order, for at most a share of the event loop's time. It is for answers after which clients repeat their
 * request at once, such as refusals. Without this limit, these clients could extend a turn of the event loop to seconds. Node
 * reads from up to about ten thousand sockets before it does anything else, such as sending accepted requests to core.
 *
 * `share` is the time for these functions, divided by all time while some wait; more than 0 and less than 1. A few functions
 * run in each turn of the event loop, even if they take longer than that.
 */
export function createShareOfTime(
  share: number,
  nowMs: () => number = () => performance.now(),
): (act: () => void) => void {
  const waiting: (() => void)[] = [];
  const spentForEachOther = share / (1 - share);
  let isRunning = false;
  /** When the functions ran last, or when the first one began to wait. */
  let otherSinceMs = 0;

  const runTurn = (): void => {
    const beganMs = nowMs();
    const endsMs = beganMs + (beganMs - otherSinceMs) * spentForEachOther;
    const runFew = (): void => {
      for (const act of waiting.splice(0, runBetweenClockReadings)) act();
      // Node writes an answer to its socket in a tick that the function queues. The time of these ticks counts too, so the clock is read
      // after them. A microtask would read it before them, except in the first round.
      nextTick(readClock);
    };
    const readClock = (): void => {
      otherSinceMs = nowMs();
      isRunning = waiting.length > 0;
      if (!isRunning) return;
      if (otherSinceMs < endsMs) runFew();
      else setImmediate(runTurn);
    };
    runFew();
  };
  return (act) => {
    waiting.push(act);
    if (isRunning) return;
    isRunning = true;
    otherSinceMs = nowMs();
    setImmediate(runTurn);
  };
}
