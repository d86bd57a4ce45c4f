import { hash, verify } from '@node-rs/argon2';
import { createBatcher } from '../../platform/batcher.ts';
import type { Leaving } from '../../platform/batcher.ts';
import { normalPassword } from './password-rules.ts';

export interface PasswordHashes {
  /** The hash of a password that follows the rules. Errors: RESOURCE_EXHAUSTED OVERLOADED. */
  readonly hash: (password: string, signal: Leaving) => Promise<string>;
  /**
   * Whether the password matches the hash. Without a hash, it takes as long and returns false. Errors:
   * RESOURCE_EXHAUSTED OVERLOADED.
   */
  readonly matches: (password: string, known: string | undefined, signal: Leaving) => Promise<boolean>;
}

/** OWASP Password Storage Cheat Sheet: Argon2id with 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 } as const;
/** One at a time uses at most one processor, however many sign-ins are tried. The others remain for payments. */
const atATime = 1;
/** Requests beyond this number are refused at once, because their callers would time out first. */
const maxWaiting = 64;

/** A hash of the same cost that no known password has. */
export const hashOfNobody = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/** Argon2id (RFC 9106), on threads of libuv's pool, one at a time. */
export function createPasswordHashes(): PasswordHashes {
  const run = createBatcher<() => Promise<string | boolean>, string | boolean>({
    name: 'hash a password',
    run: (works) => Promise.all(works.map((work) => work())),
    maxItems: 1,
    maxInFlight: atATime,
    maxWaiting,
  });
  return {
    hash: async (password, signal) => String(await run(() => hash(password, cost), signal)),
    matches: async (password, known, signal) => {
      const isIt = await run(() => verify(known ?? hashOfNobody, normalPassword(password)), signal);
      return isIt === true && known !== undefined;
    },
  };
}
