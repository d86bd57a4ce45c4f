import { fromBinary } from '@bufbuild/protobuf';
import { WalletExchangeSchema } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { Database } from '../../database/database.ts';
import { findAttemptsOf } from '../../database/attempts-of-orders.ts';
import { OrderRow, PaymentAttemptRow, WalletExchangeRow } from '../../database/order-entities.ts';
import { attemptOf, orderOf, undecidedDetail } from '../../database/order-rows.ts';
import { firstWithin } from '../../rpc/first-within.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { PublicId, StoredId } from '../../../contract/public-id.ts';
import type { Environment, Order, PaymentAttempt, PaymentAttemptStatus } from '../../domain/order.ts';

export interface PaymentAttemptStory {
  readonly order: Order;
  readonly attempt: PaymentAttempt;
  readonly providerReference: string;
  readonly providerTransactionId: string;
  readonly dueAt: Date | null;
  /** Why the latest answer decided nothing; empty if it did, or if there was none. */
  readonly detail: string;
  readonly exchanges: readonly WalletExchange[];
}

export interface PaymentAttemptFilter {
  readonly merchantId: PublicId<'mer'>;
  readonly environment: Environment;
  readonly statuses: readonly PaymentAttemptStatus[];
  /** Restricts the list to one order. */
  readonly orderId: PublicId<'ord'> | undefined;
  readonly beforeId: PublicId<'pat'> | undefined;
  readonly limit: number;
}

export interface ListedAttempt {
  readonly id: PublicId<'pat'>;
  readonly orderId: StoredId<'ord'>;
  readonly attempt: PaymentAttempt;
}

/** Payment attempts for display. */
export interface PaymentReader {
  readonly get: (
    merchantId: PublicId<'mer'>,
    attemptId: PublicId<'pat'>,
  ) => Promise<PaymentAttemptStory | undefined>;
  /** Newest first. */
  readonly list: (filter: PaymentAttemptFilter) => Promise<ListedAttempt[]>;
}

const maxExchanges = 200;
/** Leaves room for the rest of the response below the message limit. */
const maxExchangeBytes = 3 * 1024 * 1024;

export function createPaymentReader(database: Database): PaymentReader {
  const listAttempts = ({ merchantId, environment, statuses, beforeId, limit }: PaymentAttemptFilter) => {
    const where = {
      merchantId: storedId('mer', merchantId),
      environment,
      ...(statuses.length === 0 ? {} : { status: { $in: [...statuses] } }),
      ...(beforeId === undefined ? {} : { id: { $lt: storedId('pat', beforeId) } }),
    };
    return database.fork().find(PaymentAttemptRow, where, { orderBy: { id: 'desc' }, limit });
  };
  // An order has few attempts, so all are read. With a limit, PostgreSQL would read all newer attempts of the merchant.
  const listAttemptsOf = async (
    { merchantId, environment, statuses, beforeId, limit }: PaymentAttemptFilter,
    orderId: PublicId<'ord'>,
  ) => {
    const order = { merchantId: storedId('mer', merchantId), environment, orderId: storedId('ord', orderId) };
    const before = beforeId === undefined ? undefined : storedId('pat', beforeId);
    const rows = (await findAttemptsOf(database.fork(), [order])).toReversed();
    return rows
      .filter(({ id }) => before === undefined || id < before)
      .filter(({ status }) => statuses.length === 0 || statuses.includes(status))
      .slice(0, limit);
  };
  return {
    async get(merchantId, attemptId) {
      const em = database.fork();
      const key = { merchantId: storedId('mer', merchantId), id: storedId('pat', attemptId) };
      const row = await em.findOne(PaymentAttemptRow, key);
      if (row === null) return undefined;
      const { environment, orderId } = row;
      const order = await em.findOneOrFail(OrderRow, {
        merchantId: key.merchantId,
        environment,
        id: orderId,
      });
      // latestAttemptId is never null here, because the order has an attempt.
      const latest = await em.findOne(PaymentAttemptRow, {
        merchantId: key.merchantId,
        id: order.latestAttemptId ?? key.id,
      });
      const exchanges = await em.find(
        WalletExchangeRow,
        { merchantId: key.merchantId, paymentAttemptId: key.id },
        { orderBy: { id: 'desc' }, limit: maxExchanges },
      );
      return {
        order: orderOf(order, latest),
        attempt: attemptOf(row),
        providerReference: row.providerReference ?? '',
        providerTransactionId: row.providerTransactionId ?? '',
        dueAt: row.dueAt ?? null,
        detail: undecidedDetail(row),
        // Oldest first.
        exchanges: firstWithin(exchanges, maxExchangeBytes)
          .map(({ payload }) => fromBinary(WalletExchangeSchema, payload))
          .toReversed(),
      };
    },
    async list(filter) {
      const rows = await (filter.orderId === undefined
        ? listAttempts(filter)
        : listAttemptsOf(filter, filter.orderId));
      return rows.map((row) => ({ id: attemptOf(row).id, orderId: row.orderId, attempt: attemptOf(row) }));
    },
  };
}
