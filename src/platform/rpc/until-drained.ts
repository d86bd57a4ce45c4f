import { once } from 'node:events';
import type { EventEmitter } from 'node:events';

/** A slow reader holds a writer back; one that went away must not hold it for ever: `gone` is the event that tells of it. */
export async function untilDrained(call: EventEmitter, gone: 'cancelled' | 'status'): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  try {
    await Promise.race([once(call, 'drain', { signal }), once(call, gone, { signal })]);
  } finally {
    // Takes off the listeners of the one that did not happen.
    over.abort();
  }
}
