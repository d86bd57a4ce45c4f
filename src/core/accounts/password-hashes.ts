import { hash, verify } from '@node-rs/argon2';
import { normalPassword } from './password-rules.ts';

/** Argon2id (RFC 9106), on threads of libuv's pool. Both functions use a CPU for tens of milliseconds, so call them in an account's turn. */
export interface PasswordHashes {
  /** The hash of a password that follows the rules. */
  readonly hash: (password: string) => Promise<string>;
  /** Whether the password matches the hash. Without a hash, it takes as long and returns false. */
  readonly matches: (password: string, known: string | undefined) => Promise<boolean>;
}

/** OWASP Password Storage Cheat Sheet: Argon2id with 19 MiB, two passes, one lane. */
const cost = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 } as const;

/** A hash of the same cost that no known password has. */
export const unmatchableHash = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

export const passwordHashes: PasswordHashes = {
  hash: (password) => hash(password, cost),
  matches: async (password, known) => {
    const isIt = await verify(known ?? unmatchableHash, normalPassword(password));
    return isIt && known !== undefined;
  },
};
