import type { EntityManager } from '@mikro-orm/postgresql';
import { LockMode } from '@mikro-orm/postgresql';
import { isPublicId, storedId } from '../../../contract/public-id.ts';
import type { StoredId } from '../../../contract/public-id.ts';
import { walletOf } from '../../../contract/payment-option.ts';
import type { Order, OrderEvent as OrderEventMessage } from '../../../gen/gatehouse/v1/order_pb.js';
import type { Database } from '../../database/database.ts';
import { isDataRefused } from '../../../platform/database/explain-error.ts';
import { findAttemptsOf } from '../../database/attempts-of-orders.ts';
import { OrderEventRow, OrderRow, PaymentAttemptRow, RefundRow } from '../../database/order-entities.ts';
import { RecoveredOrderRow } from '../../database/recovery-entities.ts';
import type { RecoveredOrderState, RecoveryRow } from '../../database/recovery-entities.ts';
import { readClock } from '../../database/read-clock.ts';
import { WalletReceiptRow } from '../../database/payer-payment-entities.ts';
import { WalletAccountRow } from '../../database/wallet-account-entity.ts';
import { parseEnvironment } from '../../rpc/environment.ts';
import { eventTypeOf } from '../../rpc/order-messages.ts';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { AccountTimeline } from './account-timeline.ts';
import {
  attemptColumns,
  supersededAttempt,
  idIn,
  latestParts,
  orderColumns,
  paidAttempts,
  refundColumns,
} from './lost-order.ts';

/** An event that the database lost, with the bytes that it had. */
export interface LostEvent {
  readonly event: OrderEventMessage;
  readonly payload: Uint8Array;
}

export interface Rebuilt {
  /** Public ids. */
  readonly orders: readonly string[];
  readonly events: number;
  /** Orders that the events contradict. They stay as they are. */
  readonly conflicts: readonly ({ readonly orderId: string } & Conflict)[];
}

interface Conflict {
  readonly state: Exclude<RecoveredOrderState, 'REBUILT'>;
  /** For the log. */
  readonly why: string;
}

export interface RebuildOptions {
  readonly accounts: AccountTimeline;
  /** Only conflicts that were recorded then or later count. */
  readonly noticedAt: Date;
  /** Its numbers of rebuilt orders and events grow in the same transactions, so that they stay right if core exits. */
  readonly recovery?: Pick<RecoveryRow, 'id' | 'lostUntil'>;
  /** After this time, the transaction gets no further order. By default a second. */
  readonly transactionMs?: number;
  /** Ends the work after the transaction that runs then. */
  readonly signal?: AbortSignal;
  /** Called after each transaction, with what this call has rebuilt so far. */
  readonly onCommit?: (rebuilt: Rebuilt) => void;
}

/** Orders per transaction. Each has a savepoint, and PostgreSQL keeps 64 of them in memory. */
const batchSize = 50;
/** An open transaction holds locks, and the events of all orders wait for it. On an overloaded machine, one order can take more than a second. */
const longestTransactionMs = 1_000;

/**
 * Writes the orders of lost events as the events left them, with their attempts, refunds and events. The ids and bytes of the events stay
 * the same. Events that the database has are skipped, so a repeat changes nothing. An order of which an event is missing is rebuilt too,
 * because its latest state matters more than a gap in its history. `doctor` reports the gap. The result of each order is recorded in the
 * same transaction. The events may come in parts. An order that one part contradicts stays as it is in all later parts. @throws the reason
 * of `signal`
 */
export async function rebuildOrders(
  database: Database,
  lost: readonly LostEvent[],
  options: RebuildOptions,
): Promise<Rebuilt> {
  const byOrder = Map.groupBy(lost, ({ event }) => event.order?.orderId ?? '');
  const all = [...byOrder].map(([orderId, events]) => ({
    orderId,
    events: events.toSorted((a, b) => Number(a.event.sequence - b.event.sequence)),
  }));
  const orders: string[] = [];
  const conflicts: ({ orderId: string } & Conflict)[] = [];
  let events = 0;
  for (let first = 0; first < all.length;) {
    options.signal?.throwIfAborted();
    const batch = all.slice(first, first + batchSize);
    const results = await database.fork().transactional((em) => rebuildBatch(em, batch, options));
    first += results.length;
    for (const { orderId, result } of results) {
      if (typeof result !== 'number') conflicts.push({ orderId, ...result });
      else if (result > 0) orders.push(orderId);
      if (typeof result === 'number') events += result;
    }
    options.onCommit?.({ orders, events, conflicts });
  }
  return { orders, events, conflicts };
}

interface LostOrder {
  readonly orderId: string;
  readonly events: readonly LostEvent[];
}

interface RebuiltOrder {
  readonly orderId: string;
  readonly result: number | Conflict;
}

/** Rebuilds the first of the orders, as many as the time allows and at least one. Returns their results. */
async function rebuildBatch(
  em: EntityManager,
  batch: readonly LostOrder[],
  { accounts, noticedAt, recovery, transactionMs = longestTransactionMs }: RebuildOptions,
): Promise<readonly RebuiltOrder[]> {
  const endsAt = performance.now() + transactionMs;
  const results: RebuiltOrder[] = [];
  const added = { orders: 0, events: 0 };
  for (const { orderId, events } of batch) {
    const result = await rebuildAlone(em, () => rebuildOrder(em, events, accounts, noticedAt));
    const order = events.at(-1)?.event.order;
    const isRebuilt = typeof result === 'number';
    if (order !== undefined && result !== 0) {
      const state = isRebuilt ? 'REBUILT' : result.state;
      if ((await recordResult(em, order, state, recovery?.lostUntil)) && isRebuilt) added.orders += 1;
    }
    if (isRebuilt) added.events += result;
    results.push({ orderId, result });
    // A flush compares all rows that the ORM has read, so without this each order would cost more than the one before.
    em.clear();
    if (performance.now() >= endsAt) break;
  }
  if (recovery !== undefined && added.events > 0)
    await em.execute(
      'update core.recoveries set rebuilt_orders = rebuilt_orders + ?, rebuilt_events = rebuilt_events + ? where id = ?',
      [added.orders, added.events, recovery.id],
    );
  return results;
}

/** Rebuilds one order. If the database refuses a change, the changes of this order are undone, and only this order is a conflict. */
async function rebuildAlone(
  em: EntityManager,
  rebuild: () => Promise<number | Conflict>,
): Promise<number | Conflict> {
  await em.execute('savepoint lost_order');
  try {
    const result = await rebuild();
    await em.execute('release savepoint lost_order');
    return result;
  } catch (error) {
    const conflict = conflictOf(error);
    if (conflict === undefined) throw error;
    await em.execute('rollback to savepoint lost_order');
    em.clear();
    return conflict;
  }
}

/** Undefined for an error that says nothing about the order. */
function conflictOf(error: unknown): Conflict | undefined {
  // A currency that this version does not know is a RangeError.
  if (error instanceof TypeError || error instanceof RangeError)
    return { state: 'UNREADABLE', why: error.message };
  if (error instanceof Error && isDataRefused(error))
    return { state: 'CHANGED_OTHERWISE', why: `the database refuses its events: ${error.message}` };
  return undefined;
}

/**
 * Adds an order to the list that operators and the merchant see. An order whose own ids cannot be read is in the log only. A conflict stays in the list,
 * even when a later recovery rebuilds the order. Returns whether this is the first result of the order since `since`.
 */
async function recordResult(
  em: EntityManager,
  order: Order,
  state: RecoveredOrderState,
  since = new Date(0),
): Promise<boolean> {
  const environment = parseEnvironment(order.environment);
  if (!isPublicId('mer', order.merchantId) || !isPublicId('ord', order.orderId) || !environment.ok)
    return false;
  const key = { merchantId: storedId('mer', order.merchantId), orderId: storedId('ord', order.orderId) };
  const before = await em.findOne(RecoveredOrderRow, key);
  if (state === 'REBUILT' && before !== null && before.state !== 'REBUILT') return false;
  const isFirst = before === null || before.recordedAt < since;
  await em.upsert(RecoveredOrderRow, {
    ...key,
    environment: environment.value,
    orderNumber: order.orderNumber,
    state,
    recordedAt: await readClock(em),
  });
  return isFirst;
}

/** Returns the number of added events, or why the order cannot be rebuilt. Decides before it writes anything. */
async function rebuildOrder(
  em: EntityManager,
  all: readonly LostEvent[],
  accounts: AccountTimeline,
  noticedAt: Date,
): Promise<number | Conflict> {
  const last = all.at(-1)?.event.order;
  if (last === undefined) return { state: 'UNREADABLE', why: 'an event has no order' };
  const columns = orderColumns(last);
  const { merchantId, environment, id: orderId, orderNumber } = columns;
  const key = { merchantId, environment, orderId };
  const row = await em.findOne(
    OrderRow,
    { merchantId, environment, id: orderId },
    { lockMode: LockMode.PESSIMISTIC_WRITE },
  );
  const before = await em.findOne(RecoveredOrderRow, { merchantId, orderId });
  if (before !== null && before.state !== 'REBUILT' && before.recordedAt >= noticedAt)
    return { state: before.state, why: 'earlier events of the order could not be rebuilt' };
  const lost = await missingEvents(em, key, all);
  if (lost === undefined)
    return { state: 'CHANGED_OTHERWISE', why: 'the order has changed in another way since the restore' };
  if (lost.length === 0) return 0;
  if (row === null && (await em.findOne(OrderRow, { merchantId, environment, orderNumber })) !== null)
    return { state: 'NUMBER_TAKEN', why: 'its order_number belongs to another order' };
  await writeLostEvents(em, key, { row, columns, lost }, accounts);
  return lost.length;
}

/** Writes the order as its lost events left it, with its parts and these events. */
async function writeLostEvents(
  em: EntityManager,
  key: OrderKey,
  {
    row,
    columns,
    lost,
  }: {
    /** Null if the database lacks the order. */
    readonly row: OrderRow | null;
    readonly columns: ReturnType<typeof orderColumns>;
    readonly lost: readonly LostEvent[];
  },
  accounts: AccountTimeline,
): Promise<void> {
  const { attempts, refunds } = latestParts(lost.map(({ event }) => event));
  const refundRows = refunds.map(refundColumns);
  const eventRows = lost.map(({ event, payload }) => eventColumns(event, payload));
  const storedAttempts = row === null ? [] : await findAttemptsOf(em, [key]);
  const storedAttempt = new Map(storedAttempts.map((attempt) => [attempt.id, attempt]));
  const attemptRows = paidAttempts(
    attempts.map(({ message, origin, transactionId }) => attemptColumns(message, origin, transactionId)),
    refundRows,
    columns,
    storedAttempt,
  );
  const latest = attemptRows.at(-1);
  const counts = {
    attemptCount: new Set([...storedAttempt.keys(), ...attemptRows.map((attempt) => attempt.id)]).size,
    latestAttemptId: latest?.id ?? row?.latestAttemptId ?? null,
  };
  if (row === null) em.create(OrderRow, { ...columns, ...counts });
  else em.assign(row, { ...columns, ...counts });
  await writeAttempts(em, key, attemptRows, storedAttempt, accounts);
  for (const refund of refundRows) await writeRefund(em, refund);
  for (const event of eventRows) em.create(OrderEventRow, { ...event, ...key });
  await em.flush();
}

type OrderKey = Pick<PaymentAttemptRow, 'merchantId' | 'environment' | 'orderId'>;

/** The events that the database lacks. Undefined if it has another event in the place of one of them. */
async function missingEvents(
  em: EntityManager,
  { merchantId, orderId }: OrderKey,
  all: readonly LostEvent[],
): Promise<readonly LostEvent[] | undefined> {
  const stored = await em.find(OrderEventRow, { merchantId, orderId }, { fields: ['sequence', 'id'] });
  const idOf = new Map(stored.map((event) => [event.sequence, event.id]));
  const missing: LostEvent[] = [];
  for (const each of all) {
    const knownId = idOf.get(Number(each.event.sequence));
    if (knownId === undefined) missing.push(each);
    else if (knownId !== idIn('evt', each.event.eventId)) return undefined;
  }
  return missing;
}

/** Writes the attempts of an order. Stored attempts before the latest are ended first, because an order has at most one open or paid attempt. */
async function writeAttempts(
  em: EntityManager,
  key: OrderKey,
  attemptRows: readonly ReturnType<typeof attemptColumns>[],
  storedAttempt: ReadonlyMap<string, PaymentAttemptRow>,
  accounts: AccountTimeline,
): Promise<void> {
  const latest = attemptRows.at(-1);
  const isSuperseded = ({ id, createdAt }: Pick<PaymentAttemptRow, 'id' | 'createdAt'>): boolean =>
    latest !== undefined && id !== latest.id && createdAt <= latest.createdAt;
  for (const attempt of storedAttempt.values())
    if (isSuperseded(attempt))
      em.assign(attempt, { status: supersededAttempt({ status: attempt.status }).status });
  await em.flush();
  for (const attempt of attemptRows) {
    const written = isSuperseded(attempt) ? supersededAttempt(attempt) : attempt;
    await writeAttempt(em, { ...written, ...key }, storedAttempt.get(attempt.id), accounts);
  }
}

async function writeAttempt(
  em: EntityManager,
  attempt: ReturnType<typeof attemptColumns> & OrderKey,
  stored: PaymentAttemptRow | undefined,
  accounts: AccountTimeline,
): Promise<void> {
  if (stored === undefined)
    em.create(PaymentAttemptRow, {
      ...attempt,
      walletAccountId: await accountOf(em, attempt, accounts),
    });
  // The columns about the work at the wallet keep their values.
  else em.assign(stored, { ...attempt, leases: Math.max(1, stored.leases), origin: stored.origin });
  await em.flush();
  const { providerTransactionId } = attempt;
  if (providerTransactionId !== undefined && attempt.status === 'SUCCEEDED')
    await addReceipt(em, { ...attempt, providerTransactionId });
}

async function writeRefund(em: EntityManager, refund: ReturnType<typeof refundColumns>): Promise<void> {
  const stored = await em.findOne(RefundRow, { merchantId: refund.merchantId, id: refund.id });
  if (stored === null) em.create(RefundRow, refund);
  else em.assign(stored, { ...refund, amountGiven: stored.amountGiven });
}

function eventColumns(event: OrderEventMessage, payload: Uint8Array) {
  const type = eventTypeOf(event.type);
  if (type === undefined || event.occurTime === undefined)
    throw new TypeError('an event has no type or time that this version knows');
  return {
    id: idIn('evt', event.eventId),
    sequence: Number(event.sequence),
    type,
    occurredAt: timestampDate(event.occurTime),
    payload: Buffer.from(payload),
  };
}

/**
 * The account with which the attempt was requested, null for the operator's. The events of an ended attempt name the account. An attempt in
 * flight gets the account that new payments used when the attempt began, by the changes of the lost time. Without such a change, it gets the
 * current account. The database may lack the account. Then the wallet is not asked before the account is added again.
 */
async function accountOf(
  em: EntityManager,
  attempt: Pick<
    PaymentAttemptRow,
    'merchantId' | 'environment' | 'paymentOption' | 'origin' | 'createdAt'
  > & {
    readonly walletAccountId?: StoredId<'wac'> | null;
  },
  accounts: AccountTimeline,
): Promise<StoredId<'wac'> | null> {
  const { merchantId, environment, paymentOption, origin, createdAt, walletAccountId } = attempt;
  if (walletAccountId !== undefined) return walletAccountId;
  // A payer pays without a request of ours to the operator's account only.
  if (origin === 'PAYER') return null;
  const wallet = walletOf(paymentOption);
  const then = accounts.at({ merchantId, environment, wallet, createdAt });
  if (then !== undefined) return then;
  const account = await em.findOne(WalletAccountRow, { merchantId, environment, wallet, state: 'CURRENT' });
  return account?.id ?? null;
}

async function addReceipt(
  em: EntityManager,
  attempt: Pick<PaymentAttemptRow, 'merchantId' | 'environment' | 'id' | 'paymentOption'> & {
    readonly providerTransactionId: string;
  },
): Promise<void> {
  const { environment, merchantId, id: paymentAttemptId, paymentOption, providerTransactionId } = attempt;
  const key = { environment, wallet: walletOf(paymentOption), providerTransactionId };
  if ((await em.findOne(WalletReceiptRow, key)) === null)
    em.create(WalletReceiptRow, { ...key, merchantId, paymentAttemptId });
}
