import type { Pool, PoolClient } from 'pg';
import { runStatement } from '../../runtime/database/run-statement.ts';
import { newAttemptSchedule } from '../database/order-rows.ts';
import type { OrderValues, PaymentAttemptValues } from '../database/order-rows.ts';
import type { PromptPlace } from '../domain/prompt-allowance.ts';
import type { NewEventValues } from './change-order-use-case.ts';

/** A new order with everything that is committed together with it. */
export interface NewOrderRows {
  readonly order: OrderValues;
  readonly attempt: PaymentAttemptValues | null;
  /** Of the attempt's prompt; null without a limit on prompts. */
  readonly promptPlace: PromptPlace | null;
  readonly events: readonly NewEventValues[];
}

/**
 * One statement, one commit: the orders whose order_number is still free, their events and their attempts. Sorted by
 * key, so that two batches with the same keys wait for each other instead of deadlocking.
 */
const statement = `
with input as (
  select * from unnest(
    $1::uuid[], $2::core.environment[], $3::uuid[], $4::text[], $5::core.payment_type[], $6::text[], $7::bigint[],
    $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::integer[],
    $16::smallint[], $17::uuid[], $18::timestamptz[], $19::timestamptz[]
  ) as t (
    merchant_id, environment, id, order_number, payment_type, amount_text, amount_minor_units,
    currency, customer_phone, customer_phone_e164, reason, business_name, return_url, webhook_url, last_event_sequence,
    attempt_count, latest_attempt_id, created_at, expires_at
  )
), inserted as (
  insert into core.orders (
    merchant_id, environment, id, order_number, status, payment_type, amount_text, amount_minor_units,
    deducted_minor_units, currency, customer_phone, customer_phone_e164, reason, business_name, return_url, webhook_url,
    last_event_sequence, attempt_count, latest_attempt_id, created_at, updated_at, expires_at, sweep_at
  )
  select
    merchant_id, environment, id, order_number, 'PENDING', payment_type, amount_text, amount_minor_units,
    0, currency, customer_phone, customer_phone_e164, reason, business_name, return_url, webhook_url,
    last_event_sequence, attempt_count, latest_attempt_id, created_at, created_at, expires_at, expires_at
  from input
  order by merchant_id, environment, order_number
  on conflict (merchant_id, environment, order_number) do nothing
  returning merchant_id, environment, id
), attempts as (
  insert into core.payment_attempts (
    merchant_id, id, environment, order_id, status, origin, payment_option, phone, decline_reason, created_at, updated_at,
    due_at, prompt_until, prompt_place
  )
  select inserted.merchant_id, a.id, inserted.environment, a.order_id, 'REQUESTED', a.origin, a.payment_option, a.phone, null, a.created_at, a.created_at,
    a.created_at, a.prompt_until, a.prompt_place
  from unnest($20::uuid[], $21::uuid[], $22::core.payment_option[], $23::text[], $24::timestamptz[], $31::timestamptz[],
    $32::text[], $33::text[])
    as a (order_id, id, payment_option, phone, created_at, prompt_until, origin, prompt_place)
  join inserted on inserted.id = a.order_id
), events as (
  insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
  select inserted.merchant_id, inserted.environment, e.order_id, e.sequence, e.id, e.type, e.occurred_at, e.payload
  from unnest($25::uuid[], $26::integer[], $27::uuid[], $28::core.order_event_type[], $29::timestamptz[], $30::bytea[])
    as e (order_id, sequence, id, type, occurred_at, payload)
  join inserted on inserted.id = e.order_id
  order by e.order_id, e.sequence
)
select id from inserted`;

/** Inserts what can be inserted and gives the ids of those orders; the others' order_numbers were taken. */
export async function insertOrders(
  client: Pool | PoolClient,
  items: readonly NewOrderRows[],
): Promise<ReadonlySet<string>> {
  const orders = items.map(({ order }) => order);
  const attempts = items.flatMap(({ attempt, promptPlace }) =>
    attempt === null ? [] : [{ ...attempt, promptPlace }],
  );
  const events = items.flatMap(({ order, events: own }) =>
    own.map((event) => ({ orderId: order.id, ...event })),
  );
  const rows = await runStatement<{ id: string }>(client, {
    name: 'insert-orders',
    text: statement,
    values: [
      list(orders.map((row) => row.merchantId)),
      list(orders.map((row) => row.environment)),
      list(orders.map((row) => row.id)),
      orders.map((row) => row.orderNumber),
      list(orders.map((row) => row.paymentType)),
      orders.map((row) => row.amountText),
      list(orders.map((row) => row.amountMinorUnits)),
      orders.map((row) => row.currency),
      orders.map((row) => row.customerPhone),
      orders.map((row) => row.customerPhoneE164),
      orders.map((row) => row.reason),
      orders.map((row) => row.businessName),
      orders.map((row) => row.returnUrl),
      orders.map((row) => row.webhookUrl),
      list(orders.map((row) => row.lastEventSequence)),
      list(orders.map((row) => row.attemptCount)),
      list(orders.map((row) => row.latestAttemptId)),
      list(orders.map((row) => row.createdAt.toISOString())),
      list(orders.map((row) => row.expiresAt.toISOString())),
      list(attempts.map((row) => row.orderId)),
      list(attempts.map((row) => row.id)),
      list(attempts.map((row) => row.paymentOption)),
      attempts.map((row) => row.phone),
      list(attempts.map((row) => row.createdAt.toISOString())),
      list(events.map((row) => row.orderId)),
      list(events.map((row) => row.sequence)),
      list(events.map((row) => row.id)),
      list(events.map((row) => row.type)),
      list(events.map((row) => row.occurredAt.toISOString())),
      events.map((row) => row.payload),
      list(attempts.map((row) => newAttemptSchedule(row.createdAt).promptUntil.toISOString())),
      list(attempts.map((row) => row.origin)),
      list(attempts.map((row) => row.promptPlace)),
    ],
  });
  return new Set(rows.map(({ id }) => id));
}

/**
 * An array as PostgreSQL reads it, of what has no character that would have to be escaped: ids, numbers, times and words
 * of ours. pg looks at each one to find that out, and writes times in the local zone.
 */
const list = (values: readonly (string | number | bigint | null | undefined)[]): string =>
  `{${values.map((value) => value ?? 'null').join(',')}}`;
