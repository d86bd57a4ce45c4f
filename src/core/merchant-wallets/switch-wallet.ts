import { LockMode } from '@mikro-orm/postgresql';
import type { NewId, PublicId } from '../../contract/public-id.ts';
import { storedId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit.ts';
import type { Database } from '../database/database.ts';
import { MerchantRow } from '../database/merchant-entities.ts';
import type { Environment } from '../domain/order.ts';

export interface WalletSwitch {
  readonly merchantId: PublicId<'mer'>;
  readonly environment: Environment;
  readonly wallet: string;
  readonly on: boolean;
}

/** Records a merchant's choice about a wallet. False when there is no such merchant. A repeat changes nothing. */
export type SwitchWallet = (change: WalletSwitch, by: Actor) => Promise<boolean>;

export interface SwitchWalletParts {
  readonly database: Database;
  readonly newId: NewId;
  readonly now: () => Date;
}

const columns = { SANDBOX: 'sandboxWalletsOff', PRODUCTION: 'productionWalletsOff' } as const;

export const createSwitchWallet =
  ({ database, newId, now }: SwitchWalletParts): SwitchWallet =>
  ({ merchantId, environment, wallet, on }, by) =>
    database.fork().transactional(async (em) => {
      const row = await em.findOne(
        MerchantRow,
        { id: storedId('mer', merchantId) },
        { lockMode: LockMode.PESSIMISTIC_WRITE },
      );
      if (row === null) return false;
      const column = columns[environment];
      const off = row[column];
      if (off.includes(wallet) !== on) return true;
      row[column] = on ? off.filter((each) => each !== wallet) : [...off, wallet].sort();
      const at = now();
      // Later with each change, as the other changes of a merchant have it.
      row.updatedAt = new Date(Math.max(at.getTime(), row.updatedAt.getTime() + 1));
      recordAudit(em, newId, at, by, {
        action: on ? 'merchant_wallet.switch_on' : 'merchant_wallet.switch_off',
        merchantId,
        targetId: merchantId,
        details: { environment, wallet },
      });
      return true;
    });
