import { UniqueConstraintViolationException } from '@mikro-orm/core';
import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { createBatcher } from '../../platform/batcher.ts';
import { findAllByKey } from '../../platform/database/find-by-key.ts';
import { batchLimits } from '../database/batch-limits.ts';
import type { Database } from '../database/database.ts';
import { containing } from '../database/containing.ts';
import { MerchantRow } from '../database/merchant-entities.ts';
import { publicId, storedId } from '../../contract/public-id.ts';
import type { NewId, PublicId } from '../../contract/public-id.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import {
  activateProduction,
  beginStanding,
  resumeMerchant,
  suspendMerchant,
  updateMerchant,
} from '../domain/merchant-life-cycle.ts';
import type { MerchantStanding } from '../domain/merchant-life-cycle.ts';
import type { MerchantContact, MerchantTerms } from './find-merchant.ts';
import type { AgreedTerms } from '../domain/merchant-terms.ts';
import { mayBeLost, wasLost } from './lost-merchant.sql.ts';

/** The state of a merchant, with its public id. */
export type Merchant = Omit<MerchantRow, symbol | 'id'> & { readonly id: PublicId<'mer'> };

export interface NewMerchant {
  readonly name: string;
  readonly productionActivated: boolean;
  readonly sessionLifetimeSeconds: number;
  /** The id of a merchant that a restore lost; undefined for a new merchant. */
  readonly lostId: PublicId<'mer'> | undefined;
}

/**
 * `may_be_lost`: it may be a merchant that a restore lost, and its customers could be charged again under another id. `not_lost`: no restore
 * can have lost a merchant of that id. `here`: the merchant of that id is here.
 */
export type CreateRefusal = 'may_be_lost' | 'not_lost' | 'here';

/** The commands that change a merchant's standing, by their names in the audit log. */
const standingCommands = {
  'merchant.suspend': suspendMerchant,
  'merchant.resume': resumeMerchant,
  'merchant.activate_production': activateProduction,
} as const;
export type StandingAction = keyof typeof standingCommands;

type AuditDetails = Readonly<Record<string, string | number>>;

/** The fields of a merchant to set. */
export interface MerchantUpdate {
  readonly set: Partial<
    Omit<Merchant, 'id' | 'createdAt' | 'updatedAt' | 'endedOrdersVersion' | keyof MerchantStanding>
  >;
  readonly details: AuditDetails;
  /** The `updatedAt` of the merchant that the editor read; if absent, any version is accepted. */
  readonly expectedAt?: Date;
}

/** The merchants. Each change is one transaction with its audit entry, and a change to the present state writes nothing. */
export interface MerchantStore {
  readonly create: (merchant: NewMerchant, by: Actor) => Promise<Result<Merchant, CreateRefusal>>;
  /** Undefined when there is no such merchant. Concurrent calls share a statement. */
  readonly find: (merchantId: PublicId<'mer'>) => Promise<Merchant | undefined>;
  /** Everything about a merchant that decides its requests. Undefined when there is no such merchant. */
  readonly terms: (merchantId: PublicId<'mer'>) => Promise<MerchantTerms | undefined>;
  /** Newest first, older than `beforeId`, with `text` in the name. */
  readonly list: (page: {
    readonly beforeId: PublicId<'mer'> | undefined;
    /** '' for all. */
    readonly text: string;
    readonly limit: number;
  }) => Promise<Merchant[]>;
  readonly changeStanding: (
    merchantId: PublicId<'mer'>,
    action: StandingAction,
    details: AuditDetails,
    by: Actor,
  ) => Promise<Result<Merchant, 'not_found'>>;
  /** Sets fields. `changed_meanwhile` when the merchant is newer than the one that the editor read. */
  readonly update: (
    merchantId: PublicId<'mer'>,
    update: MerchantUpdate,
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
  // Calls of one moment share a statement.
  const findTogether = createBatcher({
    ...batchLimits,
    name: 'find merchants',
    async run(ids: readonly PublicId<'mer'>[]) {
      const distinct = [...new Set(ids)];
      const rows = await findAllByKey(
        database.fork(),
        MerchantRow,
        distinct.map((id) => ({ id: storedId('mer', id) })),
      );
      const byId = new Map(rows.map((row) => [publicId('mer', row.id), merchantOf(row)]));
      return ids.map((id) => byId.get(id));
    },
  });
  const find = (merchantId: PublicId<'mer'>): Promise<Merchant | undefined> =>
    findTogether(merchantId, { aborted: false });
  /** Locks the merchant, calls `decide` for its next state, and writes that with its audit entry unless nothing changes. */
  const change = <Rejection>(
    merchantId: PublicId<'mer'>,
    action: string,
    details: AuditDetails,
    by: Actor,
    decide: (merchant: Merchant, at: Date) => Result<Merchant, Rejection>,
  ): Promise<Result<Merchant, Rejection | 'not_found'>> =>
    database.fork().transactional(async (em) => {
      const row = await em.findOne(
        MerchantRow,
        { id: storedId('mer', merchantId) },
        { lockMode: LockMode.PESSIMISTIC_WRITE },
      );
      if (row === null) return err('not_found' as const);
      const merchant = merchantOf(row);
      const decided = decide(merchant, now());
      if (!decided.ok || decided.value === merchant) return decided;
      const { updatedAt: at } = decided.value;
      em.assign(row, { ...decided.value, id: row.id }, { mergeObjectProperties: false });
      recordAudit(em, newId, at, by, { action, merchantId, targetId: merchantId, details });
      return ok(merchantOf(row));
    });

  return {
    async create({ name, productionActivated, sessionLifetimeSeconds, lostId }, by) {
      const at = now();
      const id = lostId ?? newId('mer', at);
      const created = database.fork().transactional(async (em): Promise<Result<Merchant, CreateRefusal>> => {
        const refusal = await refuseCreation(em, lostId);
        if (refusal !== undefined) return err(refusal);
        const row = em.create(MerchantRow, {
          id: storedId('mer', id),
          name,
          ...beginStanding(productionActivated),
          // Facades may remember orders of the merchant that was lost.
          ...(lostId === undefined ? {} : { endedOrdersVersion: storedId('mer', newId('mer', at)) }),
          sessionLifetimeSeconds,
          largestAmounts: {},
          refundApprovalLimits: {},
          refundRoleLimits: {},
          createdAt: at,
          updatedAt: at,
        });
        const details = {
          name,
          production_activated: productionActivated,
          ...(lostId === undefined ? {} : { restored: true }),
        };
        recordAudit(em, newId, at, by, { action: 'merchant.create', merchantId: id, targetId: id, details });
        return ok(merchantOf(row));
      });
      return created.catch((error: unknown) => {
        // Another operator has created the same lost merchant meanwhile.
        if (lostId !== undefined && error instanceof UniqueConstraintViolationException) return err('here');
        throw error;
      });
    },
    find,
    async terms(merchantId) {
      const merchant = await find(merchantId);
      if (merchant === undefined) return undefined;
      const { name, status, productionActivated, sessionLifetimeSeconds, endedOrdersVersion } = merchant;
      const sessionLifetimeMs = sessionLifetimeSeconds * 1000;
      const contact = contactOf(merchant);
      const { refundApprovalLimits, refundRoleLimits } = merchant;
      return {
        name,
        contact,
        refundApprovalLimits,
        refundRoleLimits,
        status,
        productionActivated,
        sessionLifetimeMs,
        endedOrdersVersion,
        ...termsOf(merchant),
      };
    },
    async list({ beforeId, text, limit }) {
      const wanted = {
        ...(beforeId === undefined ? {} : { id: { $lt: storedId('mer', beforeId) } }),
        ...(text === '' ? {} : { name: containing(text) }),
      };
      const rows = await database.fork().find(MerchantRow, wanted, { orderBy: { id: 'desc' }, limit });
      return rows.map(merchantOf);
    },
    changeStanding: (merchantId, action, details, by) =>
      change<never>(merchantId, action, details, by, (merchant, at) =>
        ok(standingCommands[action](merchant, at)),
      ),
    update: (merchantId, { set, details, expectedAt }, by) =>
      change(merchantId, 'merchant.update', details, by, (merchant, at) =>
        updateMerchant(merchant, set, expectedAt, at),
      ),
  };
}

async function refuseCreation(
  em: EntityManager,
  lostId: PublicId<'mer'> | undefined,
): Promise<CreateRefusal | undefined> {
  if (lostId === undefined) return (await mayBeLost(em)) ? 'may_be_lost' : undefined;
  const id = storedId('mer', lostId);
  if ((await em.findOne(MerchantRow, { id })) !== null) return 'here';
  return (await wasLost(em, id)) ? undefined : 'not_lost';
}

export const contactOf = ({ contactPhone, contactEmail }: Merchant): MerchantContact => ({
  phone: contactPhone,
  email: contactEmail,
});

/** The merchant's terms. */
export const termsOf = (merchant: Merchant): AgreedTerms => ({
  paymentOptions: {
    SANDBOX: merchant.sandboxPaymentOptions,
    PRODUCTION: merchant.productionPaymentOptions,
  },
  walletsOff: { SANDBOX: merchant.sandboxWalletsOff, PRODUCTION: merchant.productionWalletsOff },
  currencies: merchant.currencies,
  largestAmounts: merchant.largestAmounts,
  requestsPerSecond: merchant.requestsPerSecond,
});
