import { LockMode } from '@mikro-orm/postgresql';
import type { PublicId } from '../../contract/public-id.ts';
import { storedId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { readClock } from '../database/read-clock.ts';
import { WalletAccountRow } from '../database/wallet-account-entity.ts';
import type { Environment } from '../domain/order.ts';
import type { Result } from '../domain/result.ts';
import type { WalletAccountCheck } from '../domain/wallet-account.ts';
import { addAccount } from './add-account.ts';
import type { AddAccountParts, AddRefusal, NewAccount } from './add-account.ts';
import { createAccountChanges } from './change-account.ts';
import type { AccountChanges, AccountChangesParts } from './change-account.ts';
import { hastenReversals } from './hasten-reversals.sql.ts';
import { canOpen, readUnreadable } from './read-unreadable.ts';
import type { UnreadableAccount } from './read-unreadable.ts';
import { resealAccounts } from './reseal-accounts.ts';
import type { Resealed } from './reseal-accounts.ts';
import { storedKey, withoutSecrets } from './wallet-account.ts';
import type { AccountKey, WalletAccount } from './wallet-account.ts';

/** A merchant's accounts at wallets. Every change is one transaction with its audit entry, which contains no secret. */
export interface AccountStore extends AccountChanges {
  /** Newest first. */
  readonly list: (merchantId: PublicId<'mer'>, environment: Environment) => Promise<WalletAccount[]>;
  /** Adds the next account, in place of an earlier next one. An account that was lost in a restore gets its id again. */
  readonly add: (account: NewAccount, by: Actor) => Promise<Result<WalletAccount, AddRefusal>>;
  /** Accounts whose check is due. The check is due again after a minute without a result. */
  readonly leaseChecks: (environment: Environment, wallet: string, limit: number) => Promise<WalletAccount[]>;
  /** False for an unknown account. If the credentials were accepted, reversals that could not be sent with the account become due. */
  readonly recordCheck: (
    key: AccountKey,
    result: Exclude<WalletAccountCheck, 'WAITING'>,
    detail: string,
  ) => Promise<boolean>;
  /** All values of an account, secrets included. @throws AccountUnreadableError */
  readonly settings: (
    key: AccountKey,
  ) => Promise<(WalletAccount & { readonly values: Readonly<Record<string, string>> }) | undefined>;
  /** REFUSED when the provider refused its credentials, and UNREADABLE when it cannot be decrypted. */
  readonly problem: (key: AccountKey) => Promise<'REFUSED' | 'UNREADABLE' | undefined>;
  /** The accounts that cannot be decrypted, the oldest first. At most a hundred accounts of each key are tried. */
  readonly unreadable: () => Promise<UnreadableAccount[]>;
  /** Encrypts accounts of other keys with the first key. */
  readonly reseal: () => Promise<Resealed>;
}

export interface AccountStoreParts extends AddAccountParts, AccountChangesParts {}

const checkLeaseMs = 60_000;

export function createAccountStore(parts: AccountStoreParts): AccountStore {
  const { database, seal, now } = parts;
  return {
    ...createAccountChanges(parts),

    async list(merchantId, environment) {
      const where = { merchantId: storedId('mer', merchantId), environment };
      const rows = await database.fork().find(WalletAccountRow, where, { orderBy: { id: 'desc' } });
      return rows.map(withoutSecrets);
    },

    async add(account, by) {
      const added = await database.fork().transactional((em) => addAccount(em, parts, account, by));
      if (added.ok) parts.onCheckDue();
      return added;
    },

    leaseChecks: (environment, wallet, limit) =>
      database.fork().transactional(async (em) => {
        const at = await readClock(em);
        const rows = await em.find(
          WalletAccountRow,
          { environment, wallet, checkDueAt: { $lte: at } },
          { orderBy: { checkDueAt: 'asc' }, limit, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
        );
        for (const row of rows) row.checkDueAt = new Date(at.getTime() + checkLeaseMs);
        return rows.map(withoutSecrets);
      }),

    async recordCheck(key, checkResult, checkDetail) {
      const isKnown = await database.fork().transactional(async (em) => {
        const row = await em.findOne(WalletAccountRow, storedKey(key), {
          lockMode: LockMode.PESSIMISTIC_WRITE,
        });
        if (row === null) return false;
        Object.assign(row, { checkResult, checkDetail, checkedAt: now(), checkDueAt: null });
        if (checkResult === 'ACCEPTED') await hastenReversals(em, row, await readClock(em));
        return true;
      });
      if (isKnown && checkResult === 'ACCEPTED') parts.onCheckDue();
      return isKnown;
    },

    async settings(key) {
      const row = await database.fork().findOne(WalletAccountRow, storedKey(key));
      if (row === null) return undefined;
      return { ...withoutSecrets(row), values: { ...row.openValues, ...seal.open(row, row) } };
    },

    async problem(key) {
      const row = await database.fork().findOne(WalletAccountRow, storedKey(key));
      if (row === null) return undefined;
      if (!canOpen(seal, row)) return 'UNREADABLE';
      return row.checkResult === 'REFUSED' ? 'REFUSED' : undefined;
    },

    unreadable: () => readUnreadable(database.pool, seal),
    reseal: () => resealAccounts(database, seal),
  };
}
