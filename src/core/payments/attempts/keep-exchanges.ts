import { create, fromBinary } from '@bufbuild/protobuf';
import type { EntityManager } from '@mikro-orm/postgresql';
import { WalletExchangeSchema } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { encodeMessage } from '../../../platform/rpc/message-bytes.ts';
import { WalletExchangeRow } from '../../database/order-entities.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { NewId, StoredId } from '../../../contract/public-id.ts';

/** The number of an attempt's first exchanges that are always kept, besides the latest ones. */
const firstKept = 20;
const latestKept = 30;

export interface KeptExchanges {
  readonly exchanges: readonly WalletExchange[];
  /** Whether they decided the attempt, and so are kept permanently. */
  readonly areDecisive: boolean;
  readonly newId: NewId;
  readonly at: Date;
  /** The number of exchanges that are stored already, if the caller has counted them. */
  readonly stored?: number;
}

/** The attempt that exchanges belong to, or the payer-started payment, whose merchantId is that of no merchant. */
export interface ExchangeOwner {
  readonly merchantId: StoredId<'mer'>;
  readonly id: StoredId<'pat' | 'ppm'>;
}

/**
 * Stores wire exchanges with their owner, whose order or own row the transaction has locked. Ids sort by time, and within the
 * transaction by order. A wallet that never decides is queried without end, and callbacks may come often. So exchanges
 * in the middle are dropped and counted. Payment requests and decisive exchanges are always kept.
 */
export async function keepExchanges(
  em: EntityManager,
  owner: ExchangeOwner,
  { exchanges, areDecisive, newId, at, stored }: KeptExchanges,
): Promise<void> {
  const key = { merchantId: owner.merchantId, paymentAttemptId: owner.id };
  const before = stored ?? (await em.count(WalletExchangeRow, key));
  await dropMiddle(em, key, before + exchanges.length - firstKept - latestKept);
  for (const [index, exchange] of exchanges.entries()) {
    em.create(WalletExchangeRow, {
      ...key,
      id: storedId('pat', newId('pat', new Date(at.getTime() + index))),
      payload: payloadOf({ ...exchange, decisive: areDecisive, omitted: 0 }),
    });
  }
}

const payloadOf = (exchange: WalletExchange): Buffer => encodeMessage(WalletExchangeSchema, exchange);

async function dropMiddle(
  em: EntityManager,
  key: { readonly merchantId: StoredId<'mer'>; readonly paymentAttemptId: StoredId<'pat' | 'ppm'> },
  surplus: number,
): Promise<void> {
  if (surplus <= 0) return;
  const middle = (
    await em.find(WalletExchangeRow, key, { orderBy: { id: 'asc' }, offset: firstKept, limit: surplus })
  ).map((row) => ({ row, exchange: fromBinary(WalletExchangeSchema, row.payload) }));
  const counted = middle.find(({ exchange }) => exchange.omitted > 0);
  const dropped = middle.filter(({ exchange }) => exchange.omitted === 0 && !isKeptForGood(exchange));
  // The entry that counts the dropped exchanges replaces the first of them.
  const counting = counted ?? dropped.shift();
  if (counting === undefined) return;
  const { startTime, omitted } = counting.exchange;
  counting.row.payload = payloadOf(
    create(WalletExchangeSchema, {
      purpose: 'omitted',
      ...(startTime === undefined ? {} : { startTime }),
      omitted: Math.max(omitted, 1) + dropped.length,
    }),
  );
  for (const { row } of dropped) em.remove(row);
}

const isKeptForGood = ({ decisive, purpose }: WalletExchange): boolean =>
  decisive || purpose === 'initiate' || purpose === 'reverse';
