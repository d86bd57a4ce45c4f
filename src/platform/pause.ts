import { setTimeout as delay } from 'node:timers/promises';

/** Resolves after `ms`, or as soon as `stop` aborts. Never rejects: who pauses looks at `stop` itself. */
export async function pause(ms: number, stop: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, { signal: stop });
  } catch {
    // Aborting is all that makes it fail.
  }
}
