import { timingSafeEqual } from 'node:crypto';
import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';

/** The values that a key derived from the master key has encrypted, one of each kind; null without one. */
export interface EncryptedValues {
  readonly totp: { readonly userId: string; readonly sealed: string } | null;
  readonly account: {
    readonly merchantId: string;
    readonly environment: string;
    readonly wallet: string;
    readonly id: string;
    readonly sealed: string;
  } | null;
}

export interface MasterKeyParts {
  /** Derived from the master key, and stored in its database. */
  readonly check: Buffer;
  /** Whether keys derived from the master key decrypt the values. True if there are none. */
  readonly decrypts: (values: EncryptedValues) => boolean;
}

/** Null before the first core that records it. Empty when an operator has accepted that the key is lost. */
const readCheck = async (pool: Pool): Promise<Buffer | null> => {
  const [row] = await runStatement<{ check: Buffer | null }>(pool, {
    text: 'select master_key_check as check from core.database_life',
  });
  return row?.check ?? null;
};

/** Whether the database was used with this master key. */
export async function hasMasterKey(pool: Pool, { check }: Pick<MasterKeyParts, 'check'>): Promise<boolean> {
  const stored = await readCheck(pool);
  return stored?.length === check.length && timingSafeEqual(stored, check);
}

/**
 * Records the master key in a database that has none recorded, and returns whether the database was used with this key. A database of an
 * earlier version shows its key by the values that are encrypted in it.
 */
export async function adoptMasterKey(pool: Pool, parts: MasterKeyParts): Promise<boolean> {
  const stored = await readCheck(pool);
  if (stored === null && !parts.decrypts(await readEncrypted(pool))) return false;
  if (stored === null || stored.length === 0)
    await pool.query(
      "update core.database_life set master_key_check = $1 where coalesce(master_key_check, '') = ''",
      [parts.check],
    );
  return hasMasterKey(pool, parts);
}

/** The newest value of each kind. */
async function readEncrypted(pool: Pool): Promise<EncryptedValues> {
  const [row] = await runStatement<EncryptedValues>(pool, {
    text: `
select (
  select json_build_object('userId', id, 'sealed', encode(totp_secret, 'hex'))
  from core.users where totp_enabled_at is not null order by totp_enabled_at desc limit 1
) as totp, (
  select json_build_object(
    'merchantId', merchant_id, 'environment', environment, 'wallet', wallet, 'id', id, 'sealed', encode(sealed_secrets, 'hex')
  )
  from core.wallet_accounts where key_name = 'master' order by created_at desc limit 1
) as account`,
  });
  return row ?? { totp: null, account: null };
}
