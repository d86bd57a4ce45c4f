import { LockMode } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { CallerSignal } from '../../../platform/batcher.ts';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Actor } from '../../../platform/rpc/actor.ts';
import { recordAudit } from '../../audit/record-audit.ts';
import type { Database } from '../../database/database.ts';
import { eraseAgainByMoney } from '../../database/erase-again.sql.ts';
import { StrayPaymentRow } from '../../database/order-entities.ts';
import { dueWork } from '../../../contract/due-work.ts';
import type { DueWork } from '../../../contract/due-work.ts';
import { noMerchantId, publicId, storedId } from '../../../contract/public-id.ts';
import type { LeasedRows, LeaseRequest } from '../../database/next-due.sql.ts';
import { readClock } from '../../database/read-clock.ts';
import { recovering } from '../../database/payment-gate.ts';
import { readTakesPayments } from '../../database/takes-payments.sql.ts';
import type { NewId, PublicId, StoredId } from '../../../contract/public-id.ts';
import { hastenedTo } from '../../domain/hastened.ts';
import { err, ok } from '../../domain/result.ts';
import type { Result } from '../../domain/result.ts';
import {
  leaseReversal,
  makeReversalDue,
  markNotReturnable,
  recordReversalOutcome,
  retryReversal,
} from '../../domain/reversal.ts';
import type { ReversalOutcome } from '../../domain/reversal.ts';
import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { isReturnable } from '../../domain/wallet-outcome.ts';
import { withNote } from '../attempts/callback-notes.ts';
import { readRecentExchanges } from '../attempts/count-exchanges.sql.ts';
import { keepCallback, keepExchanges } from '../attempts/keep-exchanges.ts';
import type { ExchangeOwner } from '../attempts/count-exchanges.sql.ts';
import { withOwnAccount } from '../attempts/own-account-outcome.ts';
import { createFailingRows } from '../changes/failing-rows.ts';
import { leaseDueRows } from '../changes/lease-due-rows.ts';
import type { DueTable } from '../changes/lease-due-rows.ts';
import { reversalColumns, reversalOf } from '../changes/reversal-row.ts';

/** The present state of a stray payment: the row itself, with stored ids. */
export type StrayPayment = Omit<StrayPaymentRow, symbol>;

export interface LeasedReversal {
  readonly stray: StrayPayment;
  readonly leaseId: string;
  readonly sentBefore: boolean;
  /** The wallet's reference of the payment; '' without one. */
  readonly paymentReference: string;
  /** The merchant's own account that took the money; null for the operator's. */
  readonly walletAccountId: StoredId<'wac'> | null;
}

/** The return of stray payments through the wallet that received them. Each function is one transaction. */
export interface Reversals {
  /** Leases due reversals to a worker. */
  readonly lease: (request: LeaseRequest) => Promise<LeasedRows<LeasedReversal>>;
  /** Records the wallet's answer under a lease. A repeat changes nothing. */
  readonly record: (
    key: StrayPaymentKey,
    leaseId: string,
    outcome: ReversalOutcome,
    exchanges: readonly WalletExchange[],
  ) => Promise<Result<StrayPayment, 'not_found' | 'lease_lost'>>;
  /**
   * Stores a callback about a reversal, and makes the reversal due now, or soon after many callbacks (`hastenedTo`). A worker that
   * holds it reports first. The due time stays as it is if the reversal has ended. Callbacks take turns. A callback whose caller disconnects
   * before its turn is dropped.
   */
  readonly hasten: (
    key: { readonly merchantId: PublicId<'mer'>; readonly reversalId: PublicId<'stp'> },
    callback: { readonly exchange: WalletExchange | undefined; readonly note: string },
    signal: CallerSignal,
  ) => Promise<StrayPayment | undefined>;
  /**
   * Makes a refused reversal due again. Refusals: `under_way` while the wallet has not decided, `reversed` when the
   * payer has the money, `not_returnable` when no wallet can be asked to return the money. Error: RECOVERING while a restore may have lost an earlier retry.
   */
  readonly retry: (
    key: StrayPaymentKey,
    by: Actor,
  ) => Promise<Result<StrayPayment, 'not_found' | 'under_way' | 'reversed' | 'not_returnable'>>;
}

/** Public ids. */
export interface StrayPaymentKey {
  readonly merchantId: PublicId<'mer'>;
  readonly strayPaymentId: PublicId<'stp'>;
}

export interface ReversalsParts {
  readonly database: Database;
  /** Limits callbacks, which wait for a reversal that others hold, by merchant. */
  readonly fairly: FairCalls;
  readonly newId: NewId;
  readonly newLeaseId: () => string;
  readonly now: () => Date;
  /** Called when a reversal became due. */
  readonly onDue: (due: DueWork) => void;
  readonly logger: Pick<Logger, 'error'>;
}

export function createReversals(parts: ReversalsParts): Reversals {
  const { database, fairly, newId, newLeaseId, now, onDue } = parts;
  const due: DueTable<'stp', StrayPaymentRow> = {
    database,
    table: 'stray_payments',
    failing: createFailingRows('stp', parts.logger),
    find: (em, condition, options) => em.find(StrayPaymentRow, condition, options),
  };
  const announce = ({ environment, paymentOption }: StrayPayment): void =>
    onDue(dueWork('reversals', environment, paymentOption));
  const lock = (em: EntityManager, { merchantId, strayPaymentId }: StrayPaymentKey) =>
    em.findOne(
      StrayPaymentRow,
      { merchantId: storedId('mer', merchantId), id: storedId('stp', strayPaymentId) },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );

  return {
    lease: (request) =>
      leaseDueRows(due, request, (em, row, attempt, at) => {
        // Earlier versions also requested the return of amounts that cannot be returned. A reversal that a wallet may have received is queried.
        if (!isReturnable(row) && !reversalOf(row).maybeSent) {
          em.assign(row, reversalColumns(markNotReturnable(reversalOf(row), at)));
          return undefined;
        }
        const leaseId = newLeaseId();
        const leased = leaseReversal(reversalOf(row), leaseId, request.leaseMs, at);
        if (!leased.ok) return undefined;
        const { reversal, sentBefore } = leased.value;
        em.assign(row, reversalColumns(reversal));
        return {
          stray: { ...row },
          leaseId,
          sentBefore,
          // A payment that its payer started has no request of ours, and so no reference.
          paymentReference: attempt?.providerReference ?? '',
          walletAccountId: attempt?.walletAccountId ?? null,
        };
      }),

    record: (key, leaseId, outcome, exchanges) =>
      database.fork().transactional(async (em) => {
        const row = await lock(em, key);
        if (row === null) return err('not_found' as const);
        const at = now();
        const attempt = { merchantId: row.merchantId, id: row.paymentAttemptId };
        const reported = await withOwnAccount(em, attempt, outcome);
        const recorded = recordReversalOutcome(reversalOf(row), leaseId, reported, at);
        if (!recorded.ok) return recorded;
        const { reversal, isRepeat } = recorded.value;
        if (isRepeat) return ok({ ...row });
        const areDecisive = reversal.status !== 'REVERSAL_DUE';
        await keepExchanges(em, exchangeOwnerOf(row), { exchanges, areDecisive, newId, at });
        em.assign(row, reversalColumns(reversal));
        await eraseAgainByMoney(em, row);
        return ok({ ...row });
      }),

    async hasten({ merchantId: merchant, reversalId: reversal }, { exchange, note }, signal) {
      const merchantId = storedId('mer', merchant);
      const key = { merchantId, reversalId: storedId('stp', reversal) };
      const hasten = () =>
        database.fork().transactional(async (em) => {
          const row = await em.findOne(StrayPaymentRow, key, { lockMode: LockMode.PESSIMISTIC_WRITE });
          if (row === null) return undefined;
          const at = await readClock(em);
          const owner = exchangeOwnerOf(row);
          const recent = (await readRecentExchanges(em, [owner], at))(owner);
          if (exchange !== undefined) await keepCallback(em, owner, { exchange, recent, newId, at });
          row.callbackNotes = withNote(row.callbackNotes, note);
          em.assign(row, reversalColumns(makeReversalDue(reversalOf(row), hastenedTo(recent.count, at))));
          await eraseAgainByMoney(em, row);
          return { ...row };
        });
      const hastened = await fairly({ owner: `callbacks ${merchant}`, part: reversal }, signal, hasten);
      if (hastened !== undefined) announce(hastened);
      return hastened;
    },

    async retry(key, by) {
      const retried = await database.fork().transactional(async (em) => {
        const row = await lock(em, key);
        if (row === null) return err('not_found' as const);
        const at = now();
        const due = retryReversal(reversalOf(row), storedId('stp', newId('stp', at)), at);
        if (!due.ok) return due;
        if (!(await readTakesPayments(em)).of(row.environment, row.merchantId)) throw recovering();
        // Notes are about the request with one name.
        if (due.value.name !== row.reversalId) row.callbackNotes = [];
        em.assign(row, reversalColumns(due.value));
        const { merchantId, strayPaymentId: targetId } = key;
        recordAudit(em, newId, at, by, {
          action: 'stray_payment.retry_reversal',
          merchantId,
          targetId,
          details: { reversal_id: reversalName(row) },
        });
        return ok({ ...row });
      });
      if (retried.ok) announce(retried.value);
      return retried;
    },
  };
}

/** The name of the reversal at the wallet. */
export const reversalName = ({ reversalId }: Pick<StrayPayment, 'reversalId'>): string =>
  publicId('stp', reversalId);

/** The attempt that was paid, or the payment that its payer started. */
function exchangeOwnerOf({
  id,
  merchantId,
  paymentAttemptId,
  payerPaymentId,
}: StrayPaymentRow): ExchangeOwner {
  if (paymentAttemptId != null) return { merchantId, id: paymentAttemptId };
  if (payerPaymentId != null) return { merchantId: storedId('mer', noMerchantId), id: payerPaymentId };
  throw new TypeError(`the stray payment ${id} has neither an attempt nor a payment of a payer`);
}
