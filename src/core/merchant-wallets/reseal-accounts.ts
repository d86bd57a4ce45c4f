import { LockMode } from '@mikro-orm/postgresql';
import type { Database } from '../database/database.ts';
import { WalletAccountRow } from '../database/wallet-account-entity.ts';
import type { AccountSeal } from './account-seal.ts';

export interface Resealed {
  readonly resealed: number;
  /** Why the first of the accounts that cannot be decrypted cannot. */
  readonly problem?: Error;
}

/** Encrypts accounts of other keys with the first key. An account that cannot be decrypted remains as it is. */
export async function resealAccounts(database: Database, seal: AccountSeal): Promise<Resealed> {
  let resealed = 0;
  let problem: Error | undefined;
  const others = { keyName: { $ne: seal.keyName } };
  const found = await database.fork().find(WalletAccountRow, others, { fields: ['merchantId', 'id'] });
  for (const { merchantId, id } of found) {
    try {
      await database.fork().transactional(async (em) => {
        const row = await em.findOne(
          WalletAccountRow,
          { merchantId, id },
          { lockMode: LockMode.PESSIMISTIC_WRITE },
        );
        if (row !== null) Object.assign(row, seal.seal(seal.open(row, row), row));
      });
      resealed += 1;
    } catch (error) {
      problem ??= error instanceof Error ? error : new Error(String(error));
    }
  }
  return { resealed, ...(problem === undefined ? {} : { problem }) };
}
