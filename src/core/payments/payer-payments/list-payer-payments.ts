import { fromBinary } from '@bufbuild/protobuf';
import { storedId } from '../../../contract/public-id.ts';
import type { PublicId } from '../../../contract/public-id.ts';
import { WalletExchangeSchema } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { Database } from '../../database/database.ts';
import { WalletExchangeRow } from '../../database/order-entities.ts';
import { PayerPaymentRow } from '../../database/payer-payment-entities.ts';
import type { Environment } from '../../domain/order.ts';
import type { PayerPaymentStatus } from '../../domain/payer-payment.ts';
import { exchangeOwner } from './payer-payment-row.ts';
import type { PayerPayment } from './payer-payment-row.ts';

export interface PayerPaymentFilter {
  readonly environment: Environment | undefined;
  /** All when ''. */
  readonly wallet: string;
  readonly statuses: readonly PayerPaymentStatus[];
  readonly beforeId: PublicId<'ppm'> | undefined;
  readonly limit: number;
}

/** Payments that payers started, for display. */
export interface PayerPaymentReader {
  readonly get: (
    id: PublicId<'ppm'>,
  ) => Promise<{ payment: PayerPayment; exchanges: readonly WalletExchange[] } | undefined>;
  /** Newest first. */
  readonly list: (filter: PayerPaymentFilter) => Promise<PayerPayment[]>;
}

export function createPayerPaymentReader(database: Database): PayerPaymentReader {
  return {
    async get(id) {
      const em = database.fork();
      const payment = await em.findOne(PayerPaymentRow, { id: storedId('ppm', id) });
      if (payment === null) return undefined;
      const { merchantId, id: paymentAttemptId } = exchangeOwner(payment);
      const rows = await em.find(
        WalletExchangeRow,
        { merchantId, paymentAttemptId },
        { orderBy: { id: 'asc' } },
      );
      return { payment, exchanges: rows.map(({ payload }) => fromBinary(WalletExchangeSchema, payload)) };
    },
    list: ({ environment, wallet, statuses, beforeId, limit }) => {
      const where = {
        ...(environment === undefined ? {} : { environment }),
        ...(wallet === '' ? {} : { wallet }),
        ...(statuses.length === 0 ? {} : { status: { $in: [...statuses] } }),
        ...(beforeId === undefined ? {} : { id: { $lt: storedId('ppm', beforeId) } }),
      };
      return database.fork().find(PayerPaymentRow, where, { orderBy: { id: 'desc' }, limit });
    },
  };
}
