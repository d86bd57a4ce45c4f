import { LockMode } from '@mikro-orm/postgresql';
import type { Database } from '../database/database.ts';
import { WalletAccountRow } from '../database/wallet-account-entity.ts';
import { AccountUnreadableError } from './account-seal.ts';
import type { AccountSeal } from './account-seal.ts';

export interface Resealed {
  readonly resealed: number;
  /** The number of accounts that cannot be decrypted and remain as they are. */
  readonly unreadable: number;
  /** Why the first of them cannot be decrypted. */
  readonly problem?: AccountUnreadableError;
}

/** Encrypts the accounts that other keys encrypted again with the first key. Rejects after an error of the database, and can be repeated. */
export async function resealAccounts(database: Database, seal: AccountSeal): Promise<Resealed> {
  let resealed = 0;
  let unreadable = 0;
  let problem: AccountUnreadableError | undefined;
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
      if (!(error instanceof AccountUnreadableError)) throw error;
      unreadable += 1;
      problem ??= error;
    }
  }
  return { resealed, unreadable, ...(problem === undefined ? {} : { problem }) };
}
