import type { Pool } from 'pg';
import { publicId } from '../../contract/public-id.ts';
import type { PublicId, StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Environment } from '../domain/order.ts';
import { AccountUnreadableError } from './account-seal.ts';
import type { AccountName, AccountSeal } from './account-seal.ts';

/** A wallet account that cannot be decrypted. */
export interface UnreadableAccount {
  readonly merchantId: PublicId<'mer'>;
  readonly accountId: PublicId<'wac'>;
  readonly wallet: string;
  readonly environment: Environment;
  /** The name of the key that encrypted it, which is missing or has another value. */
  readonly keyName: string;
}

/** All accounts of a key are unreadable without it, so a part of them is enough. */
const triedOfKey = 100;

const statement = `
select merchant_id as "merchantId", id, wallet, environment, key_name as "keyName", sealed_secrets as "sealedSecrets"
from (select *, row_number() over (partition by key_name order by id) as position from core.wallet_accounts) each
where position <= ${triedOfKey}
order by id`;

interface Row extends Omit<UnreadableAccount, 'merchantId' | 'accountId'>, Record<string, unknown> {
  readonly merchantId: StoredId<'mer'>;
  readonly id: StoredId<'wac'>;
  readonly sealedSecrets: Buffer;
}

/** The accounts that cannot be decrypted, the oldest first. At most a hundred accounts of each key are tried. */
export async function readUnreadable(
  pool: Pool,
  seal: Pick<AccountSeal, 'open'>,
): Promise<UnreadableAccount[]> {
  const rows = await runStatement<Row>(pool, { text: statement });
  return rows
    .filter((row) => !canOpen(seal, row))
    .map(({ merchantId, id, wallet, environment, keyName }) => ({
      merchantId: publicId('mer', merchantId),
      accountId: publicId('wac', id),
      wallet,
      environment,
      keyName,
    }));
}

/** Whether the secrets of an account can be decrypted. */
export function canOpen(
  seal: Pick<AccountSeal, 'open'>,
  account: AccountName & Parameters<AccountSeal['open']>[0],
): boolean {
  try {
    seal.open(account, account);
    return true;
  } catch (error) {
    if (error instanceof AccountUnreadableError) return false;
    throw error;
  }
}
