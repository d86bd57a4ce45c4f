import { cancelled, overloaded } from './batcher.ts';
import type { Leaving } from './batcher.ts';

export interface FairCallsOptions {
  /** How many calls run at a time, of all owners. */
  readonly maxRunning: number;
  /** A further call of an owner is refused when this many of its calls wait. */
  readonly maxWaitingPerOwner: number;
}

/**
 * Runs a call when its owner may have one more running. `signal`: a call whose caller disconnects before its turn is dropped.
 * Errors: RESOURCE_EXHAUSTED OVERLOADED; CALL_CANCELLED; whatever the call throws.
 */
export type FairCalls = <T>(owner: string, signal: Leaving, call: () => Promise<T>) => Promise<T>;

/**
 * Limits calls that each hold a scarce resource, such as a database connection, so that no owner takes it from all others. An
 * owner may run another call while more calls could still begin than it has running. So a single owner gets half of them, and
 * two get a third each. Calls of one owner begin in their order, and owners take turns.
 */
export function createFairCalls({ maxRunning, maxWaitingPerOwner }: FairCallsOptions): FairCalls {
  const running = new Map<string, number>();
  /** The owner whose turn is next is first. */
  const waiting = new Map<string, (() => void)[]>();
  let all = 0;

  const mayRun = (owner: string): boolean => (running.get(owner) ?? 0) < maxRunning - all;
  const count = (owner: string, by: 1 | -1): void => {
    const own = (running.get(owner) ?? 0) + by;
    all += by;
    if (own === 0) running.delete(owner);
    else running.set(owner, own);
  };
  const beginNext = (): void => {
    for (;;) {
      const next = [...waiting].find(([owner]) => mayRun(owner));
      if (next === undefined) return;
      const [owner, [begin, ...others]] = next;
      waiting.delete(owner);
      if (others.length > 0) waiting.set(owner, others);
      begin?.();
    }
  };
  const turnOf = (owner: string): Promise<void> | undefined => {
    const own = waiting.get(owner) ?? [];
    if (own.length === 0 && mayRun(owner)) {
      count(owner, 1);
      return undefined;
    }
    if (own.length >= maxWaitingPerOwner) throw overloaded();
    return new Promise((resolve) => {
      waiting.set(owner, [
        ...own,
        () => {
          count(owner, 1);
          resolve();
        },
      ]);
    });
  };
  return async (owner, signal, call) => {
    await turnOf(owner);
    try {
      if (signal.aborted) throw cancelled();
      return await call();
    } finally {
      count(owner, -1);
      beginNext();
    }
  };
}
