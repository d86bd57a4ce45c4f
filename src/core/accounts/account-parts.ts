import type { NewId } from '../../contract/public-id.ts';
import type { Database } from '../database/database.ts';
import type { InAccountTurn } from './account-turns.ts';
import type { PasswordHashes } from './password-hashes.ts';
import type { ParsePassword } from './password-rules.ts';
import type { RecoveryCodes } from './recovery-codes.ts';
import type { SecretSeal } from '../../platform/secret-seal.ts';
import type { SignInTries } from './sign-in-tries.ts';

/** The dependencies of the account RPCs. */
export interface AccountParts {
  readonly database: Database;
  readonly newId: NewId;
  readonly now: () => Date;
  readonly randomBytes: (length: number) => Buffer;
  readonly inTurn: InAccountTurn;
  readonly passwords: PasswordHashes;
  readonly parsePassword: ParsePassword;
  readonly tries: SignInTries;
  readonly totpSeal: SecretSeal;
  readonly recoveryCodes: RecoveryCodes;
}
