import { randomBytes } from 'node:crypto';
import type { PublicId } from '../contract/public-id.ts';
import type { ConfiguredWallet } from '../contract/wallets-file/read-wallets-file.ts';
import { countTry } from '../core/accounts/count-try.sql.ts';
import { createAccountSeal } from '../core/merchant-wallets/account-seal.ts';
import { createAccountStore } from '../core/merchant-wallets/account-store.ts';
import type { AccountStoreParts } from '../core/merchant-wallets/account-store.ts';
import { rememberPayees } from '../core/merchant-wallets/remember-payees.ts';
import type { Logger } from '../platform/logger.ts';
import type { DerivedKey, NamedKey } from '../platform/settings/named-keys.ts';
import { accountForms } from './account-forms.ts';
import { deriveKey } from './derive-key.ts';

export interface WalletAccountParts extends Omit<AccountStoreParts, 'seal'> {
  readonly configuredWallets: readonly ConfiguredWallet[];
  readonly masterKey: Buffer;
  /** The first one encrypts. The derived one is that of the master key. */
  readonly keys: readonly [NamedKey | DerivedKey, ...(NamedKey | DerivedKey)[]] | undefined;
}

/** Encrypts merchants' wallet accounts if the settings name no other key. */
export const masterAccountKey = (masterKey: Buffer): NamedKey => ({
  name: 'master',
  key: deriveKey(masterKey, 'wallet-account'),
});

/** The keys of the setting, with the derived key at its place, else at the end. The first one encrypts. */
export function accountKeys(
  masterKey: Buffer,
  keys: WalletAccountParts['keys'],
): readonly [NamedKey, ...NamedKey[]] {
  const derived = masterAccountKey(masterKey);
  const [first = derived, ...others] = (keys ?? []).map((each) => (each.key === undefined ? derived : each));
  return [first, ...others, derived];
}

/**
 * The checks of a merchant's credentials in an hour. Each asks a provider, which may refuse the gateway's address after many wrong
 * credentials, and with it all merchants.
 */
const maxChecksPerHour = 30;

/** The merchants' own wallet accounts. A key that is derived from the master key also decrypts them. It encrypts if it is the only one. */
export function createWalletAccounts({ masterKey, keys, configuredWallets, ...parts }: WalletAccountParts) {
  const forms = accountForms(configuredWallets);
  const seal = createAccountSeal(accountKeys(masterKey, keys), randomBytes);
  const store = createAccountStore({ ...parts, seal });
  return {
    ...store,
    /** The name of the key that encrypts. */
    keyName: seal.keyName,
    /** The settings that merchants can replace, by wallet. */
    forms,
    /** Counts a check. Above the limit, returns the wait in milliseconds; else undefined. */
    countCheck: (merchantId: PublicId<'mer'>) =>
      countTry(parts.database.pool, {
        counter: `wallet account checks/${merchantId}`,
        max: maxChecksPerHour,
        windowSeconds: 3600,
      }),
    /** Records the payee accounts of own accounts that have none yet. */
    rememberPayees: () => rememberPayees(parts.database.pool, forms),
    /** Encrypts accounts again that another key than the first has encrypted. */
    async resealAll(logger: Logger): Promise<void> {
      const { resealed, unreadable, problem } = await store.reseal();
      if (resealed > 0) logger.info({ resealed }, 'wallet accounts were encrypted again with the first key');
      if (problem !== undefined)
        logger.error(
          { err: problem, unreadable },
          'a wallet account cannot be decrypted, so payments of its merchant wait; restore its key in GATEHOUSE_WALLET_ACCOUNT_KEYS',
        );
    },
  };
}
