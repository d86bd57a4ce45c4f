import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../runtime/rpc/actor.ts';
import { recordAudit } from '../audit/record-audit-use-case.ts';
import type { Database } from '../database/database.ts';
import { StrayPaymentRow } from '../database/entities.ts';
import { publicId, storedId } from '../../runtime/public-id.ts';
import { readClock } from '../database/read-clock.ts';
import type { NewId } from '../../runtime/public-id.ts';
import type { Environment, PaymentOption, StrayPaymentStatus } from '../domain/order.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import type { WalletExchange } from '../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { keepExchanges } from '../payments/keep-exchanges-use-case.ts';

/** A stray payment as it stands; the row itself, with the ids as they are stored. */
export type StrayPayment = Omit<StrayPaymentRow, symbol>;

export interface StrayPaymentFilter {
  readonly merchantId: string | undefined;
  readonly orderId: string | undefined;
  readonly environment: Environment | undefined;
  readonly statuses: readonly StrayPaymentStatus[];
  readonly beforeId: string | undefined;
  readonly limit: number;
}

export interface LeasedReversal {
  readonly stray: StrayPayment;
  readonly leaseId: string;
  readonly sentBefore: boolean;
}

/** What the wallet said of a reversal. */
export type ReversalOutcome =
  | { readonly type: 'pending'; readonly providerReference: string; readonly detail: string }
  | { readonly type: 'done' }
  /** Definite when nothing that was asked under this reversal's id can still be carried out. */
  | { readonly type: 'refused'; readonly detail: string; readonly definite: boolean };

export interface StrayPaymentStore {
  /** Newest first. */
  readonly list: (filter: StrayPaymentFilter) => Promise<StrayPayment[]>;
  readonly lease: (
    environment: Environment,
    options: readonly PaymentOption[],
    limit: number,
    leaseMs: number,
  ) => Promise<LeasedReversal[]>;
  readonly record: (
    key: StrayPaymentKey,
    leaseId: string,
    outcome: ReversalOutcome,
    exchanges: readonly WalletExchange[],
  ) => Promise<Result<StrayPayment, 'not_found' | 'lease_lost'>>;
  /** Errors: `under_way` while the wallet has not decided, `reversed` when the money went back. */
  readonly retry: (
    key: StrayPaymentKey,
    by: Actor,
  ) => Promise<Result<StrayPayment, 'not_found' | 'under_way' | 'reversed'>>;
}

/** Ids as they are shown. */
export interface StrayPaymentKey {
  readonly merchantId: string;
  readonly strayPaymentId: string;
}

export interface StrayPaymentStoreOptions {
  readonly database: Database;
  readonly newId: NewId;
  readonly newLeaseId: () => string;
  readonly now: () => Date;
  /** Called when a reversal became due. */
  readonly onDue: () => void;
}

/** Seconds between the looks at a reversal that the wallet has not confirmed: it is asked until it does. */
const waitsSeconds = [2, 5, 10, 30, 60, 300, 900, 3600];
const waitMs = (tries: number): number =>
  (waitsSeconds[Math.min(tries, waitsSeconds.length) - 1] ?? 2) * 1000;

export function createStrayPaymentStore(options: StrayPaymentStoreOptions): StrayPaymentStore {
  const { database, newId, newLeaseId, now, onDue } = options;
  const lock = (em: EntityManager, { merchantId, strayPaymentId }: StrayPaymentKey) =>
    em.findOne(
      StrayPaymentRow,
      { merchantId: storedId('mer', merchantId), id: storedId('stp', strayPaymentId) },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );

  return {
    async list({ merchantId, orderId, environment, statuses, beforeId, limit }) {
      const where = {
        ...(merchantId === undefined ? {} : { merchantId: storedId('mer', merchantId) }),
        ...(orderId === undefined ? {} : { orderId: storedId('ord', orderId) }),
        ...(environment === undefined ? {} : { environment }),
        ...(statuses.length === 0 ? {} : { status: { $in: [...statuses] } }),
        ...(beforeId === undefined ? {} : { id: { $lt: storedId('stp', beforeId) } }),
      };
      return database.fork().find(StrayPaymentRow, where, { orderBy: { id: 'desc' }, limit });
    },

    lease: (environment, paymentOptions, limit, leaseMs) =>
      database.fork().transactional(async (em) => {
        const at = await readClock(em);
        const rows = await em.find(
          StrayPaymentRow,
          { environment, paymentOption: { $in: [...paymentOptions] }, dueAt: { $lte: at } },
          { orderBy: { dueAt: 'asc' }, limit, lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE },
        );
        return rows.map((row) => {
          const sentBefore = row.maybeSent;
          const leaseId = newLeaseId();
          const leasedUntil = new Date(at.getTime() + leaseMs);
          em.assign(row, { leaseId, leasedUntil, dueAt: leasedUntil, tries: row.tries + 1, maybeSent: true });
          return { stray: { ...row }, leaseId, sentBefore };
        });
      }),

    record: (key, leaseId, outcome, exchanges) =>
      database.fork().transactional(async (em) => {
        const row = await lock(em, key);
        if (row === null) return err('not_found' as const);
        if (row.leaseId !== leaseId) return err('lease_lost' as const);
        // Said once under this lease already; by now the reversal may be elsewhere.
        if (row.leasedUntil == null) return ok({ ...row });
        const at = now();
        const { merchantId, paymentAttemptId } = row;
        const areDecisive = outcome.type !== 'pending';
        await keepExchanges(em, { merchantId, id: paymentAttemptId }, { exchanges, areDecisive, newId, at });
        em.assign(row, { ...afterOutcome(outcome, row, at), leasedUntil: null, updatedAt: at });
        return ok({ ...row });
      }),

    async retry(key, by) {
      const retried = await database.fork().transactional(async (em) => {
        const row = await lock(em, key);
        if (row === null) return err('not_found' as const);
        if (row.status === 'REVERSAL_DUE') return err('under_way' as const);
        if (row.status === 'REVERSED') return err('reversed' as const);
        const at = now();
        const reversal = row.maybeSent ? {} : newReversal(newId, at);
        em.assign(row, { ...reversal, status: 'REVERSAL_DUE', dueAt: at, updatedAt: at });
        const { merchantId, strayPaymentId: targetId } = key;
        recordAudit(em, newId, at, by, {
          action: 'stray_payment.retry_reversal',
          merchantId,
          targetId,
          details: { reversal_id: reversalName(row) },
        });
        return ok({ ...row });
      });
      if (retried.ok) onDue();
      return retried;
    },
  };
}

function afterOutcome(outcome: ReversalOutcome, row: StrayPaymentRow, at: Date): Partial<StrayPayment> {
  switch (outcome.type) {
    case 'pending': {
      const providerReference =
        outcome.providerReference === '' ? row.providerReference : outcome.providerReference;
      const dueAt = new Date(at.getTime() + waitMs(row.tries));
      return { providerReference: providerReference ?? null, detail: outcome.detail, dueAt };
    }
    case 'done':
      return { status: 'REVERSED', detail: '', dueAt: null };
    case 'refused':
      return {
        status: 'REVERSAL_REFUSED',
        detail: outcome.detail,
        dueAt: null,
        maybeSent: !outcome.definite,
      };
  }
}

/**
 * A wallet remembers what it refused, and answers the same again for ever: another try needs another name. Only for what
 * was definitely refused, or the money could go back under both names.
 */
const newReversal = (newId: NewId, at: Date): Partial<StrayPayment> => ({
  reversalId: storedId('stp', newId('stp', at)),
  providerReference: null,
  tries: 0,
});

/** The id of a stray payment as it is shown. */
export const shownId = ({ id }: Pick<StrayPayment, 'id'>): string => publicId('stp', id);

/** What the wallet knows the reversal by. */
export const reversalName = ({ reversalId }: Pick<StrayPayment, 'reversalId'>): string =>
  publicId('stp', reversalId);
