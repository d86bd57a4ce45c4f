import type { EntityManager } from '@mikro-orm/postgresql';
import { bulkStatement, column, plainColumn, rowList } from '../../../platform/database/bulk-statement.ts';
import { commitWith } from '../../../platform/database/transaction-statement.ts';
import { orderValuesOf } from '../../database/order-rows.ts';
import type { OrderRow } from '../../database/order-entities.ts';
import type { OrderValues } from '../../database/order-rows.ts';
import type { Order } from '../../domain/order.ts';
import type { OrderEventValues } from './order-event-values.ts';

/** A changed order, with its row as the transaction has read it under the lock. */
export interface OrderToWrite {
  readonly row: OrderRow;
  readonly order: Order;
  readonly events: readonly OrderEventValues[];
}

type OrderKey = Pick<OrderValues, 'merchantId' | 'environment' | 'id'>;

const key = {
  merchant_id: plainColumn<OrderKey>('uuid', (row) => row.merchantId),
  environment: plainColumn<OrderKey>('core.environment', (row) => row.environment),
  id: plainColumn<OrderKey>('uuid', (row) => row.id),
};

/** The columns that a change of an order may write. The other columns hold the facts of its registration. */
const changed = rowList<OrderValues>(
  {
    ...key,
    status: plainColumn('core.order_status', (row) => row.status),
    deducted_minor_units: plainColumn('bigint', (row) => row.deductedMinorUnits),
    refunded_minor_units: plainColumn('bigint', (row) => row.refundedMinorUnits),
    customer_phone: column('text', (row) => row.customerPhone),
    customer_phone_e164: column('text', (row) => row.customerPhoneE164),
    last_event_sequence: plainColumn('integer', (row) => row.lastEventSequence),
    attempt_count: plainColumn('smallint', (row) => row.attemptCount),
    latest_attempt_id: plainColumn('uuid', (row) => row.latestAttemptId),
    updated_at: plainColumn('timestamptz', (row) => row.updatedAt),
    sweep_at: plainColumn('timestamptz', (row) => row.sweepAt),
  },
  { hidesLength: true },
);

const event = rowList<OrderEventValues & { readonly of: OrderKey }>(
  {
    merchant_id: plainColumn('uuid', (row) => row.of.merchantId),
    environment: plainColumn('core.environment', (row) => row.of.environment),
    order_id: plainColumn('uuid', (row) => row.of.id),
    sequence: plainColumn('integer', (row) => row.sequence),
    id: plainColumn('uuid', (row) => row.id),
    type: plainColumn('core.order_event_type', (row) => row.type),
    occurred_at: plainColumn('timestamptz', (row) => row.occurredAt),
    payload: column('bytea', (row) => row.payload),
  },
  { ordinal: 'place' },
);

const statement = bulkStatement(
  'write-orders',
  { changed, event },
  (sql) => `
with orders as (
  update core.orders o set
    status = changed.status,
    deducted_minor_units = changed.deducted_minor_units,
    refunded_minor_units = changed.refunded_minor_units,
    customer_phone = changed.customer_phone,
    customer_phone_e164 = changed.customer_phone_e164,
    last_event_sequence = changed.last_event_sequence,
    attempt_count = changed.attempt_count,
    latest_attempt_id = changed.latest_attempt_id,
    updated_at = changed.updated_at,
    sweep_at = changed.sweep_at
  from ${sql.changed}
  where o.merchant_id = changed.merchant_id and o.environment = changed.environment and o.id = changed.id
)
insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
select merchant_id, environment, order_id, sequence, id, type, occurred_at, payload
from ${sql.event}
order by place`,
);

/** Writes the changed orders and their new events, with one statement, and commits. If nothing is to write, the ORM commits. */
export async function writeOrders(em: EntityManager, all: readonly OrderToWrite[]): Promise<void> {
  const toWrite = all.flatMap(({ row, order }) => {
    const values = orderValuesOf(order);
    return isSame(values, row) ? [] : [values];
  });
  const events = all.flatMap(({ order, events: newEvents }) => {
    const of = orderValuesOf(order);
    return newEvents.map((each) => ({ ...each, of }));
  });
  if (toWrite.length + events.length > 0)
    await commitWith(em, statement.with({ changed: toWrite, event: events }));
}

/** Whether the row stays as it is. Progress of an attempt often changes only the attempt's row. */
const isSame = (values: OrderValues, row: OrderRow): boolean =>
  (Object.keys(values) as (keyof OrderValues)[]).every((name) => {
    const value = values[name] ?? null;
    const stored = row[name] ?? null;
    return value instanceof Date && stored instanceof Date
      ? value.getTime() === stored.getTime()
      : value === stored;
  });
