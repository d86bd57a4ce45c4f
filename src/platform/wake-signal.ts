/** Wakes a task that waits for work. It is only a hint: every waiting task also checks for work at intervals. */
export interface WakeSignal {
  /** Reports that there may be work. */
  readonly ring: () => void;
  /** Resolves at the next ring, after `timeoutMs`, or when `signal` aborts, whichever comes first. */
  readonly wait: (timeoutMs: number, signal: AbortSignal) => Promise<void>;
}

export function createWakeSignal(): WakeSignal {
  const waiters = new Set<() => void>();
  return {
    ring: () => waiters.forEach((wake) => wake()),
    wait: (timeoutMs, signal) =>
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
        if (signal.aborted) done();
      }),
  };
}
