import { setTimeout as delay } from 'node:timers/promises';

/**
 * A deadline that only ends what hangs, because no test may fail on a busy machine. It is shorter than jest's own
 * (`testTimeout`), so that the failure names the condition.
 */
export const hangMs = 4 * 60_000;

/** A poll costs processor time, so it waits a fifth of the time that it has waited already, within these limits. */
const pollMs = { least: 10, most: 200 };

/** What the waits that have not ended wait for. */
const unfinished = new Set<{ readonly what: string }>();

/** What a test file still waits for at its end. Such a wait would poll on beside the next file. */
export function takeUnfinishedWaits(): string[] {
  const left = [...unfinished].map(({ what }) => what);
  unfinished.clear();
  return left;
}

/**
 * Polls the condition until it gives a value. @throws an error that names the condition when it never does.
 *
 * Nothing ends a wait from outside, so it must not lose a `Promise.race`: it would poll on after the test, and the file would fail.
 */
export async function waitUntil<T>(
  what: string,
  condition: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = hangMs,
): Promise<T> {
  const startedAt = Date.now();
  const wait = { what };
  unfinished.add(wait);
  try {
    for (;;) {
      const found = await condition();
      if (found !== undefined && found !== false) return found;
      const waitedMs = Date.now() - startedAt;
      if (waitedMs > timeoutMs) throw new Error(`waited ${timeoutMs} ms, and still not: ${what}`);
      await delay(Math.min(pollMs.most, Math.max(pollMs.least, waitedMs / 5)));
    }
  } finally {
    unfinished.delete(wait);
  }
}

/**
 * Repeats an action until it succeeds, and returns its result. It is for servers that were just restarted, because a
 * client that could not connect fails at once for a while. The cause of its own error is the action's last one.
 */
export async function insist<T>(what: string, act: () => Promise<T>, timeoutMs = hangMs): Promise<T> {
  let lastError: unknown;
  const attempt = (): Promise<{ readonly value: T } | undefined> =>
    act().then(
      (value) => ({ value }),
      (error: unknown) => {
        lastError = error;
        return undefined;
      },
    );
  try {
    return (await waitUntil(what, attempt, timeoutMs)).value;
  } catch {
    throw new Error(`repeated for ${timeoutMs} ms, and still not: ${what}`, { cause: lastError });
  }
}
