import type { EntityManager } from '@mikro-orm/postgresql';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import { bulkStatement, plainColumn, rowList } from '../../../platform/database/bulk-statement.ts';
import { findAllByKey } from '../../../platform/database/find-by-key.ts';
import type { Statement } from '../../../platform/database/run-statement.ts';
import { runReading } from '../../../platform/database/transaction-statement.ts';
import type { OrderRow, RefundRow, StrayPaymentRow } from '../../database/order-entities.ts';
import { findAttemptsOf } from '../../database/attempts-of-orders.ts';
import { PaymentAttemptRow } from '../../database/order-entities.ts';
import { attemptOf, orderOf } from '../../database/order-rows.ts';
import type { Order, OrderInFull } from '../../domain/order.ts';
import { isInFlight } from '../../domain/order.ts';
import { lockFreeOrders, lockFreeOrdersOfAttempts, lockOrder, lockOrderOf } from './lock-order.sql.ts';

/*
 * The rows of an order: its own, those of its attempts, of its events, of its refunds and of its stray payments. Every change of
 * any of them locks the order's row first, so no two transactions wait for each other in a circle.
 */

/** Finds the row of one order and locks it until the transaction ends; undefined when there is none. */
export type LockOrder = (em: EntityManager) => Promise<OrderRow | undefined>;

/** Locks an order by its public id, after the statements `first`. */
export const orderOfId =
  (
    { merchantId, environment, id }: Pick<Order, 'merchantId' | 'environment' | 'id'>,
    first?: readonly Statement[],
  ): LockOrder =>
  (em) =>
    lockOrder(em, { merchantId: storedId('mer', merchantId), environment, id: storedId('ord', id) }, first);

/** Finds and locks orders by one kind of name. */
export interface OrderLock<Name> {
  readonly one: (name: Name) => LockOrder;
  /** Locks the orders that no other transaction holds, without waiting; undefined in place of the others. */
  readonly free: (em: EntityManager, names: readonly Name[]) => Promise<(OrderRow | undefined)[]>;
}

/** Locks orders by their public ids. */
export const byOrderId: OrderLock<Pick<Order, 'merchantId' | 'environment' | 'id'>> = {
  one: (name) => orderOfId(name),
  free: (em, names) =>
    lockFreeOrders(
      em,
      names.map(({ merchantId, environment, id }) => ({
        merchantId: storedId('mer', merchantId),
        environment,
        id: storedId('ord', id),
      })),
    ),
};

/** Locks orders by the stored ids of their attempts. */
export const byAttempt: OrderLock<Pick<PaymentAttemptRow, 'merchantId' | 'id'>> = {
  one: (attempt) => orderOfAttempt(attempt),
  free: lockFreeOrdersOfAttempts,
};

/** Locks an order by the merchant's own reference, after the statements `first`. */
export const orderOfNumber =
  (
    { merchantId, environment, orderNumber }: Pick<Order, 'merchantId' | 'environment' | 'orderNumber'>,
    first?: readonly Statement[],
  ): LockOrder =>
  (em) =>
    lockOrder(em, { merchantId: storedId('mer', merchantId), environment, orderNumber }, first);

/** Locks the order of an attempt, by the attempt's stored id. */
export const orderOfAttempt =
  (attempt: Pick<PaymentAttemptRow, 'merchantId' | 'id'>): LockOrder =>
  (em) =>
    lockOrderOf(em, 'payment_attempts', attempt);

/** Locks the order of a refund, by the refund's stored id. */
export const orderOfRefund =
  (refund: Pick<RefundRow, 'merchantId' | 'id'>): LockOrder =>
  (em) =>
    lockOrderOf(em, 'refunds', refund);

/** Locks the order of a stray payment, by the stray payment's stored id. */
export const orderOfStrayPayment =
  (stray: Pick<StrayPaymentRow, 'merchantId' | 'id'>): LockOrder =>
  (em) =>
    lockOrderOf(em, 'stray_payments', stray);

/** The order of a row, with the facts about its attempts. */
export async function readOrder(em: EntityManager, row: OrderRow): Promise<OrderInFull> {
  const [order] = await readOrders(em, [row]);
  if (order === undefined) throw new Error('an order that was read is missing');
  return order;
}

/**
 * The orders of rows, in their order, with the facts about their attempts. The number of statements does not depend on the number
 * of orders. While the statements run, a transaction with locks holds back the events of all orders (ADR 4).
 */
export async function readOrders(em: EntityManager, rows: readonly OrderRow[]): Promise<OrderInFull[]> {
  const found = await readIntactOrders(em, rows, (_row, error) => {
    throw error;
  });
  return found.map(({ order }) => order);
}

/** The same orders, each with its index, without those that cannot be read. The ids of unreadable orders are passed to `leaveOut`. */
export async function readIntactOrders(
  em: EntityManager,
  all: readonly OrderRow[],
  leaveOut: (row: OrderRow, error: unknown) => void,
): Promise<{ readonly index: number; readonly order: OrderInFull }[]> {
  const latest = await readLatestAttempts(em, all);
  const read = all.flatMap((row, index) => {
    try {
      return [{ index, row, order: orderOf(row, latestOf(row, latest)) }];
    } catch (error) {
      leaveOut(row, error);
      return [];
    }
  });
  const rows = read.map(({ row }) => row);
  const orders = read.map(({ order }) => order);
  const withPast = rows.filter((_, index) => hasPast(orders[index]));
  const attempts = await findAttemptsOf(em, keysOf(withPast.filter(({ attemptCount }) => attemptCount > 1)));
  const attemptsOf = Map.groupBy(attempts, ({ orderId }): string => orderId);
  const straysOf = await readStrayMoney(em, withPast);
  return read.map(({ index, row, order }) => ({
    index,
    order: {
      ...order,
      earlierAttempts: (attemptsOf.get(row.id) ?? [])
        .map(attemptOf)
        .filter(({ id }) => id !== order.latestAttempt?.id),
      strayMoney: straysOf.get(row.id) ?? [],
    },
  }));
}

/**
 * Whether there may be facts about earlier attempts. They stay true under the order's lock, because stray payments are recorded
 * under that lock. A completed reversal never becomes stray again. A single attempt in flight has left no facts. So most orders
 * need no further statement.
 */
function hasPast(order: Order | undefined): boolean {
  const attempt = order?.latestAttempt ?? null;
  return attempt !== null && !(order?.attemptCount === 1 && isInFlight(attempt));
}

/** The latest attempts of these orders, by their stored ids. */
async function readLatestAttempts(
  em: EntityManager,
  rows: readonly OrderRow[],
): Promise<ReadonlyMap<string, PaymentAttemptRow>> {
  const keys = rows.flatMap(({ merchantId, latestAttemptId: id }) =>
    id == null ? [] : [{ merchantId, id }],
  );
  const attempts = await findAllByKey(em, PaymentAttemptRow, keys);
  return new Map(attempts.map((attempt) => [attempt.id, attempt]));
}

function latestOf(
  { latestAttemptId: id }: OrderRow,
  attempts: ReadonlyMap<string, PaymentAttemptRow>,
): PaymentAttemptRow | null {
  if (id == null) return null;
  const attempt = attempts.get(id);
  if (attempt === undefined) throw new Error('the latest attempt of an order is missing');
  return attempt;
}

const keysOf = (rows: readonly OrderRow[]) =>
  rows.map(({ merchantId, environment, id: orderId }) => ({ merchantId, orderId, environment }));

type StrayMoney = OrderInFull['strayMoney'][number];

type StoredStray = Pick<StrayMoney, 'amount' | 'currency' | 'status'> & {
  readonly order_id: StoredId<'ord'>;
  readonly attempt_id: StoredId<'pat'>;
  readonly found_ms: number;
};

// Money that a payer sent for an order without a request of ours does not prevent other payments. When one order has most stray payments, the
// planner expects as many of each order, and would read all of them. The range of one id and the offset make it use the index of orders.
const strayPayments = bulkStatement(
  'stray-payments-of-attempts',
  {
    of: rowList<ReturnType<typeof keysOf>[number]>(
      {
        merchant_id: plainColumn('uuid', (key) => key.merchantId),
        environment: plainColumn('core.environment', (key) => key.environment),
        order_id: plainColumn('uuid', (key) => key.orderId),
      },
      { hidesLength: true },
    ),
  },
  (sql) => `
select s.order_id, s.payment_attempt_id as attempt_id, s.amount, s.currency, s.status,
  (extract(epoch from s.created_at) * 1000)::float8 as found_ms
from ${sql.of}
cross join lateral (
  select * from core.stray_payments
  where merchant_id = of.merchant_id and environment = of.environment and order_id between of.order_id and of.order_id
    and payment_attempt_id is not null
  offset 0
) s
order by s.id`,
);

/** The stray payments of orders' attempts, by the orders' stored ids, the oldest first. */
async function readStrayMoney(
  em: EntityManager,
  rows: readonly OrderRow[],
): Promise<ReadonlyMap<string, readonly StrayMoney[]>> {
  const strays =
    rows.length === 0 ? [] : await runReading<StoredStray>(em, strayPayments.with({ of: keysOf(rows) }));
  const byOrder = new Map<string, StrayMoney[]>();
  for (const { order_id: orderId, attempt_id: id, amount, currency, status, found_ms: foundMs } of strays) {
    const ofOrder = byOrder.get(orderId) ?? [];
    const foundAt = new Date(foundMs);
    ofOrder.push({ attemptId: publicId('pat', id), amount, currency, status, foundAt });
    byOrder.set(orderId, ofOrder);
  }
  return byOrder;
}
