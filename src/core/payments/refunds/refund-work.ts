import { lockByKey } from '../../../platform/database/find-by-key.ts';
import type { CallerSignal } from '../../../platform/batcher.ts';
import type { FairCalls } from '../../../platform/fair-calls.ts';
import { dueWork } from '../../../contract/due-work.ts';
import type { DueWork } from '../../../contract/due-work.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { NewId, StoredId } from '../../../contract/public-id.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { recordAudit } from '../../audit/record-audit.ts';
import type { Database } from '../../database/database.ts';
import { eraseAgain } from '../../database/erase-again.sql.ts';
import { RefundRow } from '../../database/order-entities.ts';
import type { LeasedRows, LeaseRequest } from '../../database/next-due.sql.ts';
import { readClock } from '../../database/read-clock.ts';
import { isErased } from '../../domain/erased.ts';
import { hastenedTo } from '../../domain/hastened.ts';
import {
  failureReason,
  hastenRefund,
  leaseRefund,
  recordRefundOutcome,
  refundStatus,
} from '../../domain/refund.ts';
import type { Refund } from '../../domain/refund-record.ts';
import type { Result } from '../../domain/result.ts';
import { ok } from '../../domain/result.ts';
import type { ReversalOutcome } from '../../domain/reversal.ts';
import { withNote } from '../attempts/callback-notes.ts';
import { readRecentExchanges } from '../attempts/count-exchanges.sql.ts';
import { keepCallback, keepExchanges } from '../attempts/keep-exchanges.ts';
import { withOwnAccount } from '../attempts/own-account-outcome.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import { createFailingRows } from '../changes/failing-rows.ts';
import { leaseDueRows } from '../changes/lease-due-rows.ts';
import type { DueTable } from '../changes/lease-due-rows.ts';
import { orderOfRefund } from '../changes/read-order.ts';
import { refundOf, writeRefund } from '../changes/refund-row.ts';
import type { RefundKey } from './decide-approval.ts';

export interface LeasedRefund {
  readonly refund: Refund;
  readonly leaseId: string;
  readonly sentBefore: boolean;
  readonly callbackNotes: readonly string[];
  /** The wallet's reference of the payment; '' without one. */
  readonly paymentReference: string;
  /** The merchant's own account that took the money; null for the operator's. */
  readonly walletAccountId: StoredId<'wac'> | null;
}

/**
 * The work of the wallets process on refunds. Each function is one transaction. Calls that wait for their order take turns. A call whose
 * caller disconnects before its turn is dropped.
 */
export interface RefundWork {
  /** Leases due refunds to a worker. */
  readonly lease: (request: LeaseRequest) => Promise<LeasedRows<LeasedRefund>>;
  /** Records the wallet's answer under a lease. A repeat changes nothing. */
  readonly record: (
    key: RefundKey,
    report: {
      readonly leaseId: string;
      readonly outcome: ReversalOutcome;
      readonly exchanges: readonly WalletExchange[];
      readonly requestId: string;
    },
    signal: CallerSignal,
  ) => Promise<Result<Refund, 'not_found' | 'lease_lost'>>;
  /**
   * Stores a callback, and makes the refund due now, or soon after many callbacks (`hastenedTo`). A worker that holds it reports
   * first. The due time stays as it is if the refund has ended or awaits approval.
   */
  readonly hasten: (
    key: RefundKey,
    callback: { readonly exchange: WalletExchange | undefined; readonly note: string },
    signal: CallerSignal,
  ) => Promise<Refund | undefined>;
}

export interface RefundWorkParts {
  readonly database: Database;
  readonly changes: Pick<OrderChanges, 'change'>;
  /** Limits outcomes and callbacks, which wait for orders that others hold, by merchant. */
  readonly fairly: FairCalls;
  readonly newId: NewId;
  readonly newLeaseId: () => string;
  /** Called when a refund became due. */
  readonly onDue: (due: DueWork) => void;
  readonly logger: Pick<Logger, 'error'>;
}

/** The actor of changes that a wallet's answer causes. */
const wallet = { actor: 'wallets', requestId: '' };

export function createRefundWork({
  database,
  changes,
  fairly,
  newId,
  newLeaseId,
  onDue,
  logger,
}: RefundWorkParts): RefundWork {
  const due: DueTable<'rfd', RefundRow> = {
    database,
    table: 'refunds',
    failing: createFailingRows('rfd', logger),
    find: (em, condition, options) => em.find(RefundRow, condition, options),
  };
  return {
    lease: (request) =>
      leaseDueRows(due, request, (em, row, attempt, at) => {
        const leaseId = newLeaseId();
        const leased = leaseRefund(refundOf(row), leaseId, request.leaseMs, at);
        if (!leased.ok) return undefined;
        const { refund, sentBefore } = leased.value;
        writeRefund(em, row, refund);
        return {
          refund,
          leaseId,
          sentBefore,
          callbackNotes: row.callbackNotes,
          paymentReference: attempt?.providerReference ?? '',
          walletAccountId: attempt?.walletAccountId ?? null,
        };
      }),

    record({ merchantId, refundId }, { leaseId, outcome, exchanges, requestId }, signal) {
      const key = { merchantId: storedId('mer', merchantId), id: storedId('rfd', refundId) };
      const record = () =>
        changes.change(orderOfRefund(key), {
          requestId,
          async read(em) {
            const row = await lockByKey(em, RefundRow, key);
            const attempt = { merchantId: key.merchantId, id: row.paymentAttemptId };
            return { row, reported: await withOwnAccount(em, attempt, outcome) };
          },
          decide: (order, { row, reported }, now) =>
            recordRefundOutcome(order, refundOf(row), leaseId, reported, now),
          async write(em, { refund, changed, isRepeat }, { context: { row }, now: at }) {
            if (isRepeat) return refund;
            const attempt = { merchantId: key.merchantId, id: row.paymentAttemptId };
            const areDecisive = changed !== undefined;
            await keepExchanges(em, attempt, { exchanges, areDecisive, newId, at });
            writeRefund(em, row, refund);
            if (areDecisive) {
              const reason = failureReason(refund);
              recordAudit(
                em,
                newId,
                at,
                { ...wallet, requestId },
                {
                  action: refundStatus(refund) === 'COMPLETED' ? 'refund.complete' : 'refund.fail',
                  merchantId,
                  targetId: refundId,
                  details: { refund_number: refund.refundNumber, ...(reason === '' ? {} : { reason }) },
                },
              );
            }
            return refund;
          },
        });
      // Many refunds of one order may be under way, and each waits for the order with a connection.
      return fairly({ owner: `refund outcomes ${merchantId}`, part: refundId }, signal, record);
    },

    async hasten({ merchantId, refundId }, { exchange, note }, signal) {
      const key = { merchantId: storedId('mer', merchantId), id: storedId('rfd', refundId) };
      const hasten = () =>
        changes.change(orderOfRefund(key), {
          requestId: '',
          async read(em) {
            const row = await lockByKey(em, RefundRow, key);
            const at = await readClock(em);
            const attempt = { merchantId: key.merchantId, id: row.paymentAttemptId };
            const recent = (await readRecentExchanges(em, [attempt], at))(attempt);
            return { row, at, attempt, recent };
          },
          decide: (_order, { row, at, recent }) =>
            ok({ changed: undefined, refund: hastenRefund(refundOf(row), hastenedTo(recent.count, at)) }),
          async write(em, { refund }, { context: { row, at, attempt, recent }, order }) {
            if (exchange !== undefined) await keepCallback(em, attempt, { exchange, recent, newId, at });
            row.callbackNotes = withNote(row.callbackNotes, note);
            writeRefund(em, row, refund);
            if (isErased(order)) await eraseAgain(em, order);
            return refund;
          },
        });
      const owner = { owner: `callbacks ${merchantId}`, part: refundId };
      const hastened = await fairly(owner, signal, hasten);
      if (!hastened.ok) return undefined;
      const { environment, paymentOption } = hastened.value;
      onDue(dueWork('reversals', environment, paymentOption));
      return hastened.value;
    },
  };
}
