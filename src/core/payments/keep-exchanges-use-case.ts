import type { EntityManager } from '@mikro-orm/postgresql';
import { WalletExchangeSchema } from '../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { WalletExchange } from '../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { encodeMessage } from '../../runtime/rpc/message-bytes.ts';
import { WalletExchangeRow } from '../database/entities.ts';
import type { PaymentAttemptRow } from '../database/entities.ts';
import { storedId } from '../../runtime/public-id.ts';
import type { NewId } from '../../runtime/public-id.ts';

/** Keeps what went over the wire with the attempt; ids sort by time, and within the transaction by order. */
export function keepExchanges(
  em: EntityManager,
  attempt: Pick<PaymentAttemptRow, 'merchantId' | 'id'>,
  exchanges: readonly WalletExchange[],
  newId: NewId,
  at: Date,
): void {
  for (const [index, exchange] of exchanges.entries()) {
    em.create(WalletExchangeRow, {
      merchantId: attempt.merchantId,
      paymentAttemptId: attempt.id,
      id: storedId('pat', newId('pat', new Date(at.getTime() + index))),
      payload: encodeMessage(WalletExchangeSchema, exchange),
    });
  }
}
