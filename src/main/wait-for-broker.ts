import { pause } from '../platform/pause.ts';

const pollMs = 20;

/** Waits until the broker is connected, at most for `maxMs`. */
export async function waitForBroker(isConnected: () => boolean, maxMs: number): Promise<void> {
  const end = performance.now() + maxMs;
  const never = new AbortController().signal;
  while (!isConnected() && performance.now() < end) await pause(pollMs, never);
}
