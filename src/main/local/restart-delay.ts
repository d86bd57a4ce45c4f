/** A process that was ready for this long counts as healthy. Its exit does not delay the next run. */
const healthyAfterMs = 60_000;
const firstDelayMs = 500;
const longestDelayMs = 30_000;

/**
 * The delay before a process is restarted, in milliseconds. `previousMs` is the delay before the run that ended,
 * undefined for the first run. `readyMs` is how long that run was ready, 0 if it never was. The first restart is
 * immediate, and so is each restart after a healthy run. The other restarts wait 0.5 s, then 1 s, 2 s, up to 30 s.
 */
export function restartDelayMs(previousMs: number | undefined, readyMs: number): number {
  if (previousMs === undefined || readyMs >= healthyAfterMs) return 0;
  return previousMs === 0 ? firstDelayMs : Math.min(previousMs * 2, longestDelayMs);
}
