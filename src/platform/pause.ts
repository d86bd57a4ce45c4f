import { setTimeout as delay } from 'node:timers/promises';

/** Resolves after `ms`, or as soon as `stop` aborts. Never rejects: the caller checks `stop`. */
export async function pause(ms: number, stop: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal: stop });
  } catch {
    // Only an abort makes it fail.
  }
}
