import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { NewId, PublicId, StoredId } from '../../contract/public-id.ts';
import { publicId, storedId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Database } from '../database/database.ts';
import { MerchantRow } from '../database/merchant-entities.ts';
import { readClock } from '../database/read-clock.ts';
import { PayeeAccountRow, WalletAccountRow } from '../database/wallet-account-entity.ts';
import type { Environment } from '../domain/order.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { promoteAccount, removeAccount, retireAccount } from '../domain/wallet-account.ts';
import type { AccountUse, WalletAccountCheck } from '../domain/wallet-account.ts';
import { addAccountChange } from './account-change.sql.ts';
import type { AccountSeal, AccountSecrets } from './account-seal.ts';
import { countUse } from './count-use.sql.ts';
import { findLostAccounts, wasLost } from './lost-account.sql.ts';

/** A merchant's own account, without its secrets. */
export type WalletAccount = Omit<WalletAccountRow, symbol | 'keyName' | 'sealedSecrets' | 'checkDueAt'>;

export interface AccountKey {
  readonly merchantId: PublicId<'mer'>;
  readonly accountId: PublicId<'wac'>;
}

export interface NewAccount {
  readonly merchantId: PublicId<'mer'>;
  readonly environment: Environment;
  readonly wallet: string;
  readonly openValues: Readonly<Record<string, string>>;
  readonly secrets: AccountSecrets;
  /** The name of the account that gets the money; empty for the operator's. */
  readonly payee: string;
  /** The id of an account that a restore lost. Without one, the account takes the id of a lost account with its payee, if there is one. */
  readonly lostAccountId: PublicId<'wac'> | undefined;
}

/** `not_lost`: no restore has lost an account of that id. `payee`: it had this payee, which the values do not give. */
export type AddRefusal = 'merchant_not_found' | 'too_many' | 'not_lost' | { readonly payee: string };

/** A merchant's accounts at wallets. Every change is one transaction with its audit entry, which contains no secret. */
export interface AccountStore {
  /** Newest first. */
  readonly list: (merchantId: PublicId<'mer'>, environment: Environment) => Promise<WalletAccount[]>;
  /** Adds the next account, in place of an earlier next one. One that a restore lost gets its id again. */
  readonly add: (account: NewAccount, by: Actor) => Promise<Result<WalletAccount, AddRefusal>>;
  /** Makes a check due. */
  readonly check: (key: AccountKey, by: Actor) => Promise<Result<WalletAccount, 'not_found'>>;
  readonly promote: (
    key: AccountKey,
    by: Actor,
  ) => Promise<Result<WalletAccount, 'not_found' | 'not_checked'>>;
  readonly retire: (
    key: AccountKey,
    by: Actor,
  ) => Promise<Result<WalletAccount, 'not_found' | 'not_current'>>;
  readonly remove: (
    key: AccountKey,
    by: Actor,
  ) => Promise<Result<null, 'not_found' | 'is_current' | { readonly openUse: AccountUse }>>;
  /** Accounts whose check is due. The check is due again after a minute without a result. */
  readonly leaseChecks: (environment: Environment, wallet: string, limit: number) => Promise<WalletAccount[]>;
  readonly recordCheck: (
    key: AccountKey,
    result: Exclude<WalletAccountCheck, 'WAITING'>,
    detail: string,
  ) => Promise<boolean>;
  /** All values of an account, secrets included. @throws AccountUnreadableError */
  readonly settings: (
    key: AccountKey,
  ) => Promise<(WalletAccount & { readonly values: Readonly<Record<string, string>> }) | undefined>;
  /** Encrypts accounts of other keys with the first key. Returns how many, and the first that cannot be decrypted. */
  readonly reseal: () => Promise<{ readonly resealed: number; readonly problem?: Error }>;
}

export interface AccountStoreParts {
  readonly database: Database;
  readonly seal: AccountSeal;
  readonly newId: NewId;
  readonly now: () => Date;
  /** Called when a check became due. */
  readonly onCheckDue: () => void;
}

/** The most accounts of a merchant at one wallet in one environment, retired ones included. */
const maxAccounts = 10;
const checkLeaseMs = 60_000;
const noUse: AccountUse = { openPayments: 0, openReversals: 0 };

export function createAccountStore({
  database,
  seal,
  newId,
  now,
  onCheckDue,
}: AccountStoreParts): AccountStore {
  const keyOf = ({ merchantId, accountId }: AccountKey) => ({
    merchantId: storedId('mer', merchantId),
    id: storedId('wac', accountId),
  });
  const audit = (em: EntityManager, action: string, row: WalletAccount, at: Date, by: Actor): void => {
    const fields = [...Object.keys(row.openValues), ...Object.keys(row.endings)].sort();
    recordAudit(em, newId, at, by, {
      action: `wallet_account.${action}`,
      merchantId: publicId('mer', row.merchantId),
      targetId: publicId('wac', row.id),
      details: { environment: row.environment, wallet: row.wallet, fields: fields.join(', ') },
    });
  };
  /** Locks the merchant, so that its accounts change one after the other, and then the account. */
  const change = <T, E>(
    key: AccountKey,
    decide: (em: EntityManager, row: WalletAccountRow, at: Date) => Promise<Result<T, E>>,
  ): Promise<Result<T, E | 'not_found'>> =>
    database.fork().transactional(async (em) => {
      const { merchantId: id } = keyOf(key);
      await em.findOne(MerchantRow, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
      const row = await em.findOne(WalletAccountRow, keyOf(key), { lockMode: LockMode.PESSIMISTIC_WRITE });
      return row === null ? err('not_found' as const) : decide(em, row, now());
    });
  const inUse = (
    em: EntityManager,
    { merchantId, environment, wallet }: WalletAccount,
    state: 'NEXT' | 'CURRENT',
  ) => em.findOne(WalletAccountRow, { merchantId, environment, wallet, state });

  return {
    async list(merchantId, environment) {
      const where = { merchantId: storedId('mer', merchantId), environment };
      const rows = await database.fork().find(WalletAccountRow, where, { orderBy: { id: 'desc' } });
      return rows.map(shown);
    },

    async add({ merchantId: merchant, environment, wallet, openValues, secrets, payee, ...again }, by) {
      const added = await database.fork().transactional(async (em) => {
        const merchantId = storedId('mer', merchant);
        const owner = await em.findOne(
          MerchantRow,
          { id: merchantId },
          { lockMode: LockMode.PESSIMISTIC_WRITE },
        );
        if (owner === null) return err('merchant_not_found' as const);
        const lost = await lostIdOf(em, { merchantId, environment, wallet, payee, ...again });
        if (!lost.ok) return lost;
        const all = await em.find(WalletAccountRow, { merchantId, environment, wallet });
        const replaced = all.find(({ state }) => state === 'NEXT');
        const isUsed = replaced !== undefined && (await wasLost(em, replaced));
        if ((replaced === undefined || isUsed) && all.length >= maxAccounts) return err('too_many' as const);
        if (replaced !== undefined) {
          if (isUsed) replaced.state = 'RETIRED';
          // No payment has used it.
          else em.remove(replaced);
          await em.flush();
        }
        const at = now();
        const id = lost.value ?? storedId('wac', newId('wac', at));
        const row = em.create(WalletAccountRow, {
          merchantId,
          id,
          environment,
          wallet,
          state: 'NEXT',
          openValues: { ...openValues },
          endings: Object.fromEntries(Object.entries(secrets).map(([name, text]) => [name, endingOf(text)])),
          ...seal.seal(secrets, { merchantId, environment, wallet, id }),
          checkResult: 'WAITING',
          checkDueAt: at,
          createdAt: at,
        });
        // A lost account that was added again and removed left its payee.
        await em.upsert(PayeeAccountRow, { merchantId, walletAccountId: id, environment, wallet, payee });
        audit(em, 'add', row, at, by);
        return ok(shown(row));
      });
      if (added.ok) onCheckDue();
      return added;
    },

    async check(key, by) {
      const due = await change<WalletAccount, never>(key, async (em, row, at) => {
        Object.assign(row, { checkResult: 'WAITING', checkDetail: '', checkDueAt: at });
        audit(em, 'check', row, at, by);
        return ok(shown(row));
      });
      if (due.ok) onCheckDue();
      return due;
    },

    promote: (key, by) =>
      change(key, async (em, row, at) => {
        const promoted = promoteAccount(row);
        if (!promoted.ok) return promoted;
        if (row.state === promoted.value) return ok(shown(row));
        const before = await inUse(em, row, 'CURRENT');
        if (before !== null) {
          before.state = 'RETIRED';
          // Two statements, because only one account may be current at any time.
          await em.flush();
        }
        Object.assign(row, { state: promoted.value, promotedAt: at });
        await addAccountChange(em, row, { isCurrent: true }, at);
        audit(em, 'promote', row, at, by);
        return ok(shown(row));
      }),

    retire: (key, by) =>
      change(key, async (em, row, at) => {
        const retired = retireAccount(row);
        if (!retired.ok) return retired;
        if (row.state === retired.value) return ok(shown(row));
        row.state = retired.value;
        await addAccountChange(em, row, { isCurrent: false }, at);
        audit(em, 'retire', row, at, by);
        return ok(shown(row));
      }),

    remove: (key, by) =>
      change(key, async (em, row, at) => {
        const openUse = await countUse(em, row);
        // Without credentials that were accepted, its payments wait as they did before it was added again.
        const isStillLost = row.checkResult !== 'ACCEPTED' && (await wasLost(em, row));
        const removed = removeAccount(row, isStillLost ? noUse : openUse);
        if (!removed.ok) return err(removed.error === 'is_current' ? ('is_current' as const) : { openUse });
        audit(em, 'remove', row, at, by);
        em.remove(row);
        return ok(null);
      }),

    leaseChecks: (environment, wallet, limit) =>
      database.fork().transactional(async (em) => {
        const at = await readClock(em);
        const rows = await em.find(
          WalletAccountRow,
          { environment, wallet, checkDueAt: { $lte: at } },
          { orderBy: { checkDueAt: 'asc' }, limit, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
        );
        for (const row of rows) row.checkDueAt = new Date(at.getTime() + checkLeaseMs);
        return rows.map(shown);
      }),

    recordCheck: (key, checkResult, checkDetail) =>
      database.fork().transactional(async (em) => {
        const row = await em.findOne(WalletAccountRow, keyOf(key), { lockMode: LockMode.PESSIMISTIC_WRITE });
        if (row === null) return false;
        Object.assign(row, { checkResult, checkDetail, checkedAt: now(), checkDueAt: null });
        return true;
      }),

    async settings(key) {
      const row = await database.fork().findOne(WalletAccountRow, keyOf(key));
      if (row === null) return undefined;
      return { ...shown(row), values: { ...row.openValues, ...seal.open(row, row) } };
    },

    async reseal() {
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
    },
  };
}

/** The id of the lost account that is added again; undefined for any other account. */
async function lostIdOf(
  em: EntityManager,
  {
    lostAccountId,
    payee,
    ...scope
  }: Pick<NewAccount, 'environment' | 'wallet' | 'payee' | 'lostAccountId'> & {
    readonly merchantId: StoredId<'mer'>;
  },
): Promise<Result<StoredId<'wac'> | undefined, 'not_lost' | { readonly payee: string }>> {
  const lost = await findLostAccounts(em, scope);
  if (lostAccountId === undefined) return ok(lost.find((each) => each.payee === payee)?.id);
  const asked = lost.find(({ id }) => id === storedId('wac', lostAccountId));
  if (asked === undefined) return err('not_lost');
  return asked.payee === null || asked.payee === payee ? ok(asked.id) : err({ payee: asked.payee });
}

/** The row without its secrets. */
function shown(row: WalletAccountRow): WalletAccount {
  const { keyName: _key, sealedSecrets: _secrets, checkDueAt: _due, ...account } = row;
  return account;
}

/** Short secrets show nothing, because four characters would be too large a part of them. */
const shortestShown = 12;

/** The last four characters of a secret. In PEM text those before the closing line. */
function endingOf(secret: string): string {
  const text = secret.replace(/-----[^-]*-----/g, '').trim();
  return text.length < shortestShown ? '' : text.slice(-4);
}
