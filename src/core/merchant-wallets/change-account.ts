import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { NewId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import type { Database } from '../database/database.ts';
import { MerchantRow } from '../database/merchant-entities.ts';
import { PayeeAccountRow, WalletAccountRow } from '../database/wallet-account-entity.ts';
import { wasAccountLost } from '../database/was-account-lost.sql.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { promoteAccount, removeAccount, retireAccount } from '../domain/wallet-account.ts';
import type { AccountUse } from '../domain/wallet-account.ts';
import { addAccountChange } from './account-change.sql.ts';
import { countUse } from './count-use.sql.ts';
import { auditAccount, storedKey, withoutSecrets } from './wallet-account.ts';
import type { AccountAudit, AccountKey, WalletAccount } from './wallet-account.ts';

/** The changes of an account that exists. Each is one transaction with its audit entry. */
export interface AccountChanges {
  /** Makes a check due. */
  readonly check: (key: AccountKey, by: Actor) => Promise<Result<WalletAccount, 'not_found'>>;
  /** Uses the account for new payments. `not_checked` when the provider has not accepted its credentials. */
  readonly promote: (
    key: AccountKey,
    by: Actor,
  ) => Promise<Result<WalletAccount, 'not_found' | 'not_checked'>>;
  /** Ends the use of the account for new payments. `not_current` when none uses it yet. */
  readonly retire: (
    key: AccountKey,
    by: Actor,
  ) => Promise<Result<WalletAccount, 'not_found' | 'not_current'>>;
  /** Removes the account with its secrets. Refused for the current account, and while open payments or reversals need it. */
  readonly remove: (
    key: AccountKey,
    by: Actor,
  ) => Promise<Result<null, 'not_found' | 'is_current' | { readonly openUse: AccountUse }>>;
}

export interface AccountChangesParts {
  readonly database: Database;
  readonly newId: NewId;
  readonly now: () => Date;
  /** Called when a check or a return became due. */
  readonly onCheckDue: () => void;
}

const noUse: AccountUse = { openPayments: 0, openReversals: 0 };

export function createAccountChanges({
  database,
  newId,
  now,
  onCheckDue,
}: AccountChangesParts): AccountChanges {
  const audit = (em: EntityManager, entry: AccountAudit): void => auditAccount(em, newId, entry);
  /** Locks the merchant, so that its accounts change one after the other, and then the account. */
  const change = <T, E>(
    key: AccountKey,
    decide: (em: EntityManager, row: WalletAccountRow, at: Date) => Promise<Result<T, E>>,
  ): Promise<Result<T, E | 'not_found'>> =>
    database.fork().transactional(async (em) => {
      const { merchantId: id } = storedKey(key);
      await em.findOne(MerchantRow, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
      const row = await em.findOne(WalletAccountRow, storedKey(key), {
        lockMode: LockMode.PESSIMISTIC_WRITE,
      });
      return row === null ? err('not_found' as const) : decide(em, row, now());
    });

  return {
    async check(key, by) {
      const due = await change<WalletAccount, never>(key, async (em, row, at) => {
        Object.assign(row, { checkResult: 'WAITING', checkDetail: '', checkDueAt: at });
        audit(em, { action: 'check', row, at, by });
        return ok(withoutSecrets(row));
      });
      if (due.ok) onCheckDue();
      return due;
    },

    promote: (key, by) =>
      change(key, async (em, row, at) => {
        const promoted = promoteAccount(row);
        if (!promoted.ok) return promoted;
        if (row.state === promoted.value) return ok(withoutSecrets(row));
        await retireCurrent(em, row);
        Object.assign(row, { state: promoted.value, promotedAt: at });
        await addAccountChange(em, row, { isCurrent: true }, at);
        audit(em, { action: 'promote', row, at, by });
        return ok(withoutSecrets(row));
      }),

    retire: (key, by) =>
      change(key, async (em, row, at) => {
        const retired = retireAccount(row);
        if (!retired.ok) return retired;
        if (row.state === retired.value) return ok(withoutSecrets(row));
        row.state = retired.value;
        await addAccountChange(em, row, { isCurrent: false }, at);
        audit(em, { action: 'retire', row, at, by });
        return ok(withoutSecrets(row));
      }),

    remove: (key, by) =>
      change(key, async (em, row, at) => {
        const openUse = await countUse(em, row);
        // Without credentials that were accepted, its payments wait as they did before it was added again.
        const isStillLost = row.checkResult !== 'ACCEPTED' && (await wasAccountLost(em, row));
        const removed = removeAccount(row, isStillLost ? noUse : openUse);
        if (!removed.ok) return err(removed.error === 'is_current' ? ('is_current' as const) : { openUse });
        audit(em, { action: 'remove', row, at, by });
        // A payee would say that the account was here, and that its payments cannot be returned.
        if (isStillLost)
          await em.nativeDelete(PayeeAccountRow, { merchantId: row.merchantId, walletAccountId: row.id });
        em.remove(row);
        return ok(null);
      }),
  };
}

/** Only one account may be current at any time, so this statement comes before the promotion. */
async function retireCurrent(
  em: EntityManager,
  { merchantId, environment, wallet }: WalletAccount,
): Promise<void> {
  const current = await em.findOne(WalletAccountRow, { merchantId, environment, wallet, state: 'CURRENT' });
  if (current === null) return;
  current.state = 'RETIRED';
  await em.flush();
}
