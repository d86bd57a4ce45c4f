import { setTimeout as delay } from 'node:timers/promises';

/** Looks again and again until the condition gives something, and fails naming what was waited for when it never does. */
export async function waitUntil<T>(
  what: string,
  condition: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 30_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const found = await condition();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain until ${what}`);
    await delay(20);
  }
}

/**
 * Does it again and again until it does not fail, and gives what it gave. For whatever was just started again: a client
 * that found nobody there waits a moment before it looks again, and fails at once until then.
 */
export async function insist<T>(what: string, act: () => Promise<T>, timeoutMs = 30_000): Promise<T> {
  const { value } = await waitUntil(
    what,
    () =>
      act().then(
        (value) => ({ value }),
        () => undefined,
      ),
    timeoutMs,
  );
  return value;
}
