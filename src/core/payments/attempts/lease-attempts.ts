import type { EntityManager } from '@mikro-orm/postgresql';
import { storedId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import type { Database } from '../../database/database.ts';
import { findAllByKey } from '../../../platform/database/find-by-key.ts';
import { leaseWhenDue } from '../../database/next-due.sql.ts';
import type { LeasedRows, LeaseRequest } from '../../database/next-due.sql.ts';
import { OrderRow, PaymentAttemptRow } from '../../database/order-entities.ts';
import { decideLease } from '../../domain/attempt-work.ts';
import type { Order, PaymentAttempt } from '../../domain/order.ts';
import type { Wallet } from '../../domain/wallet.ts';
import type { OrderChanges } from '../changes/change-orders.ts';
import type { Locked } from '../changes/order-change.ts';
import { readOpenPayments, withPayer } from '../changes/open-payments.sql.ts';
import { workOf } from './attempt-work-row.ts';
import { lockCurrentAccounts } from './current-accounts.ts';
import type { CurrentAccounts } from './current-accounts.ts';
import { lockDueAttempts } from './lock-due-attempts.sql.ts';

/**
 * The time until a new attempt that is not sent is due again, because its order's session seems to have expired. If the database's clock was
 * ahead, the attempt can be sent later. Otherwise, the order's expiry ends it.
 */
const retryAfterMs = 15_000;

export interface LeasedAttempt {
  readonly order: Order;
  readonly attempt: PaymentAttempt;
  readonly leaseId: string;
  /** Whether an earlier request may have reached the wallet. */
  readonly sentBefore: boolean;
  readonly providerReference: string;
  /** The notes of callbacks, oldest first. */
  readonly callbackNotes: readonly string[];
  readonly leases: number;
  readonly promptUntil: Date;
  /** The time of the database's clock. */
  readonly leasedAt: Date;
  /** The merchant's own account at the wallet; null for the operator's. */
  readonly walletAccountId: StoredId<'wac'> | null;
}

export type LeaseAttempts = (request: LeaseRequest) => Promise<LeasedRows<LeasedAttempt>>;

export interface LeaseAttemptsParts {
  readonly database: Pick<Database, 'pool'>;
  readonly changes: Pick<OrderChanges, 'changeEach'>;
  readonly newLeaseId: () => string;
  readonly wallets: readonly Wallet[];
}

/** An attempt that was due when its order was locked. */
interface DueLocked extends Locked {
  readonly attemptId: StoredId<'pat'>;
  readonly accounts: CurrentAccounts;
  readonly isPayerPaying: (order: Order) => boolean;
}

/**
 * Leases due attempts. A new attempt becomes SENT in the same transaction. So if the caller exits afterwards, the
 * record shows that the wallet may have received a request. Leases use the database's clock.
 */
export function createLeaseAttempts({
  database,
  changes,
  newLeaseId,
  wallets,
}: LeaseAttemptsParts): LeaseAttempts {
  const lockDue = async (
    em: EntityManager,
    request: LeaseRequest,
    exceptOrderIds: readonly StoredId<'ord'>[],
  ): Promise<DueLocked[]> => {
    const exceptMerchantIds = request.exceptMerchantIds.map((id) => storedId('mer', id));
    const { environment } = request;
    const all = await lockDueAttempts(em, { ...request, exceptMerchantIds, exceptOrderIds });
    const accounts = await lockCurrentAccounts(
      em,
      environment,
      all.map(({ merchantId }) => merchantId),
    );
    const orders = await findAllByKey(
      em,
      OrderRow,
      all.map(({ merchantId, orderId: id }) => ({ merchantId, environment, id })),
    );
    const byId = new Map<string, OrderRow>(orders.map((row) => [row.id, row]));
    const rows = all.flatMap(({ orderId, attemptId }) => {
      const row = byId.get(orderId);
      return row === undefined ? [] : [{ row, attemptId }];
    });
    const isPayerPaying = await readOpenPayments(
      em,
      wallets,
      rows.map(({ row }) => row),
    );
    return rows.map((each) => ({ ...each, accounts, isPayerPaying }));
  };

  const lease = async (request: LeaseRequest): Promise<LeasedAttempt[]> => {
    const leased = await changes.changeEach((em, exceptIds) => lockDue(em, request, exceptIds), {
      requestId: '',
      read: (em, { row: { merchantId }, attemptId }) =>
        em.findOneOrFail(PaymentAttemptRow, { merchantId, id: attemptId }),
      decide: (order, row, now, { isPayerPaying }) =>
        decideLease(withPayer(order, isPayerPaying), workOf(row), request.leaseMs, now),
      write(_em, { order, attempt, lease }, { context: row, taken, now }): LeasedAttempt | undefined {
        if (lease === undefined) {
          row.dueAt = attempt.status === 'REQUESTED' ? new Date(now.getTime() + retryAfterMs) : null;
          return undefined;
        }
        const { leasedUntil, sentBefore, promptUntil } = lease;
        const leaseId = newLeaseId();
        const leases = row.leases + 1;
        Object.assign(row, { leaseId, leasedUntil, dueAt: leasedUntil, leases, maybeSent: sentBefore });
        // A request that may have reached the wallet is only known there under the account that sent it.
        if (!sentBefore) row.walletAccountId = taken.accounts(row);
        const walletAccountId = row.walletAccountId ?? null;
        const providerReference = row.providerReference ?? '';
        const { callbackNotes } = row;
        const work = { providerReference, callbackNotes, leases, promptUntil, leasedAt: now };
        return { order, attempt, leaseId, sentBefore, walletAccountId, ...work };
      },
    });
    return leased.flatMap((one) => (one.ok && one.value !== undefined ? [one.value] : []));
  };
  return (request) => leaseWhenDue(database.pool, 'payment_attempts', request, () => lease(request));
}
