import { hash, verify } from '@node-rs/argon2';
import type { CallerSignal } from '../../platform/batcher.ts';
import { createFairCalls } from '../../platform/fair-calls.ts';
import { normalPassword } from './password-rules.ts';

/** The person who entered the password. The two kinds take turns. Within its kind, each account or site takes turns with the others. */
export type PasswordOwner =
  /** A person with a session, a link, or a browser or network in which the account signed in recently. */
  { readonly kind: 'known'; readonly emailKey: string } | { readonly kind: 'unknown'; readonly site: string };

export interface PasswordHashes {
  /** The hash of a password that follows the rules. Errors: RESOURCE_EXHAUSTED OVERLOADED. */
  readonly hash: (password: string, owner: PasswordOwner, signal: CallerSignal) => Promise<string>;
  /**
   * Whether the password matches the hash. Without a hash, it takes as long and returns false. Errors:
   * RESOURCE_EXHAUSTED OVERLOADED.
   */
  readonly matches: (
    password: string,
    known: string | undefined,
    owner: PasswordOwner,
    signal: CallerSignal,
  ) => Promise<boolean>;
}

/** OWASP Password Storage Cheat Sheet: Argon2id with 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 } as const;
/** One hash at a time uses at most one CPU, however many people sign in. The other CPUs remain for payments. */
const maxRunning = 1;
/** The limit on waiting calls of one account or site. */
const maxWaiting = 8;
/** The limit on waiting calls of all accounts, or of all sites. Further calls are refused at once, because their callers would time out first. */
const maxWaitingOfOwner = 64;

/** A hash of the same cost that no known password has. */
export const unmatchableHash = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/** Argon2id (RFC 9106), on threads of libuv's pool, one at a time. However many unknown people wait, known people are next. */
export function createPasswordHashes(): PasswordHashes {
  const inTurn = createFairCalls({ maxRunning, maxWaiting, maxWaitingOfOwner });
  const run = <T>(owner: PasswordOwner, signal: CallerSignal, work: () => Promise<T>): Promise<T> => {
    const part = owner.kind === 'known' ? owner.emailKey : owner.site;
    return inTurn({ owner: owner.kind, part }, signal, work);
  };
  return {
    hash: (password, owner, signal) => run(owner, signal, () => hash(password, cost)),
    matches: async (password, known, owner, signal) => {
      const isIt = await run(owner, signal, () => verify(known ?? unmatchableHash, normalPassword(password)));
      return isIt && known !== undefined;
    },
  };
}
