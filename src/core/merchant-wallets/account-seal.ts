import { createSecretSeal } from '../../platform/secret-seal.ts';
import type { NamedKey } from '../../platform/settings/named-keys.ts';

/** The secrets of an account by the names of their fields. */
export type AccountSecrets = Readonly<Record<string, string>>;

/** The identity of an account. It is authenticated with the ciphertext, so a copy in another row cannot be decrypted. */
export interface AccountName {
  readonly merchantId: string;
  readonly environment: string;
  readonly wallet: string;
  readonly id: string;
}

export interface SealedSecrets {
  /** The name of the key in the settings. */
  readonly keyName: string;
  readonly sealedSecrets: Buffer;
}

/** The secrets of an account cannot be decrypted. The message says what to do, and contains no part of a secret. */
export class AccountUnreadableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'AccountUnreadableError';
  }
}

export interface AccountSeal {
  /** The name of the key that encrypts. */
  readonly keyName: string;
  readonly seal: (secrets: AccountSecrets, name: AccountName) => SealedSecrets;
  /** @throws AccountUnreadableError when the key is missing or has changed, or the row belongs to another account */
  readonly open: (
    stored: { readonly keyName: string; readonly sealedSecrets: Uint8Array },
    name: AccountName,
  ) => AccountSecrets;
}

const ownerOf = ({ merchantId, environment, wallet, id }: AccountName): string =>
  [merchantId, environment, wallet, id].join('|');

/** Encrypts by AES-256-GCM with the first key, and decrypts with any of the keys. */
export function createAccountSeal(
  keys: readonly [NamedKey, ...NamedKey[]],
  randomBytes: (length: number) => Buffer,
): AccountSeal {
  const seals = new Map(keys.map(({ name, key }) => [name, createSecretSeal(key, randomBytes)]));
  const [{ name: keyName, key }] = keys;
  const sealing = createSecretSeal(key, randomBytes);
  return {
    keyName,
    seal: (secrets, name) => ({
      keyName,
      sealedSecrets: sealing.seal(JSON.stringify(secrets), ownerOf(name)),
    }),
    open({ keyName: usedKey, sealedSecrets }, name) {
      const known = seals.get(usedKey);
      if (known === undefined)
        throw new AccountUnreadableError(
          `the wallet account is encrypted with the key "${usedKey}", which is not in GATEHOUSE_WALLET_ACCOUNT_KEYS; ` +
            'add that key again after the others',
        );
      try {
        return JSON.parse(known.open(sealedSecrets, ownerOf(name))) as AccountSecrets;
      } catch (cause) {
        throw new AccountUnreadableError(
          `the wallet account cannot be decrypted with the key "${usedKey}", because that key or the stored bytes have changed; ` +
            'restore the former key in GATEHOUSE_WALLET_ACCOUNT_KEYS, or let the merchant add the account again',
          { cause },
        );
      }
    },
  };
}
