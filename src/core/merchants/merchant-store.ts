import { LockMode } from '@mikro-orm/postgresql';
import type { Database } from '../database/database.ts';
import { MerchantRow } from '../database/entities.ts';
import { publicId, storedId } from '../../runtime/public-id.ts';
import type { NewId } from '../../runtime/public-id.ts';
import type { Actor } from '../../runtime/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit-use-case.ts';
import type { MerchantTerms } from './find-merchant-use-case.ts';

/** A merchant as it stands; the id as it is shown. */
export type Merchant = Omit<MerchantRow, symbol>;

export interface NewMerchant {
  readonly name: string;
  readonly productionActivated: boolean;
  readonly sessionLifetimeSeconds: number;
}

/** A change of a merchant: what it is called in the audit log, and what it sets. Setting what is set already changes nothing. */
export interface MerchantChange {
  readonly action: string;
  readonly set: Partial<Pick<Merchant, 'status' | 'productionActivated'>>;
  readonly details: Readonly<Record<string, string>>;
}

export interface MerchantStore {
  readonly create: (merchant: NewMerchant, by: Actor) => Promise<Merchant>;
  readonly find: (merchantId: string) => Promise<Merchant | undefined>;
  readonly terms: (merchantId: string) => Promise<MerchantTerms | undefined>;
  /** Newest first, older than `beforeId`. */
  readonly list: (beforeId: string | undefined, limit: number) => Promise<Merchant[]>;
  readonly change: (merchantId: string, change: MerchantChange, by: Actor) => Promise<Merchant | undefined>;
}

export interface MerchantStoreOptions {
  readonly database: Database;
  readonly newId: NewId;
  readonly now: () => Date;
}

const merchantOf = (row: MerchantRow): Merchant => ({ ...row, id: publicId('mer', row.id) });

export function createMerchantStore({ database, newId, now }: MerchantStoreOptions): MerchantStore {
  const find = async (merchantId: string): Promise<Merchant | undefined> => {
    const row = await database.fork().findOne(MerchantRow, { id: storedId('mer', merchantId) });
    return row === null ? undefined : merchantOf(row);
  };
  return {
    async create({ name, productionActivated, sessionLifetimeSeconds }, by) {
      const at = now();
      const id = newId('mer', at);
      return database.fork().transactional(async (em) => {
        const row = em.create(MerchantRow, {
          id: storedId('mer', id),
          name,
          status: 'ACTIVE',
          productionActivated,
          sessionLifetimeSeconds,
          createdAt: at,
          updatedAt: at,
        });
        const details = { name, production_activated: productionActivated };
        recordAudit(em, newId, at, by, { action: 'merchant.create', merchantId: id, targetId: id, details });
        return merchantOf(row);
      });
    },
    find,
    async terms(merchantId) {
      const merchant = await find(merchantId);
      if (merchant === undefined) return undefined;
      const { name, status, productionActivated, sessionLifetimeSeconds } = merchant;
      return { name, status, productionActivated, sessionLifetimeMs: sessionLifetimeSeconds * 1000 };
    },
    async list(beforeId, limit) {
      const older = beforeId === undefined ? {} : { id: { $lt: storedId('mer', beforeId) } };
      const rows = await database.fork().find(MerchantRow, older, { orderBy: { id: 'desc' }, limit });
      return rows.map(merchantOf);
    },
    async change(merchantId, { action, set, details }, by) {
      return database.fork().transactional(async (em) => {
        const row = await em.findOne(
          MerchantRow,
          { id: storedId('mer', merchantId) },
          { lockMode: LockMode.PESSIMISTIC_WRITE },
        );
        if (row === null) return undefined;
        if (
          (set.status ?? row.status) !== row.status ||
          (set.productionActivated ?? row.productionActivated) !== row.productionActivated
        ) {
          const at = now();
          em.assign(row, { ...set, updatedAt: at });
          recordAudit(em, newId, at, by, { action, merchantId, targetId: merchantId, details });
        }
        return merchantOf(row);
      });
    },
  };
}
