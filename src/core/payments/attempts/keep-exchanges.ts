import { create, fromBinary } from '@bufbuild/protobuf';
import type { EntityManager } from '@mikro-orm/postgresql';
import { WalletExchangeSchema } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { WalletExchange } from '../../../gen/gatehouse/v1/payment_attempt_service_pb.js';
import { encodeMessage } from '../../../platform/rpc/message-bytes.ts';
import { WalletExchangeRow } from '../../database/order-entities.ts';
import { storedId } from '../../../contract/public-id.ts';
import type { NewId, StoredId } from '../../../contract/public-id.ts';
import { countExchanges } from './count-exchanges.sql.ts';
import type { ExchangeOwner, RecentExchanges } from './count-exchanges.sql.ts';
import { isFlooded } from '../../domain/hastened.ts';

/** The number of an attempt's first exchanges that are always kept, besides the latest ones. */
const firstKept = 20;
const latestKept = 30;
/** The number of requests to pay or return money that are also kept between these. A refund that the wallet never accepts is requested hourly. */
const requestsKept = 50;

export interface KeptExchanges {
  readonly exchanges: readonly WalletExchange[];
  /** Whether they decided the attempt, and so are kept permanently. */
  readonly areDecisive: boolean;
  readonly newId: NewId;
  readonly at: Date;
  /** The number of exchanges that are stored already, if the caller has counted them. */
  readonly stored?: number | undefined;
}

/**
 * Stores wire exchanges with their owner, whose order or own row the transaction has locked. Ids sort by time, and within the
 * transaction by their counter. A wallet that never decides is queried without end, and callbacks may come often. So exchanges
 * in the middle are dropped and counted. Decisive exchanges and the first requests to pay or return money are always kept.
 */
export async function keepExchanges(
  em: EntityManager,
  owner: ExchangeOwner,
  { exchanges, areDecisive, newId, at, stored }: KeptExchanges,
): Promise<void> {
  const entries = exchanges.map((exchange) => ({ ...exchange, decisive: areDecisive, omitted: 0 }));
  await insertExchanges(em, owner, entries, { newId, at, stored });
}

/** A callback of a wallet, or a message of the same kind. */
export interface KeptCallback extends Pick<KeptExchanges, 'newId' | 'at' | 'stored'> {
  readonly exchange: WalletExchange;
  readonly recent: RecentExchanges;
}

/**
 * Stores a callback like any exchange. If its owner has had many recent exchanges, the callback is only counted (`isFlooded`).
 * Counted callbacks share an entry, which has the time of the latest. So repeated callbacks add no rows, and displace no stored
 * exchange.
 */
export async function keepCallback(
  em: EntityManager,
  owner: ExchangeOwner,
  { exchange, recent, newId, at, stored }: KeptCallback,
): Promise<void> {
  if (!isFlooded(recent.count)) {
    await keepExchanges(em, owner, { exchanges: [exchange], areDecisive: false, newId, at, stored });
    return;
  }
  const { counting } = recent;
  const key = { merchantId: owner.merchantId, paymentAttemptId: owner.id };
  // A callback about the reversal of an attempt has another lock, and may replace the same entry at this moment.
  const isReplaced =
    counting !== undefined && (await em.nativeDelete(WalletExchangeRow, { ...key, id: counting.id })) > 0;
  if (isReplaced) {
    const { startTime, omitted } = counting.exchange;
    addRow(em, key, countingEntry(startTime, omitted + 1), exchangeId({ newId, at }));
  } else await insertExchanges(em, owner, [countingEntry(exchange.startTime, 1)], { newId, at, stored });
}

async function insertExchanges(
  em: EntityManager,
  owner: ExchangeOwner,
  entries: readonly WalletExchange[],
  { newId, at, stored }: Pick<KeptExchanges, 'newId' | 'at' | 'stored'>,
): Promise<void> {
  const key = { merchantId: owner.merchantId, paymentAttemptId: owner.id };
  const before = stored ?? (await countExchanges(em, [owner]))(owner);
  await dropMiddle(em, key, before + entries.length - firstKept - latestKept);
  for (const [index, entry] of entries.entries()) addRow(em, key, entry, exchangeId({ newId, at }, index));
}

interface ExchangeKey {
  readonly merchantId: StoredId<'mer'>;
  readonly paymentAttemptId: StoredId<'pat' | 'ppm'>;
}

const addRow = (em: EntityManager, key: ExchangeKey, entry: WalletExchange, id: string): void =>
  void em.create(WalletExchangeRow, { ...key, id, payload: payloadOf(entry) });

/** The id of one of the exchanges that are stored at `at`. The twelve bits after the time are their counter (RFC 9562, 6.2). */
function exchangeId({ newId, at }: Pick<KeptExchanges, 'newId' | 'at'>, index = 0): string {
  const id = storedId('pat', newId('pat', at));
  return `${id.slice(0, 15)}${index.toString(16).padStart(3, '0')}${id.slice(18)}`;
}

const payloadOf = (exchange: WalletExchange): Buffer => encodeMessage(WalletExchangeSchema, exchange);

/** The entry that replaces exchanges. */
const countingEntry = (startTime: WalletExchange['startTime'], omitted: number): WalletExchange =>
  create(WalletExchangeSchema, {
    purpose: 'omitted',
    ...(startTime === undefined ? {} : { startTime }),
    omitted,
  });

async function dropMiddle(em: EntityManager, key: ExchangeKey, surplus: number): Promise<void> {
  if (surplus <= 0) return;
  const middle = (
    await em.find(WalletExchangeRow, key, { orderBy: { id: 'asc' }, offset: firstKept, limit: surplus })
  ).map((row) => ({ row, exchange: fromBinary(WalletExchangeSchema, row.payload) }));
  let requests = 0;
  const dropped = middle.filter(({ exchange }) => {
    if (isRequest(exchange)) requests += 1;
    return !exchange.decisive && (!isRequest(exchange) || requests > requestsKept);
  });
  // The first entry that counts dropped exchanges counts these too. Without one, it replaces the first of them.
  const counting = dropped.find(({ exchange }) => exchange.omitted > 0) ?? dropped[0];
  if (counting === undefined) return;
  const omitted = dropped.reduce((sum, { exchange }) => sum + Math.max(exchange.omitted, 1), 0);
  counting.row.payload = payloadOf(countingEntry(counting.exchange.startTime, omitted));
  for (const each of dropped) if (each !== counting) em.remove(each.row);
}

const isRequest = ({ purpose }: WalletExchange): boolean => purpose === 'initiate' || purpose === 'reverse';
