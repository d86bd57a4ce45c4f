import { setImmediate as nextTurn } from 'node:timers/promises';
import { fromBinary } from '@bufbuild/protobuf';
import type { PoolClient } from 'pg';
import type { StoredId } from '../../contract/public-id.ts';
import { OrderEventSchema } from '../../gen/gatehouse/v1/order_pb.js';
import type { Finding, LostTime, VerifySummary } from './audit-finding.ts';
import type { AuditedRow } from './audited-events.sql.ts';
import { erasedAmong, readErasures } from './erasure-seal.ts';
import { createFindFaults, eventsOf } from './event-faults.ts';
import { orderDifferences } from './order-differences.ts';
import type { OrderDifference, StoredOrder } from './order-differences.ts';
import type { StoredOrders } from './read-stored-orders.sql.ts';

export interface OrdersParts {
  /** In a transaction with one snapshot. */
  readonly client: PoolClient;
  readonly merchantId: StoredId<'mer'>;
  /** The key of the seals of erasures. */
  readonly erasureKey: Buffer;
  readonly lost: readonly LostTime[];
  readonly summary: VerifySummary;
  readonly storedOrders: StoredOrders;
}

/** Requests wait while events are hashed, decoded and compared: some milliseconds for these. */
export const eventsInTurn = 50;

/** Compares orders of one merchant, of which `orders` has all events, with the chain and with their rows. */
export async function* verifyOrders(
  { client, merchantId, erasureKey, lost, summary, storedOrders }: OrdersParts,
  orders: ReadonlyMap<StoredId<'ord'>, readonly AuditedRow[]>,
): AsyncGenerator<Finding> {
  const storedOf = await storedOrders.read([...orders.keys()]);
  const erasures = await readErasures(client, merchantId, [...orders.keys()]);
  let events = 0;
  for (const [orderId, rows] of orders) {
    events += rows.length;
    if (events > eventsInTurn) {
      await nextTurn();
      events = rows.length;
    }
    summary.orders += 1;
    const stored = storedOf(orderId);
    const of = { merchantId, orderId, orderNumber: stored.order?.['orderNumber'] ?? orderNumberIn(rows) };
    const isErased = erasedAmong(erasureKey, erasures.get(orderId) ?? [], eventsOf(rows, merchantId));
    const faults = [...createFindFaults({ merchantId, isErased, lost, summary })(rows)];
    for (const fault of faults) yield { ...of, ...fault };
    // A wrong history says nothing about the rows.
    if (faults.every(({ isExplained = false }) => isExplained))
      for (const difference of rowDifferences(rows, stored, summary))
        yield { ...of, ...rowFinding(difference) };
  }
}

const rowKinds = { CHANGED: 'ROW_CHANGED', DELETED: 'ROW_DELETED', INSERTED: 'ROW_INSERTED' } as const;

export const rowFinding = ({ subject, change, id, fields }: OrderDifference): Finding => ({
  kind: rowKinds[change],
  object: { subject, id },
  fields,
});

/** The order number of a deleted order, by its events; '' when they cannot be read. */
export function orderNumberIn(rows: readonly AuditedRow[]): string {
  try {
    const payload = rows.find(({ id }) => id !== null)?.payload;
    return payload === undefined ? '' : (fromBinary(OrderEventSchema, payload).order?.orderNumber ?? '');
  } catch {
    return '';
  }
}

function rowDifferences(
  rows: readonly AuditedRow[],
  stored: StoredOrder,
  summary: VerifySummary,
): OrderDifference[] {
  try {
    const events = rows.flatMap(({ id, payload }) =>
      id === null ? [] : [fromBinary(OrderEventSchema, payload)],
    );
    return orderDifferences(events, stored);
  } catch {
    summary.incomparable += 1;
    return [];
  }
}
