import type { Pool } from 'pg';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Statement } from '../../platform/database/run-statement.ts';
import { isWebhookEndpoint } from '../database/webhook-endpoint.sql.ts';
import type {
  AttemptReport,
  AttemptResult,
  DeliveryState,
  Environment,
  LaneKey,
  WebhookEventType,
} from '../domain/delivery.ts';
import type { EndpointState } from './endpoint-reader.ts';
import { deliveryIdAfter, deliveryIdBefore } from '../redeliveries/redelivery-store.ts';

/** The current delivery, without its body. */
export interface StoredDelivery extends LaneKey {
  readonly id: string;
  readonly eventId: string;
  readonly eventType: WebhookEventType;
  readonly orderId: string;
  readonly orderNumber: string;
  readonly sequence: bigint;
  readonly url: string;
  readonly state: DeliveryState;
  /** The current state of its endpoint. */
  readonly endpointState: EndpointState;
  /** Whether its endpoint waits for its first signing secret; null before the endpoint's first delivery is leased. */
  readonly awaitsSecret: boolean | null;
  readonly dueAt: Date | null;
  readonly attemptCount: number;
  readonly roundAttempts: number;
  readonly createdAt: Date;
  readonly lastAttemptAt: Date | null;
  readonly lastResult: string;
  /** How the latest attempt ended; null before the first. */
  readonly lastAttemptResult: AttemptResult | null;
  /** The HTTP status of the latest attempt; 0 without an answer, null before the first. */
  readonly lastStatusCode: number | null;
  readonly deliveredAt: Date | null;
  readonly givenUpAt: Date | null;
}

export interface StoredAttempt extends AttemptReport {
  readonly number: number;
}

export interface DeliveryFilter {
  readonly merchantId: string;
  readonly environment: Environment | undefined;
  /** Any when empty. */
  readonly states: readonly DeliveryState[];
  readonly orderNumber: string | undefined;
  readonly orderId: string | undefined;
  readonly endpoint: string | undefined;
  /** "whe_…" */
  readonly webhookEndpointId: string | undefined;
  readonly createdFrom: Date | undefined;
  readonly createdTo: Date | undefined;
  /** Only deliveries older than this one. */
  readonly beforeId: string | undefined;
  readonly limit: number;
}

export interface OrderKey {
  readonly merchantId: string;
  readonly environment: Environment;
  readonly orderId: string;
}

export interface OrderDeliveries {
  readonly deliveries: readonly { readonly delivery: StoredDelivery; readonly attempts: StoredAttempt[] }[];
  /** Whether the order has older deliveries. */
  readonly isIncomplete: boolean;
}

/** The other facts that decide when a pending delivery is sent. */
export interface DeliveryContext {
  /** The latest attempt. */
  readonly lastAttempt: StoredAttempt | undefined;
  /** An earlier delivery of the same order, which must end first. */
  readonly earlier: { readonly id: string; readonly eventType: string } | undefined;
  /** Deliveries to its endpoint that were due before it; counted up to 1,000. */
  readonly dueBefore: number;
}

export interface DeliveryReader {
  /** Newest first. */
  readonly list: (filter: DeliveryFilter) => Promise<StoredDelivery[]>;
  readonly find: (merchantId: string, deliveryId: string) => Promise<StoredDelivery | undefined>;
  /** The stored body, and the latest attempts, newest first. */
  readonly read: (
    merchantId: string,
    deliveryId: string,
  ) => Promise<{ readonly body: Buffer; readonly attempts: StoredAttempt[] }>;
  /** The deliveries of an order and their latest attempts. Both are newest first. */
  readonly ofOrder: (key: OrderKey) => Promise<OrderDeliveries>;
  /**
   * The first undelivered deliveries of an order: pending before abandoned, each in the order of their events. Deliveries to deleted
   * webhook endpoints are left out.
   */
  readonly unfinishedOfOrder: (key: OrderKey) => Promise<StoredDelivery[]>;
  readonly contextOf: (delivery: StoredDelivery) => Promise<DeliveryContext>;
}

const maxAttemptsShown = 200;
/** Limits for one order. An attempt stores 2 KiB of the answer, so the largest response is far below the message limit. */
const orderLimits = { deliveries: 20, attempts: 20 };

/** A pending delivery is sent to the present URL of its webhook endpoint. The others have the URL of their last attempt. */
const currentUrl = `case when state = 'PENDING' and ${isWebhookEndpoint('endpoint')} then coalesce(
    (select e.url from webhooks.webhook_endpoints e where e.merchant_id = deliveries.merchant_id and e.id = deliveries.endpoint),
    url
  ) else url end`;

const columns = `
  id, merchant_id as "merchantId", environment, endpoint, event_id as "eventId", event_type as "eventType",
  order_id as "orderId", order_number as "orderNumber", sequence, ${currentUrl} as url, state, due_at as "dueAt",
  attempt_count as "attemptCount", round_attempts as "roundAttempts", created_at as "createdAt",
  last_attempt_at as "lastAttemptAt", last_result as "lastResult", delivered_at as "deliveredAt", given_up_at as "givenUpAt",
  (select case when l.paused_at is not null then 'PAUSED' when l.resting_until is not null then 'RESTING' else 'OPEN' end
    from webhooks.lanes l
    where l.merchant_id = deliveries.merchant_id and l.environment = deliveries.environment
      and l.endpoint = deliveries.endpoint
  ) as "endpointState",
  (select l.awaits_secret_since is not null from webhooks.lanes l
    where l.merchant_id = deliveries.merchant_id and l.environment = deliveries.environment
      and l.endpoint = deliveries.endpoint
  ) as "awaitsSecret",
  (select a.result from webhooks.delivery_attempts a
    where a.merchant_id = deliveries.merchant_id and a.delivery_id = deliveries.id and a.number = deliveries.attempt_count
  ) as "lastAttemptResult",
  (select a.status_code from webhooks.delivery_attempts a
    where a.merchant_id = deliveries.merchant_id and a.delivery_id = deliveries.id and a.number = deliveries.attempt_count
  ) as "lastStatusCode"`;

const findOne = `select ${columns} from webhooks.deliveries where merchant_id = $1 and id = $2`;

// Nothing more happens to a delivery of a deleted webhook endpoint. There may be more of them than the limit.
const findUnfinished = `
select ${columns} from webhooks.deliveries
where merchant_id = $1 and environment = $2 and order_id = $3 and order_id <> '' and state in ('PENDING', 'GIVEN_UP')
  and not exists (
    select from webhooks.webhook_endpoints e
    where e.merchant_id = deliveries.merchant_id and e.id = deliveries.endpoint and e.deleted_at is not null
  )
order by state <> 'PENDING', sequence
limit $4`;

const readBody = `select body from webhooks.deliveries where merchant_id = $1 and id = $2`;

const readAttempts = `
select d.id as "deliveryId", a.number, a.started_at as "startedAt", a.duration_ms as "durationMs", a.result,
  a.status_code as "statusCode", a.detail, a.remote_address as "remoteAddress", a.response_body as "responseBody",
  a.retry_after as "retryAfter"
from unnest($2::text[]) d (id), lateral (
  select * from webhooks.delivery_attempts
  where merchant_id = $1 and delivery_id = d.id
  order by number desc
  limit $3
) a
order by a.number desc`;

const findEarlier = `
select id, event_type as "eventType" from webhooks.deliveries
where merchant_id = $1 and order_id = $2 and order_id <> '' and sequence < $3 and endpoint = $4 and state = 'PENDING'
order by sequence
limit 1`;

const countDueBefore = `
select count(*)::int as count from (
  select from webhooks.deliveries
  where merchant_id = $1 and environment = $2 and endpoint = $3 and state = 'PENDING'
    and due_at <= now() and (due_at, id) < ($4, $5)
  limit 1000
) due`;

type Row = Omit<StoredDelivery, 'sequence'> & { readonly sequence: string };
const deliveryOf = (row: Row): StoredDelivery => ({ ...row, sequence: BigInt(row.sequence) });

export function createDeliveryReader(pool: Pool): DeliveryReader {
  /** The latest attempts of each delivery, newest first. */
  const attemptsOf = async (
    merchantId: string,
    deliveryIds: readonly string[],
    limit: number,
  ): Promise<Map<string, StoredAttempt[]>> => {
    const rows = await runStatement<StoredAttempt & { deliveryId: string }>(pool, {
      text: readAttempts,
      values: [merchantId, deliveryIds, limit],
    });
    return Map.groupBy(rows, ({ deliveryId }) => deliveryId);
  };
  const attempts = async (merchantId: string, deliveryId: string, limit: number): Promise<StoredAttempt[]> =>
    (await attemptsOf(merchantId, [deliveryId], limit)).get(deliveryId) ?? [];
  const find = async (statement: Statement): Promise<StoredDelivery[]> =>
    (await runStatement<Row & Record<string, unknown>>(pool, statement)).map(deliveryOf);
  const list = (filter: Partial<DeliveryFilter> & ListBounds): Promise<StoredDelivery[]> =>
    find(listStatement(filter));
  return {
    list,
    async ofOrder(key) {
      const found = await list({ ...key, limit: orderLimits.deliveries + 1 });
      const deliveries = found.slice(0, orderLimits.deliveries);
      const ids = deliveries.map(({ id }) => id);
      const tried = await attemptsOf(key.merchantId, ids, orderLimits.attempts);
      return {
        deliveries: deliveries.map((delivery) => ({ delivery, attempts: tried.get(delivery.id) ?? [] })),
        isIncomplete: found.length > orderLimits.deliveries,
      };
    },
    unfinishedOfOrder: ({ merchantId, environment, orderId }) =>
      find({ text: findUnfinished, values: [merchantId, environment, orderId, orderLimits.deliveries] }),
    find: async (merchantId, deliveryId) =>
      (await find({ text: findOne, values: [merchantId, deliveryId] }))[0],
    async read(merchantId, deliveryId) {
      const [bodies, latest] = await Promise.all([
        runStatement<{ body: Buffer }>(pool, { text: readBody, values: [merchantId, deliveryId] }),
        attempts(merchantId, deliveryId, maxAttemptsShown),
      ]);
      return { body: bodies[0]?.body ?? Buffer.alloc(0), attempts: latest };
    },
    async contextOf({ merchantId, environment, endpoint, orderId, sequence, id, dueAt }) {
      const [lastAttempt] = await attempts(merchantId, id, 1);
      const [earlier] = await runStatement<{ id: string; eventType: string }>(pool, {
        text: findEarlier,
        values: [merchantId, orderId, sequence, endpoint],
      });
      const [due] = await runStatement<{ count: number }>(pool, {
        text: countDueBefore,
        values: [merchantId, environment, endpoint, dueAt, id],
      });
      return { lastAttempt, earlier, dueBefore: due?.count ?? 0 };
    },
  };
}

type ListBounds = Pick<DeliveryFilter, 'merchantId' | 'limit'>;

/** The conditions contain only the given filters, so that PostgreSQL uses the index for each list. */
function listStatement(filter: Partial<DeliveryFilter> & ListBounds): Statement {
  const conditions = ['merchant_id = $1'];
  const values: unknown[] = [filter.merchantId];
  const add = (condition: (parameter: string) => string, value: unknown): void => {
    if (value === undefined) return;
    values.push(value);
    conditions.push(condition(`$${values.length}`));
  };
  add((value) => `environment = ${value}`, filter.environment);
  // Literals of this file, never a caller's text. With literals the planner can use the partial index.
  if (filter.states !== undefined && filter.states.length > 0) {
    conditions.push(`state in (${filter.states.map((state) => `'${state}'`).join(', ')})`);
  }
  add((value) => `order_number = ${value} and order_number <> ''`, filter.orderNumber);
  add((value) => `order_id = ${value} and order_id <> ''`, filter.orderId);
  add((value) => `endpoint = ${value}`, filter.endpoint);
  // The condition of the partial index.
  add((value) => `endpoint = ${value} and ${isWebhookEndpoint('endpoint')}`, filter.webhookEndpointId);
  add((value) => `created_at >= ${value}`, filter.createdFrom);
  add((value) => `id > ${value}`, filter.createdFrom && deliveryIdBefore(filter.createdFrom));
  add((value) => `created_at < ${value}`, filter.createdTo);
  add((value) => `id < ${value}`, filter.createdTo && deliveryIdAfter(filter.createdTo));
  add((value) => `id < ${value}`, filter.beforeId);
  values.push(filter.limit);
  const text = `select ${columns} from webhooks.deliveries where ${conditions.join(' and ')} order by id desc limit $${values.length}`;
  return { text, values };
}
