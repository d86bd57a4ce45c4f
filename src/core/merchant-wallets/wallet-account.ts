import type { EntityManager } from '@mikro-orm/postgresql';
import type { NewId, PublicId } from '../../contract/public-id.ts';
import { publicId, storedId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { WalletAccountRow } from '../database/wallet-account-entity.ts';

/** A merchant's own account, without its secrets. */
export type WalletAccount = Omit<WalletAccountRow, symbol | 'keyName' | 'sealedSecrets' | 'checkDueAt'>;

export interface AccountKey {
  readonly merchantId: PublicId<'mer'>;
  readonly accountId: PublicId<'wac'>;
}

export const storedKey = ({ merchantId, accountId }: AccountKey) => ({
  merchantId: storedId('mer', merchantId),
  id: storedId('wac', accountId),
});

export function withoutSecrets(row: WalletAccountRow): WalletAccount {
  const { keyName: _key, sealedSecrets: _secrets, checkDueAt: _due, ...account } = row;
  return account;
}

/** The audit entry of a change. It names the account's settings, and contains none of their values. */
export function auditAccount(em: EntityManager, newId: NewId, { action, row, at, by }: AccountAudit): void {
  const fields = [...Object.keys(row.openValues), ...Object.keys(row.endings)].sort();
  recordAudit(em, newId, at, by, {
    action: `wallet_account.${action}`,
    merchantId: publicId('mer', row.merchantId),
    targetId: publicId('wac', row.id),
    details: { environment: row.environment, wallet: row.wallet, fields: fields.join(', ') },
  });
}

export interface AccountAudit {
  readonly action: 'add' | 'check' | 'promote' | 'retire' | 'remove';
  readonly row: WalletAccount;
  readonly at: Date;
  readonly by: Actor;
}
