import type { EntityManager } from '@mikro-orm/postgresql';
import {
  bulkStatement,
  column,
  plainColumn,
  rowList,
  textColumn,
} from '../../../platform/database/bulk-statement.ts';
import type { Statement } from '../../../platform/database/run-statement.ts';
import { commitWith } from '../../../platform/database/transaction-statement.ts';
import { newAttemptSchedule, orderValuesOf } from '../../database/order-rows.ts';
import type { OrderRow } from '../../database/order-entities.ts';
import type { OrderValues } from '../../database/order-rows.ts';
import type { Order } from '../../domain/order.ts';
import type { NewAttempt } from './order-change.ts';
import type { OrderEventValues } from './order-event-values.ts';
import { rowStatements } from './row-statements.sql.ts';

/** A changed order, with its row as the transaction has read it under the lock. */
export interface OrderToWrite {
  readonly row: OrderRow;
  readonly order: Order;
  readonly events: readonly OrderEventValues[];
  /** A new attempt to prompt the payer. */
  readonly prompted?: NewAttempt | undefined;
  /** The browser that the checkout is bound to from now on, unless it has been bound before. */
  readonly browserHash?: Buffer | undefined;
}

type OrderKey = Pick<OrderValues, 'merchantId' | 'environment' | 'id'>;

const key = {
  merchant_id: plainColumn<OrderKey>('uuid', (row) => row.merchantId),
  environment: plainColumn<OrderKey>('core.environment', (row) => row.environment),
  id: plainColumn<OrderKey>('uuid', (row) => row.id),
};

/** The columns that a change of an order may write. The other columns hold the facts of its registration. */
const changed = rowList<OrderValues & Pick<OrderToWrite, 'browserHash'>>(
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
    browser_hash: textColumn('bytea', (row) => row.browserHash ?? null),
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

const attempt = rowList<NewAttempt>({
  merchant_id: plainColumn('uuid', (row) => row.merchantId),
  id: plainColumn('uuid', (row) => row.id),
  environment: plainColumn('core.environment', (row) => row.environment),
  order_id: plainColumn('uuid', (row) => row.orderId),
  status: plainColumn('core.payment_attempt_status', (row) => row.status),
  origin: plainColumn('text', (row) => row.origin),
  payment_option: plainColumn('text', (row) => row.paymentOption),
  phone: textColumn('text', (row) => row.phone),
  created_at: plainColumn('timestamptz', (row) => row.createdAt),
  updated_at: plainColumn('timestamptz', (row) => row.updatedAt),
  due_at: plainColumn('timestamptz', (row) => newAttemptSchedule(row.createdAt).dueAt),
  prompt_until: plainColumn('timestamptz', (row) => newAttemptSchedule(row.createdAt).promptUntil),
  network: textColumn('text', (row) => row.network),
  prompt_place: plainColumn('text', (row) => row.promptKind),
});

const writing = (sql: { readonly changed: string; readonly event: string }, attempts = ''): string => `
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
    sweep_at = changed.sweep_at,
    checkout_browser_hash = coalesce(o.checkout_browser_hash, changed.browser_hash)
  from ${sql.changed}
  where o.merchant_id = changed.merchant_id and o.environment = changed.environment and o.id = changed.id
)${attempts}
insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
select merchant_id, environment, order_id, sequence, id, type, occurred_at, payload
from ${sql.event}
order by place`;

const statement = bulkStatement('write-orders', { changed, event }, (sql) => writing(sql));

const statementWithAttempts = bulkStatement('write-orders-and-attempts', { changed, event, attempt }, (sql) =>
  writing(
    sql,
    `, attempts as (
  insert into core.payment_attempts (${attempt.columns}) select ${attempt.columns} from ${sql.attempt}
)`,
  ),
);

/**
 * Runs the statements `before`, and writes the changed orders, their new events and attempts, and the pending changes of the ORM. Then it
 * commits. All of this takes one round trip if possible. If there is nothing to write, the ORM commits.
 */
export async function writeOrders(
  em: EntityManager,
  all: readonly OrderToWrite[],
  before: readonly Statement[],
): Promise<void> {
  const ofRows = rowStatements(em);
  // They are written here. Otherwise the ORM writes before the statement.
  if (ofRows !== undefined) em.clear();
  const [first, ...others] = [...before, ...(ofRows ?? []), ...orderStatements(all)];
  if (first !== undefined) await commitWith(em, [first, ...others]);
}

function orderStatements(all: readonly OrderToWrite[]): Statement[] {
  const toWrite = all.flatMap(({ row, order, browserHash }) => {
    const values = orderValuesOf(order);
    return browserHash === undefined && isSame(values, row) ? [] : [{ ...values, browserHash }];
  });
  const events = all.flatMap(({ order, events: newEvents }) => {
    const of = orderValuesOf(order);
    return newEvents.map((each) => ({ ...each, of }));
  });
  const attempts = all.flatMap(({ prompted }) => prompted ?? []);
  const rows = { changed: toWrite, event: events };
  if (attempts.length > 0) return [statementWithAttempts.with({ ...rows, attempt: attempts })];
  return toWrite.length + events.length > 0 ? [statement.with(rows)] : [];
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
