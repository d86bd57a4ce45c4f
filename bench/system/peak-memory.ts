import { familyOf, peakBytesOf, sharingBytesOf } from '../load/process-usage.ts';
import type { Gatehouse } from './gatehouse.ts';

/** Megabytes. */
export type PeakMemory = Readonly<Record<'facade' | 'core' | 'postgres' | 'nats', number>>;

const lookEveryMs = 500;
const megabytes = (bytes: number): number => Math.round(bytes / 1e6);

/**
 * Watches until it is asked. The kernel records the peak of a process; of several facades or cores, the largest counts.
 * PostgreSQL's processes share memory, so their memory is sampled together.
 */
export function watchPeakMemory(gatehouse: Gatehouse, postmaster: number): { stop: () => PeakMemory } {
  let postgres = 0;
  const look = (): void => void (postgres = Math.max(postgres, sharingBytesOf(familyOf(postmaster))));
  look();
  const timer = setInterval(look, lookEveryMs);
  return {
    stop: () => {
      clearInterval(timer);
      look();
      const largest = (processes: Gatehouse['cores']): number =>
        megabytes(Math.max(0, ...processes.map(({ pid }) => peakBytesOf(pid))));
      return {
        facade: largest(gatehouse.facades),
        core: largest(gatehouse.cores),
        postgres: megabytes(postgres),
        nats: megabytes(peakBytesOf(gatehouse.nats)),
      };
    },
  };
}
