import { createCleanUps } from './clean-ups.ts';
import type { CleanUps } from './clean-ups.ts';

/**
 * Runs a function and stops everything that it started, also after an interrupt, because temporary folders hold
 * millions of rows.
 */
export async function withEverythingStopped<T>(work: (cleanUps: CleanUps) => Promise<T>): Promise<T> {
  const cleanUps = createCleanUps();
  const interruption = new AbortController();
  const interrupted = (): void => {
    interruption.abort();
    console.error('interrupted: stopping what was started');
    void cleanUps.run().finally(() => process.exit(130));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted);
  try {
    return await work(cleanUps);
  } catch (error) {
    // The work fails because its parts are stopped. The process ends when all of them are.
    if (interruption.signal.aborted) return await new Promise<never>(() => undefined);
    throw error;
  } finally {
    await cleanUps.run();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupted);
  }
}
