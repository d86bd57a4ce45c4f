import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Pool, PoolClient } from 'pg';
import { retentionStart } from '../../platform/database/retention-start.ts';
import type { TwoClocks } from '../../platform/database/retention-start.ts';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import type { NewId } from '../../contract/public-id.ts';
import type { LaneLease } from '../delivery/lane-runner.ts';
import { endpointOf } from '../domain/delivery.ts';
import { subscriptionsOf } from '../domain/webhook-endpoint.ts';
import type { SubscribedType } from '../domain/webhook-endpoint.ts';
import { endType, environmentOf, eventBody, webhookTypes } from './event-body.ts';
import type { EventReceiver, NewDelivery, ReaderMove } from './insert-deliveries.sql.ts';
import { insertWithLease } from './insert-with-lease.ts';
import type { WrittenDeliveries } from './insert-with-lease.ts';
import { readSubscriptions } from './read-subscriptions.sql.ts';

/** An event and one of its receivers. */
export interface OwedDelivery extends EventReceiver {
  readonly event: OrderEvent;
  readonly eventType: SubscribedType;
  readonly url: string;
}

/** Writes deliveries of events. */
export interface DeliveryWriter {
  /**
   * The deliveries that events need: one for the order's webhook_url, and one for each webhook endpoint of the merchant
   * that receives one of its types. The webhook_url receives only ends of the order and of its refunds. Events older than the retention have
   * none, because their deliveries may have been sent and removed. `certainty` decides about endpoints that were created
   * within a minute of the event.
   * @throws TypeError for an event that this version does not know.
   */
  readonly owed: (
    events: readonly OrderEvent[],
    certainty: 'possible' | 'certain',
    client?: PoolClient,
  ) => Promise<readonly OwedDelivery[]>;
  /**
   * Creates the deliveries that are missing, and moves the reader, in one short transaction. Safe to repeat. Uses `client` if it
   * is given, otherwise any connection. With a lease, which needs a transaction of its own, it also leases idle lanes.
   * @throws TypeError for an event that this version does not know; nothing is written then.
   */
  readonly write: (
    owed: readonly OwedDelivery[],
    move?: ReaderMove,
    client?: PoolClient,
    lease?: LaneLease,
  ) => Promise<WrittenDeliveries>;
}

export interface DeliveryWriterParts extends TwoClocks {
  readonly database: { readonly pool: Pool };
  readonly retentionDays: number;
  readonly newId: NewId;
}

const nothingWritten: WrittenDeliveries = {
  created: [],
  unleased: 0,
  leased: { lanes: [], now: undefined },
};

export function createDeliveryWriter(parts: DeliveryWriterParts): DeliveryWriter {
  const { database, retentionDays, newId, now } = parts;
  return {
    async owed(events, certainty, client) {
      const since = retentionStart(parts, retentionDays).getTime();
      const notified = events.flatMap((event) => {
        const eventTypes = webhookTypes(event);
        return eventTypes.length === 0 || occurredAt(event) < since ? [] : [{ event, eventTypes }];
      });
      if (notified.length === 0) return [];
      const merchantIds = new Set(notified.map(({ event }) => event.order?.merchantId ?? ''));
      // Read after the events were committed, so every endpoint that was created before is there.
      const subscriptions = await readSubscriptions(client ?? database.pool, [...merchantIds]);
      return notified.flatMap(({ event, eventTypes }) => {
        const { order, eventId } = event;
        const url = order?.webhookUrl ?? '';
        const eventType = endType(event);
        const ownUrl =
          url === '' || eventType === undefined ? [] : [{ endpoint: endpointOf(url), url, eventType }];
        const facts = {
          merchantId: order?.merchantId ?? '',
          environment: environmentOf(event),
          eventTypes,
          occurredAt: occurredAt(event),
        };
        const endpoints = subscriptionsOf(facts, subscriptions, certainty).map((each) => ({
          endpoint: each.endpointId,
          url: each.url,
          eventType: each.eventType,
        }));
        return [...ownUrl, ...endpoints].map((receiver) => ({ event, eventId, ...receiver }));
      });
    },
    async write(owed, move, client, lease) {
      if (owed.length === 0 && move === undefined) return nothingWritten;
      const at = now();
      const bodies = new Map<string, Buffer>();
      const deliveries = owed.map((each): NewDelivery => {
        const key = `${each.eventId} ${each.eventType}`;
        const body = bodies.get(key) ?? eventBody(each.event, each.eventType);
        bodies.set(key, body);
        return newDelivery(each, newId('whd', at), body);
      });
      return insertWithLease(client ?? database.pool, deliveries, move, lease);
    },
  };
}

/** In milliseconds. An event without a time counts as the oldest. Every stored event has a time. */
export const occurredAt = ({ occurTime }: OrderEvent): number =>
  occurTime === undefined ? -Infinity : timestampMs(occurTime);

/**
 * The event time is from core's clock, and the current time from this process's clock. An event in the future counts as
 * old, because it must not wait for clocks to agree.
 */
export function isRecent(event: OrderEvent, now: Date, recentAgeMs: number): boolean {
  const ageMs = now.getTime() - occurredAt(event);
  return ageMs >= 0 && ageMs < recentAgeMs;
}

const newDelivery = (
  { event, eventId, eventType, endpoint, url }: OwedDelivery,
  id: string,
  body: Buffer,
): NewDelivery => ({
  merchantId: event.order?.merchantId ?? '',
  id,
  environment: environmentOf(event),
  endpoint,
  eventId,
  eventType,
  orderId: event.order?.orderId ?? '',
  orderNumber: event.order?.orderNumber ?? '',
  sequence: event.sequence,
  url,
  body,
});
