import { isDeepStrictEqual } from 'node:util';
import { LockMode } from '@mikro-orm/postgresql';
import type { Database } from '../database/database.ts';
import { MerchantRow } from '../database/entities.ts';
import { publicId, storedId } from '../../runtime/public-id.ts';
import type { NewId } from '../../runtime/public-id.ts';
import type { Actor } from '../../runtime/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit-use-case.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import type { MerchantContact, MerchantTerms } from './find-merchant-use-case.ts';
import type { AgreedTerms } from '../domain/merchant-terms.ts';

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
  readonly set: Partial<Omit<Merchant, 'id' | 'createdAt' | 'updatedAt'>>;
  readonly details: Readonly<Record<string, string | number>>;
  /** The merchant's `updatedAt` that the change was made from; any when absent. */
  readonly expectedAt?: Date;
}

export interface MerchantStore {
  readonly create: (merchant: NewMerchant, by: Actor) => Promise<Merchant>;
  readonly find: (merchantId: string) => Promise<Merchant | undefined>;
  readonly terms: (merchantId: string) => Promise<MerchantTerms | undefined>;
  /** Newest first, older than `beforeId`. */
  readonly list: (beforeId: string | undefined, limit: number) => Promise<Merchant[]>;
  readonly change: (
    merchantId: string,
    change: MerchantChange,
    by: Actor,
  ) => Promise<Result<Merchant, 'not_found' | 'changed_meanwhile'>>;
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
          largestAmounts: {},
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
      const sessionLifetimeMs = sessionLifetimeSeconds * 1000;
      const contact = contactOf(merchant);
      return { name, contact, status, productionActivated, sessionLifetimeMs, ...termsOf(merchant) };
    },
    async list(beforeId, limit) {
      const older = beforeId === undefined ? {} : { id: { $lt: storedId('mer', beforeId) } };
      const rows = await database.fork().find(MerchantRow, older, { orderBy: { id: 'desc' }, limit });
      return rows.map(merchantOf);
    },
    async change(merchantId, { action, set, details, expectedAt }, by) {
      return database.fork().transactional(async (em) => {
        const row = await em.findOne(
          MerchantRow,
          { id: storedId('mer', merchantId) },
          { lockMode: LockMode.PESSIMISTIC_WRITE },
        );
        if (row === null) return err('not_found');
        if (expectedAt !== undefined && expectedAt.getTime() !== row.updatedAt.getTime())
          return err('changed_meanwhile');
        const before: Partial<Merchant> = row;
        const isChange = Object.entries(set).some(
          ([name, value]) => !isDeepStrictEqual(value, before[name as keyof Merchant]),
        );
        if (isChange) {
          // Two changes of one millisecond are two changes: whoever made one from before either must be told.
          const at = new Date(Math.max(now().getTime(), row.updatedAt.getTime() + 1));
          em.assign(row, { ...set, updatedAt: at }, { mergeObjectProperties: false });
          recordAudit(em, newId, at, by, { action, merchantId, targetId: merchantId, details });
        }
        return ok(merchantOf(row));
      });
    },
  };
}

export const contactOf = ({ contactPhone, contactEmail }: Merchant): MerchantContact => ({
  phone: contactPhone,
  email: contactEmail,
});

/** What is agreed with the merchant. */
export const termsOf = (merchant: Merchant): AgreedTerms => ({
  paymentOptions: {
    SANDBOX: merchant.sandboxPaymentOptions,
    PRODUCTION: merchant.productionPaymentOptions,
  },
  currencies: merchant.currencies,
  largestAmounts: merchant.largestAmounts,
  requestsPerSecond: merchant.requestsPerSecond,
});
