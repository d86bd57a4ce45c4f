import { isWebhookEndpoint } from '../database/webhook-endpoint.sql.ts';
import type { OutgoingDelivery, WebhookEventType } from '../domain/delivery.ts';
import { laneOf } from './lane-arrays.ts';
import type { LaneRow } from './lane-arrays.ts';

/** The URL to which `d` is sent now. The URL of a webhook endpoint can change. */
const currentUrl = `case when ${isWebhookEndpoint('d.endpoint')} then coalesce(
      (select e.url from webhooks.webhook_endpoints e where e.merchant_id = d.merchant_id and e.id = d.endpoint), d.url
    ) else d.url end`;

/**
 * How many of a lane's next deliveries one statement examines. All but the first of an order wait, and an order with very many refunds
 * has hundreds of thousands. A statement serves many lanes, so one order would delay the webhooks of all merchants.
 */
export const headsWithin = 500;

/** The next pending deliveries of a lane, read in the order of `deliveries_due`. `lane` is a row with the lane's key. */
export const nextOf = (lane: string, { which = 'true', within = String(headsWithin) } = {}): string => `
    select * from webhooks.deliveries d
    where d.merchant_id = ${lane}.merchant_id and d.environment = ${lane}.environment and d.endpoint = ${lane}.endpoint
      and d.state = 'PENDING' and ${which}
    order by d.due_at, d.id
    limit ${within}`;

/**
 * Deliveries of a lane that may be sent now. They are due and the first pending ones of their order. A lane with a million
 * due rows costs no more than one with ten. Earlier deliveries of an order are looked up row by row, because a join could scan
 * all pending deliveries. `lane` is a row with the lane's key and resumed_at. `limit` and `except` (ids to leave out) are SQL
 * expressions.
 */
export const headsOf = (lane: string, limit: string, except: string): string => `
  select
    d.id, d.event_id, d.event_type, d.order_id, d.sequence, ${currentUrl} as url, d.body, d.attempt_count, d.round_attempts,
    greatest(d.round_started_at, ${lane}.resumed_at) as round_started_at
  from (${nextOf(lane, { which: `d.due_at <= now() and d.id <> all(${except})` })}
  ) d
  where ${isFirstOfItsOrder}
  order by d.due_at, d.id
  limit ${limit}`;

/**
 * Whether no earlier delivery of the order of `d` to the same endpoint is still pending. `is true` hides the comparison from
 * the planner. Otherwise it could choose the index of all deliveries to the endpoint, instead of that of the order's few. An order with
 * very many refunds has many deliveries. The deliveries just before `d` are read first, because the earliest are delivered.
 */
export const isFirstOfItsOrder = `(d.order_id = '' or (
      select true from webhooks.deliveries e
      where e.merchant_id = d.merchant_id and e.order_id = d.order_id and e.order_id <> ''
        and e.sequence < d.sequence and (e.endpoint = d.endpoint) is true and e.state = 'PENDING'
      order by e.sequence desc limit 1
    ) is null)`;

/** A row of `headsOf`. All columns are null for a lane without deliveries. */
export interface HeadRow extends LaneRow {
  readonly id: string | null;
  readonly event_id: string;
  readonly event_type: WebhookEventType;
  readonly order_id: string;
  readonly sequence: string;
  readonly url: string;
  readonly body: Buffer;
  readonly attempt_count: number;
  readonly round_attempts: number;
  readonly round_started_at: Date;
}

export function headOf(row: HeadRow): OutgoingDelivery | undefined {
  if (row.id === null) return undefined;
  return {
    ...laneOf(row),
    id: row.id,
    eventId: row.event_id,
    eventType: row.event_type,
    orderId: row.order_id,
    sequence: BigInt(row.sequence),
    url: row.url,
    body: row.body,
    attemptNumber: row.attempt_count + 1,
    roundAttempts: row.round_attempts,
    roundStartedAt: row.round_started_at,
  };
}
