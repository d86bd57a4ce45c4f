import type { CallerSignal } from '../../platform/batcher.ts';
import { createFairCalls } from '../../platform/fair-calls.ts';

/** A person who is not signed in yet. The two kinds take turns. Within its kind, each account or site takes turns with the others. */
export type Visitor =
  /** A person with a session, a link, or a browser or network in which the account signed in recently. */
  { readonly kind: 'known'; readonly emailKey: string } | { readonly kind: 'unknown'; readonly site: string };

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
/** The limit on waiting calls of one account or site. */
const maxWaiting = 8;
/**
 * The limit on waiting calls of all accounts, or of all sites, because further callers would time out before their turn. A call of a new account
 * or site replaces one of those with several, so that a flood from a few addresses keeps nobody else out.
 */
const maxWaitingOfOwner = 64;

/**
 * The turns of people who prove who they are, or request a link. However many unknown people wait, known people are next. Tries are counted
 * within the turn, so a refused call writes nothing, and uses up none of its user's tries.
 */
export function createAccountTurns(): InAccountTurn {
  const inTurn = createFairCalls({ maxRunning, maxWaiting, maxWaitingOfOwner });
  return (visitor, signal, work) => {
    const part = visitor.kind === 'known' ? visitor.emailKey : visitor.site;
    return inTurn({ owner: visitor.kind, part }, signal, work);
  };
}
