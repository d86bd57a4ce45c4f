/** Wakes a task that waits for work. It is only a hint: every waiting task also checks for work at intervals. */
export interface WakeSignal {
  /** Reports that there may be work. */
  readonly ring: () => void;
  /** The number of rings so far. */
  readonly rings: () => number;
  /**
   * Resolves at the next ring, after `timeoutMs`, or when `signal` aborts, whichever comes first. With `since`, an earlier value of
   * `rings()`, it resolves at once if the signal has rung since then. So no ring is missed during the work.
   */
  readonly wait: (timeoutMs: number, signal: AbortSignal, since?: number) => Promise<void>;
}

export function createWakeSignal(): WakeSignal {
  const waiters = new Set<() => void>();
  let rings = 0;
  return {
    ring: () => {
      rings += 1;
      waiters.forEach((wake) => wake());
    },
    rings: () => rings,
    wait: (timeoutMs, signal, since = rings) =>
      new Promise((resolve) => {
        const done = (): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', done);
          waiters.delete(done);
          resolve();
        };
        const timer = setTimeout(done, timeoutMs);
        signal.addEventListener('abort', done, { once: true });
        waiters.add(done);
        if (signal.aborted || rings !== since) done();
      }),
  };
}
