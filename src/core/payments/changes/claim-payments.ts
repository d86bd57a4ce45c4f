import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql';
import { publicId, storedId } from '../../../contract/public-id.ts';
import type { Logger } from '../../../platform/logger.ts';
import type { Database } from '../../database/database.ts';
import { OrderRow } from '../../database/order-entities.ts';
import { recovering } from '../../database/payment-gate.ts';
import type { PaymentGate } from '../../database/payment-gate.ts';
import { UnclaimedPaymentRow } from '../../database/recovery-entities.ts';
import type { Environment, Order } from '../../domain/order.ts';
import { createAdoptPayment } from './adopt-payment.ts';
import type { AdoptPaymentParts } from './adopt-payment.ts';
import type { NumberedOrder } from './attempt-ids.ts';

/**
 * Payments at wallets whose orders were lost with the database. When the order is sent again, it gets its payment and is not
 * charged a second time.
 */
export interface ClaimPayments {
  /**
   * Payments at a wallet that name this order and that core has no record of, oldest first. Reads nothing if none can name the order. A transaction
   * passes its own `em`. If transactions that hold all connections each waited for a second one, they would wait for ever.
   */
  readonly find: (order: NumberedOrder, em?: EntityManager) => Promise<readonly UnclaimedPaymentRow[]>;
  /** Whether `find` finds money. */
  readonly isPaid: (order: NumberedOrder) => Promise<boolean>;
  /**
   * Gives the order its lost payment as an attempt that the wallet is asked about. Returns whether there was one.
   * @throws RECOVERING when the merchant has no account with which the wallet can be asked
   */
  readonly claim: (order: Pick<Order, 'id'> & NumberedOrder, requestId: string) => Promise<boolean>;
  /** `claim` for an order that its id names. It does nothing without such an order. */
  readonly claimFor: (
    order: Pick<Order, 'merchantId' | 'environment' | 'id'>,
    requestId: string,
  ) => Promise<void>;
  /** Claims for every PENDING order. Returns the number of claimed payments. */
  readonly claimAll: (environment: Environment) => Promise<number>;
}

export interface ClaimPaymentsParts extends AdoptPaymentParts {
  readonly database: Database;
  readonly gate: Pick<PaymentGate, 'hasUnclaimed' | 'mayBeUnclaimed'>;
  readonly logger: Pick<Logger, 'warn'>;
}

const pageSize = 500;
/** Few payments name one order. Payers could add others. */
const maxOfOrder = 20;

export function createClaimPayments(parts: ClaimPaymentsParts): ClaimPayments {
  const { database, attemptIds, gate } = parts;
  const adopt = createAdoptPayment(parts);

  const find: ClaimPayments['find'] = async (order, em = database.fork()) => {
    const { environment } = order;
    if (!gate.hasUnclaimed(environment)) return [];
    const ends = attemptIds.endsOf(order);
    if (!gate.mayBeUnclaimed(environment, ends)) return [];
    return em.find(
      UnclaimedPaymentRow,
      { environment, referenceEnd: { $in: [...ends] }, claimedAt: null },
      { orderBy: { foundAt: 'asc' }, limit: maxOfOrder },
    );
  };

  const claim: ClaimPayments['claim'] = async (order, requestId) => {
    let missing: UnclaimedPaymentRow | undefined;
    for (const money of await find(order)) {
      const adopted = await adopt(order, money, requestId);
      if (adopted === 'adopted') return true;
      if (adopted === 'account_missing') missing ??= money;
    }
    if (missing === undefined) return false;
    const { merchantId: merchant_id, id: order_id } = order;
    parts.logger.warn(
      { merchant_id, order_id, wallet: missing.wallet, payee: missing.payee },
      "an order was paid before the restore, and its merchant's wallet account with that payee is missing; add the account again",
    );
    // The order must be neither charged again nor asked about with other credentials, which would not find its payment.
    throw recovering();
  };

  return {
    find,
    isPaid: async (order) => (await find(order)).length > 0,
    claim,
    async claimFor({ merchantId, environment, id }, requestId) {
      if (!gate.hasUnclaimed(environment)) return;
      const key = { merchantId: storedId('mer', merchantId), environment, id: storedId('ord', id) };
      const row = await database.fork().findOne(OrderRow, key);
      if (row !== null) await claim({ merchantId, environment, id, orderNumber: row.orderNumber }, requestId);
    },
    async claimAll(environment) {
      const em = database.fork();
      const unclaimed = await em.find(UnclaimedPaymentRow, { environment, claimedAt: null });
      if (unclaimed.length === 0) return 0;
      const byEnd = Map.groupBy(unclaimed, ({ referenceEnd }) => referenceEnd);
      let claimed = 0;
      for await (const row of pendingOrders(database, environment)) {
        const order = {
          id: publicId('ord', row.id),
          merchantId: publicId('mer', row.merchantId),
          environment,
          orderNumber: row.orderNumber,
        };
        for (const money of attemptIds.endsOf(order).flatMap((end) => byEnd.get(end) ?? [])) {
          if ((await adopt(order, money, '')) !== 'adopted') continue;
          claimed += 1;
          break;
        }
      }
      return claimed;
    },
  };
}

/**
 * The PENDING orders of an environment by the time of their next check, page by page, so that few of the other orders are read. That time
 * only grows. So an order is read twice at most, and is not left out.
 */
async function* pendingOrders(database: Database, environment: Environment): AsyncGenerator<OrderRow> {
  for (let last: OrderRow | undefined; ;) {
    const rows: OrderRow[] = await database
      .fork()
      .find(
        OrderRow,
        { environment, status: 'PENDING', ...ordersAfter(last) },
        { orderBy: { sweepAt: 'asc', id: 'asc' }, limit: pageSize },
      );
    yield* rows;
    last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) return;
  }
}

function ordersAfter(last: OrderRow | undefined): FilterQuery<OrderRow> & object {
  if (last?.sweepAt == null) return { sweepAt: { $ne: null } };
  const { id, sweepAt } = last;
  return { sweepAt: { $gte: sweepAt }, $or: [{ sweepAt: { $gt: sweepAt } }, { id: { $gt: id } }] };
}
