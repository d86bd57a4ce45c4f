/** Time that passes only when the test says so. */
export function createManualTime(start: string) {
  let nowMs = Date.parse(start);
  let waiting: { readonly dueMs: number; readonly task: () => void }[] = [];
  return {
    now: () => new Date(nowMs),
    after: (delayMs: number, task: () => void): (() => void) => {
      const entry = { dueMs: nowMs + delayMs, task };
      waiting.push(entry);
      return () => {
        waiting = waiting.filter((other) => other !== entry);
      };
    },
    /** Lets this many milliseconds pass, and runs what becomes due, in sequence. */
    pass: (ms: number): void => {
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
export type ManualTime = ReturnType<typeof createManualTime>;
