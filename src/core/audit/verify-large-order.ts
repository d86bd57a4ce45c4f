import { setImmediate as nextTurn } from 'node:timers/promises';
import { fromBinary } from '@bufbuild/protobuf';
import type { PoolClient } from 'pg';
import { OrderEventSchema } from '../../gen/gatehouse/v1/order_pb.js';
import type { Order, OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { idIn } from '../payments/changes/lost-order.ts';
import type { Finding } from './audit-finding.ts';
import { readEventRange, readPayloads } from './audited-events.sql.ts';
import type { AuditedRow, OneOrder } from './audited-events.sql.ts';
import { erasedInPages, readErasures } from './erasure-seal.ts';
import { createFindFaults } from './event-faults.ts';
import { attemptDifferences, orderRowDifferences, refundDifferences } from './order-differences.ts';
import type { OrderDifference, RowValues } from './order-differences.ts';
import type { LargeStoredOrder } from './read-stored-orders.sql.ts';
import { eventsInTurn, orderNumberIn, rowFinding } from './verify-orders.ts';
import type { OrdersParts } from './verify-orders.ts';

/** What the events of an order say about its rows. */
interface History {
  newest: Order | undefined;
  /** The sequence of the newest event about each attempt and each refund, by their stored ids. */
  readonly attempts: Map<string, number>;
  readonly refunds: Map<string, number>;
}

/**
 * Compares the order of `first`, which has more events than are kept in memory at a time. An order can have very many refunds, so only their
 * ids are kept, and their newest events are read again. `rest` yields the pages of events after `first`.
 * @returns the events of later orders that it has read
 */
export async function* verifyLargeOrder(
  { client, merchantId, erasureKey, lost, summary, storedOrders }: OrdersParts,
  first: readonly [AuditedRow, ...AuditedRow[]],
  rest: AsyncIterator<AuditedRow[], undefined>,
): AsyncGenerator<Finding, AuditedRow[]> {
  const { order_id: orderId } = first[0];
  summary.orders += 1;
  const stored = await storedOrders.readLarge(orderId);
  const of = { merchantId, orderId, orderNumber: stored.order?.['orderNumber'] ?? orderNumberIn(first) };
  const erasures = await readErasures(client, merchantId, [orderId]);
  const isErased = await erasedInPages(erasureKey, erasures.get(orderId) ?? [], (from, to) =>
    readEventRange(client, of, from, to),
  );
  const findFaults = createFindFaults({ merchantId, isErased, lost, summary });
  const history: History = { newest: undefined, attempts: new Map(), refunds: new Map() };
  let isTrusted = true;
  let isComparable = true;
  let later: AuditedRow[] = [];
  for (let rows: readonly AuditedRow[] = first; rows.length > 0;) {
    for (const some of inTurns(rows)) {
      for (const fault of findFaults(some)) {
        isTrusted &&= fault.isExplained ?? false;
        yield { ...of, ...fault };
      }
      isComparable &&= isReadable(() => addEvents(history, some));
      await nextTurn();
    }
    if (later.length > 0) break;
    const { value: page = [] } = await rest.next();
    rows = page.filter((row) => row.order_id === orderId);
    later = page.slice(rows.length);
  }
  // A wrong history says nothing about the rows.
  if (!isTrusted) return later;
  isComparable &&= yield* rowFindings(client, of, history, stored);
  if (!isComparable) summary.incomparable += 1;
  return later;
}

function* inTurns<T>(all: readonly T[]): Generator<T[]> {
  for (let begin = 0; begin < all.length; begin += eventsInTurn) yield all.slice(begin, begin + eventsInTurn);
}

/** Whether this version knows the values of events that `read` uses. */
function isReadable(read: () => void): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

/** @throws for events with a value that this version does not know */
function addEvents(history: History, rows: readonly AuditedRow[]): void {
  for (const { id, payload, sequence } of rows) {
    if (id === null) continue;
    const { order, paymentAttempt, refund } = fromBinary(OrderEventSchema, payload);
    history.newest = order ?? history.newest;
    if (paymentAttempt !== undefined)
      history.attempts.set(idIn('pat', paymentAttempt.paymentAttemptId), sequence);
    if (refund !== undefined) history.refunds.set(idIn('rfd', refund.refundId), sequence);
  }
}

/** Yields the differences of all rows. Returns false as soon as an event has a value that this version does not know. */
async function* rowFindings(
  client: PoolClient,
  of: OneOrder & Pick<Finding, 'orderNumber'>,
  { newest, attempts, refunds }: History,
  stored: LargeStoredOrder,
): AsyncGenerator<Finding, boolean> {
  if (newest === undefined) return true;
  const found: OrderDifference[] = [];
  const compare = (differences: () => OrderDifference[]): boolean =>
    isReadable(() => found.push(...differences()));
  const take = (): Finding[] => found.splice(0).map((difference) => ({ ...of, ...rowFinding(difference) }));
  if (!compare(() => orderRowDifferences(newest, stored.order))) return false;
  yield* take();
  const tables = [
    {
      subject: 'ATTEMPT',
      newestOf: attempts,
      pages: stored.attempts,
      differences: (events: OrderEvent[], rows: ReadonlyMap<string, RowValues>) =>
        attemptDifferences(newest, events, rows),
    },
    { subject: 'REFUND', newestOf: refunds, pages: stored.refunds, differences: refundDifferences },
  ] as const;
  for (const { subject, newestOf, pages, differences } of tables) {
    for await (const page of pages)
      for (const rows of inTurns([...page])) {
        const sequences = rows.flatMap(([id]) => newestOf.get(id) ?? []);
        const payloads = await readPayloads(client, of, sequences);
        const isKnown = compare(() =>
          differences(
            payloads.map((payload) => fromBinary(OrderEventSchema, payload)),
            new Map(rows),
          ),
        );
        if (!isKnown) return false;
        yield* take();
        for (const [id] of rows) newestOf.delete(id);
      }
    for (const id of newestOf.keys())
      yield { ...of, ...rowFinding({ subject, change: 'DELETED', id, fields: [] }) };
  }
  return true;
}
