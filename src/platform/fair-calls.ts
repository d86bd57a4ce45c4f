import { cancelled, overloaded } from './batcher.ts';
import type { CallerSignal } from './batcher.ts';

export interface FairCallsOptions {
  /** How many calls run at a time, of all owners. */
  readonly maxRunning: number;
  /** A further call is refused when this many calls of the same owner and part wait. */
  readonly maxWaiting: number;
  /**
   * When this many calls of the same owner wait, a further call replaces the newest call of the part with the most waiting calls. It is refused
   * if its own part would then have the most. No limit by default.
   */
  readonly maxWaitingOfOwner?: number;
}

export interface CallOwner {
  readonly owner: string;
  /** Parts of an owner, such as its links, share the owner's turns. */
  readonly part?: string;
  /** The call is refused when it has waited this long, so that its caller has an answer before its deadline. No limit by default. */
  readonly maxWaitMs?: number | undefined;
}

interface WaitingCall {
  readonly signal: CallerSignal;
  readonly begin: () => void;
  readonly refuse: (error: Error) => void;
}

/**
 * Runs a call when its owner may have one more running. `signal`: a call whose caller disconnects before its turn is dropped, so
 * that another call can wait.
 * Errors: RESOURCE_EXHAUSTED OVERLOADED, before the call has begun; CALL_CANCELLED; those of the call.
 */
export type FairCalls = <T>(owner: CallOwner, signal: CallerSignal, call: () => Promise<T>) => Promise<T>;

/**
 * Limits calls that each hold a scarce resource, such as a database connection, so that no owner takes it from all others. An owner may
 * begin another call only while it runs fewer calls than there are free slots. So a single owner gets half of them, and two get a third
 * each. Owners take turns, and so do the parts of an owner within its turns. Calls of one part begin in their order.
 */
export function createFairCalls({
  maxRunning,
  maxWaiting,
  maxWaitingOfOwner = Infinity,
}: FairCallsOptions): FairCalls {
  const running = new Map<string, number>();
  /** The owner whose turn is next is first, and so is the part of each owner. */
  const waiting = new Map<string, Map<string, WaitingCall[]>>();
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
      const [owner, parts] = next;
      waiting.delete(owner);
      takeFirst(parts)?.begin();
      if (parts.size > 0) waiting.set(owner, parts);
    }
  };
  const waitingOf = ({ owner, part = '' }: CallOwner): number => waiting.get(owner)?.get(part)?.length ?? 0;
  const isFull = (caller: CallOwner): boolean => {
    if (waitingOf(caller) >= maxWaiting) return true;
    // Not counted without need, because an owner may have many parts.
    return maxWaitingOfOwner !== Infinity && waitingIn(waiting.get(caller.owner)) >= maxWaitingOfOwner;
  };
  /** Refuses the owner's waiting calls for which `isDropped` is true. */
  const drop = (owner: string, isDropped: (call: WaitingCall) => boolean, error: () => Error): void => {
    const parts = waiting.get(owner) ?? new Map<string, WaitingCall[]>();
    for (const [part, calls] of parts) {
      const { dropped = [], kept = [] } = Object.groupBy(calls, (call) =>
        isDropped(call) ? 'dropped' : 'kept',
      );
      for (const { refuse } of dropped) refuse(error());
      if (kept.length > 0) parts.set(part, kept);
      else parts.delete(part);
    }
    if (parts.size === 0) waiting.delete(owner);
  };
  /** Refuses the newest call of the part with the most waiting calls, unless the caller's part would then have the most. */
  const makeRoom = (caller: CallOwner): void => {
    const parts = [...(waiting.get(caller.owner)?.values() ?? [])];
    const longest = parts.find(({ length }) => parts.every((other) => other.length <= length)) ?? [];
    if (longest.length > waitingOf(caller) + 1) longest.pop()?.refuse(overloaded());
  };
  const turnOf = (caller: CallOwner, signal: CallerSignal): Promise<void> | undefined => {
    const { owner, part = '', maxWaitMs } = caller;
    if (!waiting.has(owner) && mayRun(owner)) {
      count(owner, 1);
      return undefined;
    }
    // Only now, because most calls have their turn before their callers disconnect.
    if (isFull(caller)) drop(owner, ({ signal: { aborted } }) => aborted, cancelled);
    if (isFull(caller)) makeRoom(caller);
    if (isFull(caller)) throw overloaded();
    return new Promise((resolve, reject) => {
      const refuseLate = (): void => drop(owner, (each) => each === call, overloaded);
      const timer = maxWaitMs === undefined ? undefined : setTimeout(refuseLate, maxWaitMs);
      const call: WaitingCall = {
        signal,
        begin() {
          clearTimeout(timer);
          count(owner, 1);
          resolve();
        },
        refuse(error) {
          clearTimeout(timer);
          reject(error);
        },
      };
      const parts = waiting.get(owner) ?? new Map<string, WaitingCall[]>();
      const own = parts.get(part) ?? [];
      own.push(call);
      waiting.set(owner, parts.set(part, own));
    });
  };
  return async (owner, signal, call) => {
    await turnOf(owner, signal);
    try {
      if (signal.aborted) throw cancelled();
      return await call();
    } finally {
      count(owner.owner, -1);
      beginNext();
    }
  };
}

/** Waits for a turn, and returns the function that ends it. Errors: as `FairCalls` before the call has begun. */
export const takeTurn = (inTurn: FairCalls, owner: CallOwner, signal: CallerSignal): Promise<() => void> =>
  new Promise((begin, refuse) => {
    inTurn(owner, signal, () => {
      const { promise: ended, resolve: end } = Promise.withResolvers<undefined>();
      begin(() => end(undefined));
      return ended;
    }).catch(refuse);
  });

const waitingIn = (parts: ReadonlyMap<string, readonly unknown[]> = new Map()): number =>
  [...parts.values()].flat().length;

/** Removes the first call of the first part, and moves the part behind the others. */
function takeFirst(parts: Map<string, WaitingCall[]>): WaitingCall | undefined {
  for (const [part, calls] of parts) {
    const call = calls.shift();
    parts.delete(part);
    if (calls.length > 0) parts.set(part, calls);
    return call;
  }
  return undefined;
}
