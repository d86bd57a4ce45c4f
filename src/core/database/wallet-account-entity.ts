import { defineEntity, p } from '@mikro-orm/core';
import type { InferEntity } from '@mikro-orm/core';
import type { StoredId } from '../../contract/public-id.ts';
import type { Environment } from '../domain/order.ts';
import type { WalletAccountCheck, WalletAccountState } from '../domain/wallet-account.ts';

/** A merchant's own account at a wallet. Its values replace settings of the operator. */
export const WalletAccountRow = defineEntity({
  name: 'WalletAccountRow',
  tableName: 'wallet_accounts',
  schema: 'core',
  properties: {
    merchantId: p.uuid().$type<StoredId<'mer'>>().primary(),
    id: p.uuid().$type<StoredId<'wac'>>().primary(),
    environment: p.string().columnType('core.environment').$type<Environment>(),
    wallet: p.text(),
    state: p.text().$type<WalletAccountState>(),
    /** The values that are no secrets, by the names of their fields. */
    openValues: p.json<Record<string, string>>(),
    /** The last characters of each secret, by the names of their fields. */
    endings: p.json<Record<string, string>>(),
    /** The key that encrypted the secrets, by its name in the settings. */
    keyName: p.text(),
    /** The secrets by the names of their fields, as encrypted JSON. */
    sealedSecrets: p.blob(),
    checkResult: p.text().$type<WalletAccountCheck>(),
    checkDetail: p.text().default(''),
    checkedAt: p.datetime(3).nullable(),
    /** When the credentials are to be tried; null when no check is due. */
    checkDueAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    promotedAt: p.datetime(3).nullable(),
  },
});
export type WalletAccountRow = InferEntity<typeof WalletAccountRow>;

/** The payee account that a merchant's own account names. The row remains when the own account is removed. */
export const PayeeAccountRow = defineEntity({
  name: 'PayeeAccountRow',
  tableName: 'payee_accounts',
  schema: 'core',
  properties: {
    merchantId: p.uuid().$type<StoredId<'mer'>>().primary(),
    walletAccountId: p.uuid().$type<StoredId<'wac'>>().primary(),
    environment: p.string().columnType('core.environment').$type<Environment>(),
    wallet: p.text(),
    /** Empty for the operator's account. */
    payee: p.text(),
  },
});
export type PayeeAccountRow = InferEntity<typeof PayeeAccountRow>;
