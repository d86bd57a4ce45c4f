import { fromBinary } from '@bufbuild/protobuf';
import { IsolationLevel } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { OrderEventSchema } from '../../gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { WalletExchangeSchema } from '../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { WalletExchange } from '../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { isPublicId, storedId } from '../../contract/public-id.ts';
import type { PublicId, StoredId } from '../../contract/public-id.ts';
import { maskSensitive } from '../../platform/mask-sensitive.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';
import type { Database } from '../database/database.ts';
import { ApiRequestRow } from '../database/request-log-entities.ts';
import {
  OrderEventRow,
  OrderRow,
  PaymentAttemptRow,
  RefundRow,
  SettlementRow,
  StrayPaymentRow,
  WalletExchangeRow,
} from '../database/order-entities.ts';
import { attemptOf, orderOf, undecidedDetail } from '../database/order-rows.ts';
import type { Environment, Order, PaymentAttempt } from '../domain/order.ts';
import type { Refund } from '../domain/refund-record.ts';
import { refundOf } from '../payments/changes/refund-row.ts';
import { apiRequestBodies } from '../rpc/api-request-message.ts';
import { firstWithin } from '../rpc/first-within.ts';
import { readLastEvent, readOpenRefund, readOpenStray } from './explanation-rows.ts';

/** Ids as they are shown. */
export interface OrderStoryKey {
  readonly merchantId: PublicId<'mer'>;
  readonly environment: Environment;
  readonly orderId: PublicId<'ord'>;
}

export interface AttemptStory {
  readonly attempt: PaymentAttempt;
  readonly providerReference: string;
  readonly providerTransactionId: string;
  readonly dueAt: Date | null;
  /** Whether the wallet certainly has no request of the attempt. */
  readonly isUnsent: boolean;
  /** Why the latest answer decided nothing; empty if it did, or if there was none. */
  readonly detail: string;
  /** Oldest first. */
  readonly exchanges: readonly WalletExchange[];
}

export interface OrderStory {
  readonly order: Order;
  /** The cursor of the order's last event. */
  readonly lastEvent: EventCursor;
  /** The row of the latest attempt; null before the first. */
  readonly latestAttempt: PaymentAttemptRow | null;
  /** Oldest first. The first 100 and the latest 400 at most. */
  readonly events: readonly OrderEvent[];
  /** Newest first, like the lists below. */
  readonly attempts: readonly AttemptStory[];
  readonly strayPayments: readonly Omit<StrayPaymentRow, symbol>[];
  /** The oldest that is not returned, even if it is too old for the list; null without one. */
  readonly openStray: Omit<StrayPaymentRow, symbol> | null;
  readonly refunds: readonly Refund[];
  /** The oldest that is not decided, even if it is too old for the list; null without one. */
  readonly openRefund: Refund | null;
  readonly settlements: readonly Omit<SettlementRow, symbol>[];
  readonly apiRequests: readonly Omit<ApiRequestRow, symbol | (typeof apiRequestBodies)[number]>[];
  /** Whether a list is at its limit and lacks older entries. */
  readonly isIncomplete: boolean;
}

/** Undefined when the merchant has no such order in this environment. */
export type ReadOrderStory = (key: OrderStoryKey) => Promise<OrderStory | undefined>;

const limits = {
  firstEvents: 100,
  latestEvents: 400,
  exchanges: 500,
  strayPayments: 50,
  refunds: 200,
  settlements: 50,
  apiRequests: 500,
};
/** Three quarters of the limit on messages; the other lists at their limits stay below the rest. */
const maxExchangeBytes = 2 * 1024 * 1024;
const maxEventBytes = 1024 * 1024;

/**
 * Reads everything that belongs to an order from one snapshot, by eleven statements for any number of attempts. Each statement reads
 * an index. No index has the attempts by their order, so the order's events give their ids. Only events of refunds are left out, between
 * the first and the latest events, because payments come before refunds.
 */
export function createReadOrderStory(database: Database): ReadOrderStory {
  return ({ merchantId, environment, orderId }) =>
    database.fork().transactional(
      async (em) => {
        const key = { merchantId: storedId('mer', merchantId), environment, id: storedId('ord', orderId) };
        const row = await em.findOne(OrderRow, key);
        return row === null ? undefined : storyOf(em, row);
      },
      { isolationLevel: IsolationLevel.REPEATABLE_READ, readOnly: true },
    );
}

async function storyOf(em: EntityManager, row: OrderRow): Promise<OrderStory> {
  const { events, areEventsIncomplete } = await readEvents(em, row);
  const { attempts, latestAttempt, areExchangesIncomplete } = await readAttempts(
    em,
    row,
    attemptIdsOf(events, row),
  );
  const { merchantId, id: orderId } = row;
  const strayPayments = await em.find(
    StrayPaymentRow,
    { merchantId, orderId },
    newestOneMoreThan(limits.strayPayments),
  );
  const refunds = await em.find(RefundRow, { merchantId, orderId }, newestOneMoreThan(limits.refunds));
  const settlements = await em.find(
    SettlementRow,
    { merchantId, orderId },
    newestOneMoreThan(limits.settlements),
  );
  const apiRequests = await readApiRequests(em, row);
  return {
    order: orderOf(row, latestAttempt),
    lastEvent: await readLastEvent(em, row),
    latestAttempt,
    events,
    attempts,
    strayPayments: strayPayments.slice(0, limits.strayPayments),
    openStray: await readOpenStray(em, row),
    refunds: refunds.slice(0, limits.refunds).map(refundOf),
    openRefund: await readOpenRefund(em, row),
    settlements: settlements.slice(0, limits.settlements),
    apiRequests: apiRequests.slice(0, limits.apiRequests),
    isIncomplete:
      areEventsIncomplete ||
      areExchangesIncomplete ||
      strayPayments.length > limits.strayPayments ||
      refunds.length > limits.refunds ||
      settlements.length > limits.settlements ||
      apiRequests.length > limits.apiRequests,
  };
}

/** The additional row shows that there are more than the limit. */
const newestOneMoreThan = (limit: number) => ({ orderBy: { id: 'desc' }, limit: limit + 1 }) as const;

/** The first and the latest events. `areEventsIncomplete`: some between them are left out. Only the number of refunds has no limit. */
async function readEvents(
  em: EntityManager,
  { merchantId, id: orderId, lastEventSequence }: OrderRow,
): Promise<{ readonly events: readonly OrderEvent[]; readonly areEventsIncomplete: boolean }> {
  const rows = await em.find(
    OrderEventRow,
    {
      merchantId,
      orderId,
      $or: [
        { sequence: { $lte: limits.firstEvents } },
        { sequence: { $gt: lastEventSequence - limits.latestEvents } },
      ],
    },
    { orderBy: { sequence: 'desc' } },
  );
  // The latest events are kept first, because they show the present state of the order.
  const latest = firstWithin(rows.slice(0, limits.latestEvents), maxEventBytes / 2);
  const others = rows.slice(latest.length).filter(({ sequence }) => sequence <= limits.firstEvents);
  const first = firstWithin(others.reverse(), maxEventBytes / 2);
  return {
    events: [...first, ...latest.reverse()].map(({ payload }) => fromBinary(OrderEventSchema, payload)),
    areEventsIncomplete:
      first.length + latest.length < rows.length ||
      lastEventSequence > limits.firstEvents + limits.latestEvents,
  };
}

/** The attempts with their exchanges. `areExchangesIncomplete`: some exchanges are left out. */
async function readAttempts(
  em: EntityManager,
  { merchantId, latestAttemptId }: OrderRow,
  ids: StoredId<'pat'>[],
) {
  const rows = await em.find(
    PaymentAttemptRow,
    { merchantId, id: { $in: ids } },
    { orderBy: { id: 'desc' } },
  );
  const exchanges = await em.find(
    WalletExchangeRow,
    { merchantId, paymentAttemptId: { $in: ids } },
    newestOneMoreThan(limits.exchanges),
  );
  const latestExchanges = firstWithin(exchanges.slice(0, limits.exchanges), maxExchangeBytes);
  const attempts = rows.map((row): AttemptStory => ({
    attempt: attemptOf(row),
    providerReference: row.providerReference ?? '',
    providerTransactionId: row.providerTransactionId ?? '',
    dueAt: row.dueAt ?? null,
    // A worker that leased the attempt and has not reported may have sent it.
    isUnsent: !row.maybeSent && row.leasedUntil == null,
    detail: undecidedDetail(row),
    exchanges: latestExchanges
      .filter(({ paymentAttemptId }) => paymentAttemptId === row.id)
      .map(({ payload }) => fromBinary(WalletExchangeSchema, payload))
      .reverse(),
  }));
  return {
    attempts,
    latestAttempt: rows.find(({ id }) => id === latestAttemptId) ?? null,
    areExchangesIncomplete: latestExchanges.length < exchanges.length,
  };
}

const readApiRequests = (em: EntityManager, { merchantId, environment, orderNumber }: OrderRow) =>
  em.find(
    ApiRequestRow,
    // Masked as in the log. The second condition tells the database that its partial index has the rows.
    { merchantId, environment, orderNumber: { $eq: maskSensitive(orderNumber), $ne: '' } },
    { ...newestOneMoreThan(limits.apiRequests), exclude: apiRequestBodies },
  );

const attemptIdsOf = (events: readonly OrderEvent[], { latestAttemptId }: OrderRow): StoredId<'pat'>[] => [
  ...new Set([
    ...events
      .map(({ paymentAttempt }) => paymentAttempt?.paymentAttemptId ?? '')
      .filter((id) => isPublicId('pat', id))
      .map((id) => storedId('pat', id)),
    ...(latestAttemptId == null ? [] : [latestAttemptId]),
  ]),
];
