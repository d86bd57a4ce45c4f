import { LRUCache } from 'lru-cache';
import { atMost } from '../../platform/at-most.ts';
import type { CallerSignal } from '../../platform/batcher.ts';
import { createFairCalls } from '../../platform/fair-calls.ts';
import type { FairCalls } from '../../platform/fair-calls.ts';

/** A person who proves who they are. The kinds take turns. Within its kind, each account or site takes turns with the others. */
export type Visitor =
  /**
   * A person with a session, a link, or a browser in which the account signed in recently. `place`: which of them. The places of an account take
   * turns, so that a stranger who knows its password does not keep its user out.
   */
  | { readonly kind: 'known'; readonly emailKey: string; readonly place: string; readonly site: string }
  /** A person in a network in which the account signed in recently. It may be a stranger, so the site counts instead of the account. */
  | { readonly kind: 'neighbour'; readonly site: string }
  | { readonly kind: 'unknown'; readonly site: string };

/**
 * Runs work for a visitor when it is the visitor's turn. `signal`: a visitor who leaves before the turn loses it.
 * Errors: RESOURCE_EXHAUSTED OVERLOADED, before the work has begun; CALL_CANCELLED; those of the work.
 */
export type InAccountTurn = <T>(visitor: Visitor, signal: CallerSignal, work: () => Promise<T>) => Promise<T>;

/**
 * One turn at a time uses at most one CPU and one connection to the database, however many people sign in or request links. The others remain
 * for payments.
 */
const maxRunning = 1;
/** The limit on waiting calls of one place of an account, or of one site. */
const maxWaiting = 8;
/**
 * The limit on waiting calls of all places of an account, of all accounts, or of all sites of a kind, because further callers would time out
 * before their turn. A call of a new account or site replaces one of those with several, so that a flood from a few addresses keeps nobody else
 * out.
 */
const maxWaitingOfOwner = 64;
const maxRemembered = 10_000;

/**
 * The turns that a place and an account have of their own in ten minutes. Further calls wait with those of their site. Otherwise anyone with
 * 64 accounts, such as an owner who invites addresses, could keep the users of all merchants out.
 */
const ownTurns = { ofPlace: 10, ofAccount: 30, withinMs: 10 * 60_000 };

/**
 * The turns of people who prove who they are, or request a link. However many unknown people wait, known people are next. Tries are counted
 * within the turn, so a refused call writes nothing, and uses up none of its user's tries.
 */
export function createAccountTurns(): InAccountTurn {
  const limits = { maxRunning, maxWaiting, maxWaitingOfOwner };
  const inTurn = createFairCalls(limits);
  const turnsOf = new LRUCache<string, FairCalls>({
    ...atMost(maxRemembered),
    memoMethod: () => createFairCalls(limits),
  });
  const used = new LRUCache<string, { turns: number }>({
    ...atMost(maxRemembered),
    ttl: ownTurns.withinMs,
    memoMethod: () => ({ turns: 0 }),
  });
  const use = (whose: string): number => (used.memo(whose).turns += 1);
  return (visitor, signal, work) => {
    const { kind, site } = visitor;
    if (kind !== 'known') return inTurn({ owner: kind, part: site }, signal, work);
    const { emailKey, place } = visitor;
    const hasOwnTurn = use(`${emailKey} ${place}`) <= ownTurns.ofPlace && use(emailKey) <= ownTurns.ofAccount;
    if (!hasOwnTurn) return inTurn({ owner: 'neighbour', part: site }, signal, work);
    return turnsOf.memo(emailKey)({ owner: emailKey, part: place }, signal, () =>
      inTurn({ owner: kind, part: emailKey }, signal, work),
    );
  };
}
