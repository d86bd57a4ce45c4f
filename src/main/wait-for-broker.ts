import { pause } from '../platform/pause.ts';

const lookMs = 20;

/** Waits until the broker is connected, at most for `mostMs`. */
export async function waitForBroker(isConnected: () => boolean, mostMs: number): Promise<void> {
  const end = performance.now() + mostMs;
  const never = new AbortController().signal;
  while (!isConnected() && performance.now() < end) await pause(lookMs, never);
}
