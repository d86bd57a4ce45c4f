import { randomBytes } from 'node:crypto';
import type { AccountParts } from '../core/accounts/account-parts.ts';
import { createAccountTurns } from '../core/accounts/account-turns.ts';
import { passwordHashes } from '../core/accounts/password-hashes.ts';
import { createPasswordRules } from '../core/accounts/password-rules.ts';
import { createRecoveryCodes } from '../core/accounts/recovery-codes.ts';
import { createSignInTries } from '../core/accounts/sign-in-tries.ts';
import { createSecretSeal } from '../platform/secret-seal.ts';
import { deriveKey } from './derive-key.ts';

/** The dependencies of core's accounts and sessions. Their keys are derived from the master key. */
export function createAccountParts({
  masterKey,
  ...parts
}: Pick<AccountParts, 'database' | 'newId' | 'now'> & { readonly masterKey: Buffer }) {
  return {
    ...parts,
    randomBytes,
    inTurn: createAccountTurns(),
    passwords: passwordHashes,
    parsePassword: createPasswordRules(),
    tries: createSignInTries(parts.database.pool),
    totpSeal: createSecretSeal(deriveKey(masterKey, 'totp-secret'), randomBytes),
    recoveryCodes: createRecoveryCodes(deriveKey(masterKey, 'recovery-code-hash'), randomBytes),
  };
}
