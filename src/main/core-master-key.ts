import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { createAccountSeal } from '../core/merchant-wallets/account-seal.ts';
import { adoptMasterKey, hasMasterKey } from '../core/recovery/master-key.sql.ts';
import type { EncryptedValues } from '../core/recovery/master-key.sql.ts';
import { createSecretSeal } from '../platform/secret-seal.ts';
import { SettingsError } from '../platform/settings/read-settings.ts';
import { masterAccountKey } from './core-wallet-accounts.ts';
import { deriveKey } from './derive-key.ts';

const refusal = `GATEHOUSE_MASTER_KEY is not the master key of this database, so core does not start.
With another key, no API key is valid, secrets cannot be decrypted, and customers of lost orders could be charged again.
Set the key with which Gatehouse last used this database. After a restore, that is the key of the time of the backup.
If that key is lost, read "If the master key is lost" in docs/operating/backup.md.`;

/** Recognises a core that was started with another master key than that of its database, as after a restore. */
export function createMasterKeyCheck(pool: Pool, masterKey: Buffer) {
  const check = deriveKey(masterKey, 'master-key-check');
  const parts = { check, decrypts: createDecrypts(masterKey) };
  return {
    /** Whether the database was used with this master key. It may have been replaced while core runs. */
    hasMasterKey: () => hasMasterKey(pool, parts),
    /** @throws SettingsError when the database was used with another key */
    async require(): Promise<void> {
      if (!(await adoptMasterKey(pool, parts))) throw new SettingsError(refusal);
    },
  };
}

const createDecrypts =
  (masterKey: Buffer) =>
  ({ totp, account }: EncryptedValues): boolean => {
    try {
      if (totp !== null)
        createSecretSeal(deriveKey(masterKey, 'totp-secret'), randomBytes).open(
          Buffer.from(totp.sealed, 'hex'),
          totp.userId,
        );
      if (account !== null) {
        const key = masterAccountKey(masterKey);
        const sealedSecrets = Buffer.from(account.sealed, 'hex');
        createAccountSeal([key], randomBytes).open({ keyName: key.name, sealedSecrets }, account);
      }
      return true;
    } catch {
      return false;
    }
  };
