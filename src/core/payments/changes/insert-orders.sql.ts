import {
  bulkStatement,
  plainColumn,
  rowList,
  textColumn,
} from '../../../platform/database/bulk-statement.ts';
import type { Statement } from '../../../platform/database/run-statement.ts';
import { newAttemptSchedule } from '../../database/order-rows.ts';
import type { OrderValues, PaymentAttemptValues } from '../../database/order-rows.ts';
import type { PromptKind } from '../../domain/prompt-allowance.ts';
import { keyedAnswerRows } from '../idempotency/keyed-answers.sql.ts';
import type { KeyedAnswer } from '../idempotency/keyed-answers.sql.ts';
import type { OrderEventValues } from './order-event-values.ts';

/** A new order with all rows that are committed with it. */
export interface NewOrderRows {
  readonly order: OrderValues;
  readonly attempt: PaymentAttemptValues | null;
  /** The kind of the attempt's prompt; null without an attempt, and without a limit on prompts. */
  readonly promptKind: PromptKind | null;
  readonly events: readonly OrderEventValues[];
  /** The answer to a call with an idempotency key. The order is added only if the key has no answer yet. */
  readonly keyed: KeyedAnswer | null;
}

const input = rowList<OrderValues>({
  merchant_id: plainColumn('uuid', (row) => row.merchantId),
  environment: plainColumn('core.environment', (row) => row.environment),
  id: plainColumn('uuid', (row) => row.id),
  order_number: textColumn('text', (row) => row.orderNumber),
  payment_type: plainColumn('core.payment_type', (row) => row.paymentType),
  amount_text: textColumn('text', (row) => row.amountText),
  amount_minor_units: plainColumn('bigint', (row) => row.amountMinorUnits),
  currency: textColumn('text', (row) => row.currency),
  customer_phone: textColumn('text', (row) => row.customerPhone),
  customer_phone_e164: textColumn('text', (row) => row.customerPhoneE164),
  reason: textColumn('text', (row) => row.reason),
  business_name: textColumn('text', (row) => row.businessName),
  return_url: textColumn('text', (row) => row.returnUrl),
  webhook_url: textColumn('text', (row) => row.webhookUrl),
  last_event_sequence: plainColumn('integer', (row) => row.lastEventSequence),
  attempt_count: plainColumn('smallint', (row) => row.attemptCount),
  latest_attempt_id: plainColumn('uuid', (row) => row.latestAttemptId),
  created_at: plainColumn('timestamptz', (row) => row.createdAt),
  expires_at: plainColumn('timestamptz', (row) => row.expiresAt),
});

const attempt = rowList<PaymentAttemptValues & Pick<NewOrderRows, 'promptKind'>>({
  order_id: plainColumn('uuid', (row) => row.orderId),
  id: plainColumn('uuid', (row) => row.id),
  origin: plainColumn('text', (row) => row.origin),
  payment_option: plainColumn('text', (row) => row.paymentOption),
  phone: textColumn('text', (row) => row.phone),
  created_at: plainColumn('timestamptz', (row) => row.createdAt),
  prompt_until: plainColumn('timestamptz', (row) => newAttemptSchedule(row.createdAt).promptUntil),
  prompt_place: plainColumn('text', (row) => row.promptKind),
});

const event = rowList<OrderEventValues & { readonly orderId: string }>({
  order_id: plainColumn('uuid', (row) => row.orderId),
  sequence: plainColumn('integer', (row) => row.sequence),
  id: plainColumn('uuid', (row) => row.id),
  type: plainColumn('core.order_event_type', (row) => row.type),
  occurred_at: plainColumn('timestamptz', (row) => row.occurredAt),
  payload: textColumn('bytea', (row) => row.payload),
});

interface OrderRows {
  readonly input: string;
  readonly attempt: string;
  readonly event: string;
}

/** The part of the statement for calls with idempotency keys. */
interface KeyedRows {
  /** CTEs before the orders, and a condition for each order. */
  readonly before: string;
  readonly where: string;
  /** A CTE after the orders, and the rows of the answers that were there before. */
  readonly after: string;
  readonly result: string;
}

const insertOrders = (
  sql: OrderRows,
  keyed: KeyedRows = { before: '', where: '', after: '', result: '' },
): string => `
with ${keyed.before}inserted as (
  insert into core.orders (
    merchant_id, environment, id, order_number, status, payment_type, amount_text, amount_minor_units,
    deducted_minor_units, currency, customer_phone, customer_phone_e164, reason, business_name, return_url, webhook_url,
    last_event_sequence, attempt_count, latest_attempt_id, created_at, updated_at, expires_at, sweep_at
  )
  with open_environments as materialized (
    select environment from (select distinct environment from ${sql.input} offset 0) asked
    where core.takes_payments(environment)
  )
  select
    merchant_id, environment, id, order_number, 'PENDING', payment_type, amount_text, amount_minor_units,
    0, currency, customer_phone, customer_phone_e164, reason, business_name, return_url, webhook_url,
    last_event_sequence, attempt_count, latest_attempt_id, created_at, created_at, expires_at, expires_at
  from ${sql.input}
  where environment in (select environment from open_environments)${keyed.where}
  order by merchant_id, environment, order_number
  on conflict (merchant_id, environment, order_number) do nothing
  returning merchant_id, environment, id
), attempts as (
  insert into core.payment_attempts (
    merchant_id, id, environment, order_id, status, origin, payment_option, phone, decline_reason, created_at, updated_at,
    due_at, prompt_until, prompt_place
  )
  select
    inserted.merchant_id, attempt.id, inserted.environment, order_id, 'REQUESTED', origin, payment_option, phone, null,
    created_at, created_at, created_at, prompt_until, prompt_place
  from ${sql.attempt}
  join inserted on inserted.id = order_id
), events as (
  insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
  select inserted.merchant_id, inserted.environment, order_id, sequence, event.id, type, occurred_at, payload
  from ${sql.event}
  join inserted on inserted.id = order_id
  order by order_id, sequence
)${keyed.after}
select id${keyed.result === '' ? '' : ', null::bytea as fingerprint, null::bytea as answer'} from inserted${keyed.result}`;

/**
 * One statement and one commit: the orders whose order_number is free, their events and their attempts. Rows are sorted
 * by key, so that concurrent batches with the same keys do not deadlock. A restored database adds no order, even before a core has
 * noticed the restore, because the database may have lost that order. `core.takes_payments` takes some 40 µs. `offset 0` makes the
 * planner call it once per environment, not once per row.
 */
const statement = bulkStatement('insert-orders', { input, attempt, event }, (sql) => insertOrders(sql));

/**
 * The same with the answers of the calls that have idempotency keys. It fails as a whole when one of them has been used
 * since it began, or has an expired answer.
 */
const keyedStatement = bulkStatement(
  'insert-keyed-orders',
  { input, attempt, event, keyed: keyedAnswerRows },
  (sql) =>
    insertOrders(sql, {
      before: `earlier as (
  select keyed.order_id, stored.fingerprint, stored.answer
  from ${sql.keyed}
  join core.idempotency_keys stored using (merchant_id, environment, operation, key)
  where stored.expires_at > now()
), `,
      where: ' and id not in (select order_id from earlier)',
      after: `, answers as (
  insert into core.idempotency_keys (merchant_id, environment, operation, key, fingerprint, answer, expires_at)
  select keyed.merchant_id, keyed.environment, operation, key, fingerprint, answer, now() + interval '24 hours'
  from ${sql.keyed}
  join inserted on inserted.id = order_id
  order by keyed.merchant_id, keyed.environment, operation, key
)`,
      result: `
union all
select order_id, fingerprint, answer from earlier`,
    }),
);

/**
 * Inserts the possible orders, and returns their stored ids as rows. Rows with an answer are orders that were not added, because their
 * key has this answer. The order_numbers of all others were taken, or the database was restored.
 */
export function insertingOrders(items: readonly NewOrderRows[]): Statement {
  const orders = items.map(({ order }) => order);
  const attempts = items.flatMap(({ attempt, promptKind }) =>
    attempt === null ? [] : [{ ...attempt, promptKind }],
  );
  const events = items.flatMap(({ order, events: newEvents }) =>
    newEvents.map((event) => ({ orderId: order.id, ...event })),
  );
  const rows = { input: orders, attempt: attempts, event: events };
  const keyed = items.flatMap((item) =>
    item.keyed === null ? [] : [{ orderId: item.order.id, ...item.keyed }],
  );
  return keyed.length === 0 ? statement.with(rows) : keyedStatement.with({ ...rows, keyed });
}
