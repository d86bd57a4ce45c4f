/** Wakes whoever waits for new events. Only ever a hint: everybody who waits also looks by itself now and then. */
export interface EventSignal {
  /** New events may be there. */
  readonly ring: () => void;
  /** Resolves at the next ring, after `timeoutMs`, or when `signal` aborts, whichever comes first. */
  readonly wait: (timeoutMs: number, signal: AbortSignal) => Promise<void>;
}

export function createEventSignal(): EventSignal {
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
