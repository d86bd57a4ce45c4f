import type { PublicId } from '../../../contract/public-id.ts';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Database } from '../../database/database.ts';
import { OrderRow, PaymentAttemptRow } from '../../database/entities.ts';
import { attemptOf } from '../../database/order-rows.ts';
import { storedId } from '../../../contract/public-id.ts';
import { readClock } from '../../database/read-clock.ts';
import type { Environment, Order, PaymentAttempt, PaymentOption } from '../../domain/order.ts';
import { isInFlight, moneyNotReturned } from '../../domain/order.ts';
import { transition } from '../../domain/transition.ts';
import type { OrderChanges } from '../changes/change-order.ts';
import { lockDueAttempts } from './lock-due-attempts.sql.ts';
import type { DueAttempt } from './lock-due-attempts.sql.ts';
import { isPromptOver } from './prompt-over.ts';

export interface LeaseRequest {
  readonly environment: Environment;
  readonly paymentOptions: readonly PaymentOption[];
  /** Merchants whose attempts are left where they are. */
  readonly exceptMerchantIds: readonly PublicId<'mer'>[];
  readonly limit: number;
  readonly leaseMs: number;
}

export interface LeasedAttempt {
  readonly order: Order;
  readonly attempt: PaymentAttempt;
  readonly leaseId: string;
  /** Whether the wallet may have been asked before. */
  readonly sentBefore: boolean;
  readonly providerReference: string;
  readonly leases: number;
  readonly promptUntil: Date;
  /** By the database's clock. */
  readonly leasedAt: Date;
}

export type LeaseAttempts = (request: LeaseRequest) => Promise<LeasedAttempt[]>;

export interface LeaseAttemptsParts {
  readonly database: Database;
  readonly changes: OrderChanges;
  readonly newLeaseId: () => string;
  /** Called after every commit that may have added events. */
  readonly onEvents: () => void;
}

/**
 * Takes attempts that are due. One that was never sent becomes SENT in the same transaction: whatever happens to the
 * caller from now on, the record says that a wallet may have been asked. Leases count by the database's clock.
 */
export function createLeaseAttempts(parts: LeaseAttemptsParts): LeaseAttempts {
  const { database, changes, newLeaseId, onEvents } = parts;
  const take = async (
    em: EntityManager,
    due: DueAttempt,
    request: LeaseRequest,
    now: Date,
  ): Promise<LeasedAttempt | undefined> => {
    const { merchantId, orderId, attemptId } = due;
    const row = await em.findOneOrFail(PaymentAttemptRow, { merchantId, id: attemptId });
    // Somebody may have taken it, or ended it, between the look at it and the lock.
    if (row.dueAt == null || row.dueAt > now || (row.leasedUntil ?? now) > now) return undefined;
    const orderRow = await em.findOneOrFail(OrderRow, {
      merchantId,
      environment: request.environment,
      id: orderId,
    });
    const locked = await changes.load(em, orderRow);
    let { order } = locked;
    // A lease that ended without a word is as good as a request sent.
    const sentBefore = row.maybeSent || row.leasedUntil != null;
    if (row.status === 'REQUESTED') {
      const sent = transition(order, { type: 'send_attempt', attemptId: attemptOf(row).id }, now);
      if (!sent.ok) {
        // The session ended before anybody was asked: the order's expiry ends the attempt too.
        row.dueAt = null;
        return undefined;
      }
      await changes.apply(em, locked, sent.value, '');
      order = sent.value.order;
    }
    const held = moneyNotReturned(order);
    const mayNotBeSent = held !== undefined || now >= order.expiresAt || isPromptOver(row, now);
    if (!sentBefore && (!isInFlight(row) || mayNotBeSent)) {
      // Certainly never asked, and nobody is to be prompted late, for an order that cannot be paid any more, or while the
      // wallet holds money of an earlier attempt.
      const ended = transition(order, { type: 'time_out_attempt', attemptId: attemptOf(row).id }, now);
      if (ended.ok) await changes.apply(em, { row: orderRow, order }, ended.value, '');
      row.dueAt = null;
      return undefined;
    }
    const leasedUntil = new Date(now.getTime() + request.leaseMs);
    const leaseId = newLeaseId();
    em.assign(row, {
      leaseId,
      leasedUntil,
      dueAt: leasedUntil,
      leases: row.leases + 1,
      maybeSent: sentBefore,
    });
    return {
      order,
      attempt: attemptOf(row),
      leaseId,
      sentBefore,
      providerReference: row.providerReference ?? '',
      leases: row.leases,
      // A request that the wallet says it never got is sent again until then: not while it holds money of another attempt.
      promptUntil: earlier(row.promptUntil ?? leasedUntil, held?.foundAt),
      leasedAt: now,
    };
  };

  return async (request) => {
    let ended = 0;
    const attempts = await database.fork().transactional(async (em) => {
      const exceptMerchantIds = request.exceptMerchantIds.map((id) => storedId('mer', id));
      const found = await lockDueAttempts(em, { ...request, exceptMerchantIds });
      if (found.length === 0) return [];
      const now = await readClock(em);
      const leased: LeasedAttempt[] = [];
      for (const due of found) {
        const attempt = await take(em, due, request, now);
        if (attempt !== undefined) leased.push(attempt);
      }
      ended = found.length - leased.length;
      return leased;
    });
    if (ended > 0) onEvents();
    return attempts;
  };
}

const earlier = (time: Date, other: Date | undefined): Date =>
  other === undefined || time < other ? time : other;
