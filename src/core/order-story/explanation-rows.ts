import { storedId } from '../../contract/public-id.ts';
import type { PublicId } from '../../contract/public-id.ts';
import { IsolationLevel } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import { beginning } from '../../contract/event-cursor.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';
import type { Database } from '../database/database.ts';
import {
  OrderRow,
  PaymentAttemptRow,
  RefundRow,
  SettlementRow,
  StrayPaymentRow,
} from '../database/order-entities.ts';
import { orderOf } from '../database/order-rows.ts';
import type { Environment, Order } from '../domain/order.ts';
import type { Refund } from '../domain/refund-record.ts';
import { refundOf } from '../payments/changes/refund-row.ts';
import type { NameInEnvironment } from '../rpc/order-key.ts';

/** The rows that decide what an order waits for. */
export interface ExplanationRows {
  readonly order: Order;
  /** The cursor of the order's last event. */
  readonly lastEvent: EventCursor;
  readonly latestAttempt: PaymentAttemptRow | null;
  /** The oldest that is not returned; null without one. */
  readonly openStray: Omit<StrayPaymentRow, symbol> | null;
  /** The oldest that is not decided; null without one. */
  readonly openRefund: Refund | null;
  /** Newest first. */
  readonly settlements: readonly Omit<SettlementRow, symbol>[];
}

/** Reads the rows from one snapshot. Undefined when the merchant has no such order in this environment. */
export type ReadExplanationRows = (
  name: { readonly merchantId: PublicId<'mer'>; readonly environment: Environment } & NameInEnvironment,
) => Promise<ExplanationRows | undefined>;

/** The cursor of an order's last event. */
export async function readLastEvent(em: EntityManager, row: OrderRow): Promise<EventCursor> {
  const [cursor] = await em.execute<EventCursor[]>(
    `select xid::text as xid, position::text as position from core.order_events
     where merchant_id = ? and order_id = ? and sequence = ?`,
    [row.merchantId, row.id, row.lastEventSequence],
  );
  return cursor ?? beginning;
}

/** An order can have thousands of refunds, of which few are not decided. */
export async function readOpenRefund(em: EntityManager, row: OrderRow): Promise<Refund | null> {
  const { merchantId, id: orderId } = row;
  const status = { $in: ['AWAITING_APPROVAL' as const, 'REVERSAL_DUE' as const] };
  const [oldest] = await em.find(
    RefundRow,
    { merchantId, orderId, status },
    { orderBy: { id: 'asc' }, limit: 1 },
  );
  return oldest === undefined ? null : refundOf(oldest);
}

/**
 * Payers can pay an order any number of times, and the wallet returns most of these payments. While the order can be paid, only a payment of
 * one of its attempts counts (`ExplainedStray`).
 */
export async function readOpenStray(em: EntityManager, row: OrderRow): Promise<StrayPaymentRow | null> {
  const { merchantId, id: orderId } = row;
  const ofAttempt = row.status === 'PENDING' ? { paymentAttemptId: { $ne: null } } : {};
  const [oldest] = await em.find(
    StrayPaymentRow,
    { merchantId, orderId, status: { $ne: 'REVERSED' }, ...ofAttempt },
    { orderBy: { id: 'asc' }, limit: 1 },
  );
  return oldest ?? null;
}

/** More settlements than an order has. Open ones are among the newest, because a proposal expires. */
const maxSettlements = 200;

/** Six statements, each of which reads an index. */
export function createReadExplanationRows(database: Database): ReadExplanationRows {
  return ({ merchantId: shownMerchantId, environment, ...name }) => {
    const merchantId = storedId('mer', shownMerchantId);
    const key = name.by === 'id' ? { id: storedId('ord', name.value) } : { orderNumber: name.value };
    return database.fork().transactional(
      async (em) => {
        const row = await em.findOne(OrderRow, { merchantId, environment, ...key });
        if (row === null) return undefined;
        const { latestAttemptId } = row;
        const latestAttempt =
          latestAttemptId == null
            ? null
            : await em.findOneOrFail(PaymentAttemptRow, { merchantId, id: latestAttemptId });
        const ofOrder = { merchantId, orderId: row.id };
        const newest = { orderBy: { id: 'desc' }, limit: maxSettlements } as const;
        const settlements = await em.find(SettlementRow, ofOrder, newest);
        return {
          lastEvent: await readLastEvent(em, row),
          order: orderOf(row, latestAttempt),
          latestAttempt,
          openStray: await readOpenStray(em, row),
          openRefund: await readOpenRefund(em, row),
          settlements,
        };
      },
      { isolationLevel: IsolationLevel.REPEATABLE_READ, readOnly: true },
    );
  };
}
