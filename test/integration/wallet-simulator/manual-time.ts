/** Time that passes only when the test says so. */
export interface ManualTime {
  readonly now: () => Date;
  readonly after: (delayMs: number, task: () => void) => () => void;
  /** Lets this many milliseconds pass, and runs what becomes due, in sequence. */
  readonly pass: (ms: number) => void;
}

export function createManualTime(start: string): ManualTime {
  let nowMs = Date.parse(start);
  let waiting: { readonly dueMs: number; readonly task: () => void }[] = [];
  return {
    now: () => new Date(nowMs),
    after: (delayMs, task) => {
      const entry = { dueMs: nowMs + delayMs, task };
      waiting.push(entry);
      return () => {
        waiting = waiting.filter((other) => other !== entry);
      };
    },
    pass: (ms) => {
      const end = nowMs + ms;
      for (;;) {
        const [next] = waiting.filter(({ dueMs }) => dueMs <= end).sort((a, b) => a.dueMs - b.dueMs);
        if (next === undefined) break;
        waiting = waiting.filter((other) => other !== next);
        nowMs = next.dueMs;
        next.task();
      }
      nowMs = end;
    },
  };
}
