import { createHmac } from 'node:crypto';
import type { Client } from '@connectrpc/connect';
import type pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { OrderEventType } from '../../src/gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../../src/gen/gatehouse/v1/order_pb.js';
import type { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import {
  findChanged,
  findInvented,
  findOutOfOrder,
  findUndelivered,
} from '../../src/main/prove/webhook-faults.ts';
import type { Exchange } from './logging-receiver.ts';
import type { Shop } from './webhook-shops.ts';

const ends = new Set([
  OrderEventType.COMPLETED,
  OrderEventType.FAILED,
  OrderEventType.EXPIRED,
  OrderEventType.REFUND_COMPLETED,
  OrderEventType.REFUND_FAILED,
]);

/** The committed events that these shops must receive, by order and in sequence. */
export async function committedEnds(
  orders: Client<typeof OrderService>,
  shops: readonly Shop[],
): Promise<readonly OrderEvent[]> {
  const ofShops = await Promise.all(shops.map(({ merchantId }) => eventsOf(orders, merchantId)));
  return ofShops.flat().filter(({ type }) => ends.has(type));
}

async function eventsOf(orders: Client<typeof OrderService>, merchantId: string): Promise<OrderEvent[]> {
  const found: OrderEvent[] = [];
  let afterCursor = '';
  for (let hasMore = true; hasMore;) {
    const page = await orders.listOrderEvents({ merchantId, afterCursor, pageSize: 500 });
    found.push(...page.entries.flatMap(({ event }) => event ?? []));
    ({ nextCursor: afterCursor, hasMore } = page);
  }
  return found;
}

export interface Told {
  /** All committed events that must be sent. */
  readonly events: readonly OrderEvent[];
  /** The webhooks that the receiver of each shop has received, in order. */
  readonly exchanges: ReadonlyMap<Shop, readonly Exchange[]>;
}

/** Compares the webhooks that merchants received with the facts. Returns every difference. */
export function findContradictions({ events, exchanges }: Told): string[] {
  return [...exchanges].flatMap(([shop, ofShop]) => {
    const own = events.filter(({ order }) => order?.merchantId === shop.merchantId);
    const due = own.map(({ eventId, order }) => ({ eventId, orderId: order?.orderId ?? '' }));
    const webhooks = arrived(ofShop);
    const faults = [
      ...findUndelivered(due, webhooks),
      ...findInvented(due, webhooks),
      ...findChanged(webhooks),
      ...findOutOfOrder(due, webhooks),
    ];
    return [
      ...faults.map(({ seen }) => seen),
      ...ofShop.flatMap((exchange) => wronglySigned(exchange, shop.secret)),
    ];
  });
}

/** The receiver's log in the form of the product's own checks. */
const arrived = (exchanges: readonly Exchange[]) =>
  exchanges.map(({ eventId, body, arrival, answer }) => ({
    ...{ eventId, body, arrival },
    acceptedAt: answer !== undefined && answer.status < 300 ? answer.at : undefined,
  }));

function wronglySigned({ headers, body, eventId }: Exchange, secret: string): string[] {
  const faults: string[] = [];
  if (headers['x-svc-hmac-signature'] !== createHmac('sha256', secret).update(body).digest('hex'))
    faults.push(`${eventId} has a wrong X-SVC-HMAC-Signature`);
  try {
    new Webhook(secret).verify(body, {
      'webhook-id': String(headers['webhook-id']),
      'webhook-timestamp': String(headers['webhook-timestamp']),
      'webhook-signature': String(headers['webhook-signature']),
    });
  } catch (error) {
    faults.push(`${eventId} is not signed as Standard Webhooks are: ${String(error)}`);
  }
  return faults;
}

/** The rest in the database at the end: nothing that waits, and no leased lane. */
export async function findLeftOvers(database: pg.Pool, shops: readonly Shop[]): Promise<string[]> {
  const merchantIds = shops.map(({ merchantId }) => merchantId);
  const { rows: deliveries } = await database.query<{ event_id: string; state: string }>(
    `select event_id, state::text from webhooks.deliveries where merchant_id = any ($1) and state <> 'DELIVERED'`,
    [merchantIds],
  );
  const { rows: lanes } = await database.query<{ endpoint: string }>(
    `select endpoint from webhooks.lanes
     where merchant_id = any ($1) and (lease_id is not null or next_due_at is not null or paused_at is not null)`,
    [merchantIds],
  );
  const { rows: miscounted } = await database.query<{ id: string; attempt_count: number; attempts: number }>(
    `select d.id, d.attempt_count, count(a.number)::int as attempts
     from webhooks.deliveries d left join webhooks.delivery_attempts a on a.merchant_id = d.merchant_id and a.delivery_id = d.id
     where d.merchant_id = any ($1)
     group by d.merchant_id, d.id
     having count(a.number) <> d.attempt_count or count(a.number) filter (where a.result = 'DELIVERED') <> 1`,
    [merchantIds],
  );
  return [
    ...deliveries.map(({ event_id: eventId, state }) => `${eventId} is ${state}`),
    ...lanes.map(({ endpoint }) => `the lane to ${endpoint} is held, due or paused`),
    ...miscounted.map(
      ({ id, attempt_count: count, attempts }) => `${id} says ${count} attempts, ${attempts} are stored`,
    ),
  ];
}
