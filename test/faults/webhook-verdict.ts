import { createHmac } from 'node:crypto';
import type { Client } from '@connectrpc/connect';
import type pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { OrderEventType } from '../../src/gen/gatehouse/v1/order_pb.js';
import type { OrderEvent } from '../../src/gen/gatehouse/v1/order_pb.js';
import type { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import type { Exchange } from './logging-receiver.ts';
import type { Shop } from './webhook-shops.ts';

const ends = new Set([
  OrderEventType.COMPLETED,
  OrderEventType.FAILED,
  OrderEventType.EXPIRED,
  OrderEventType.REFUND_COMPLETED,
  OrderEventType.REFUND_FAILED,
]);

/** What core says it has committed and these shops must be told of, order by order as it happened. */
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
  /** Everything that was committed and has to be told. */
  readonly events: readonly OrderEvent[];
  /** Of each shop, what its receiver has seen. */
  readonly exchanges: ReadonlyMap<Shop, readonly Exchange[]>;
}

/** Compares what merchants were told with what is true. Gives every contradiction. */
export function findContradictions({ events, exchanges }: Told): string[] {
  return [...exchanges].flatMap(([shop, ofShop]) => {
    const own = events.filter(({ order }) => order?.merchantId === shop.merchantId);
    return [
      ...untold(own, ofShop),
      ...invented(own, ofShop),
      ...changed(ofShop),
      ...ofShop.flatMap((exchange) => wronglySigned(exchange, shop.secret)),
      ...outOfOrder(own, ofShop),
    ];
  });
}

const isTaken = ({ answer }: Exchange): boolean => answer !== undefined && answer.status < 300;

function untold(events: readonly OrderEvent[], exchanges: readonly Exchange[]): string[] {
  const taken = new Set(exchanges.filter(isTaken).map(({ eventId }) => eventId));
  return events
    .filter(({ eventId }) => !taken.has(eventId))
    .map(({ eventId }) => `${eventId} was never taken`);
}

function invented(events: readonly OrderEvent[], exchanges: readonly Exchange[]): string[] {
  const known = new Set(events.map(({ eventId }) => eventId));
  return exchanges
    .filter(({ eventId }) => !known.has(eventId))
    .map(({ eventId }) => `${eventId} was told and never committed`);
}

function changed(exchanges: readonly Exchange[]): string[] {
  return [...Map.groupBy(exchanges, ({ eventId }) => eventId)].flatMap(([eventId, all]) => {
    const [first] = all;
    const isSame = all.every(({ body }) => first?.body.equals(body));
    const namesItself = first?.body.toString().startsWith(`{"id":"${eventId}",`);
    return [
      ...(isSame ? [] : [`${eventId} was told in different words`]),
      ...(namesItself ? [] : [`${eventId} has a body of another event`]),
    ];
  });
}

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

/** Of one order, an event must not arrive before the one before it has been taken. */
function outOfOrder(events: readonly OrderEvent[], exchanges: readonly Exchange[]): string[] {
  const byEvent = Map.groupBy(exchanges, ({ eventId }) => eventId);
  return [...Map.groupBy(events, ({ order }) => order?.orderId ?? '').values()].flatMap((ofOrder) =>
    ofOrder.slice(1).flatMap(({ eventId }, index) => {
      const before = ofOrder[index]?.eventId ?? '';
      const takenAt = byEvent.get(before)?.find(isTaken)?.answer?.at ?? Infinity;
      const arrivedAt = byEvent.get(eventId)?.[0]?.arrival ?? Infinity;
      return arrivedAt > takenAt || arrivedAt === Infinity
        ? []
        : [`${eventId} came before ${before} had been taken`];
    }),
  );
}

/** What is left in the database when all is done: nothing that waits, and nobody who holds a lane. */
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
