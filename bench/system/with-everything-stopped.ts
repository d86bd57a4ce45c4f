import { createCleanUps } from './clean-ups.ts';
import type { CleanUps } from './clean-ups.ts';

/** Does something and stops what it started, also when the user interrupts it: millions of rows lie in temporary folders. */
export async function withEverythingStopped<T>(work: (cleanUps: CleanUps) => Promise<T>): Promise<T> {
  const cleanUps = createCleanUps();
  const interrupted = (): void => {
    console.error('interrupted: stopping what was started');
    void cleanUps.run().finally(() => process.exit(130));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted);
  try {
    return await work(cleanUps);
  } finally {
    await cleanUps.run();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupted);
  }
}
