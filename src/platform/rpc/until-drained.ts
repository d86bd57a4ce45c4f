import { once } from 'node:events';
import type { EventEmitter } from 'node:events';

/** Waits until a slow reader can receive more, or until it disconnects. `disconnectEvent` is emitted at a disconnect. */
export async function untilDrained(
  call: EventEmitter,
  disconnectEvent: 'cancelled' | 'status',
): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  try {
    await Promise.race([once(call, 'drain', { signal }), once(call, disconnectEvent, { signal })]);
  } finally {
    // Removes the listener of the event that did not happen.
    over.abort();
  }
}
