import { hash, verify } from '@node-rs/argon2';
import { createBatcher } from '../../platform/batcher.ts';
import type { Leaving } from '../../platform/batcher.ts';
import { normalPassword } from './password-rules.ts';

export interface PasswordHashes {
  /** The hash of a password that keeps the rules. Errors: RESOURCE_EXHAUSTED OVERLOADED. */
  readonly hash: (password: string, signal: Leaving) => Promise<string>;
  /**
   * Whether the password is the one that was hashed; without a hash it takes as long, and is not.
   * Errors: RESOURCE_EXHAUSTED OVERLOADED.
   */
  readonly matches: (password: string, known: string | undefined, signal: Leaving) => Promise<boolean>;
}

/** OWASP Password Storage Cheat Sheet: Argon2id with 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 } as const;
/** One at a time takes one processor's time at most, whatever is tried at the door; payments have the others. */
const atATime = 1;
/** More than can be hashed before the caller has lost patience are refused at once. */
const maxWaiting = 64;

/** Argon2id (RFC 9106), on threads of libuv's pool, one at a time. */
export async function createPasswordHashes(): Promise<PasswordHashes> {
  const ofNobody = await hash('nobody has this password', cost);
  const run = createBatcher<() => Promise<string | boolean>, string | boolean>({
    run: (works) => Promise.all(works.map((work) => work())),
    maxItems: 1,
    maxInFlight: atATime,
    maxWaiting,
  });
  return {
    hash: async (password, signal) => String(await run(() => hash(password, cost), signal)),
    matches: async (password, known, signal) => {
      const isIt = await run(() => verify(known ?? ofNobody, normalPassword(password)), signal);
      return isIt === true && known !== undefined;
    },
  };
}
