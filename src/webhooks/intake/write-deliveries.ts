import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Pool, PoolClient } from 'pg';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import type { NewId } from '../../contract/public-id.ts';
import { endpointOf } from '../domain/delivery.ts';
import { environmentOf, eventBody, webhookEventType } from './event-body.ts';
import { insertDeliveries } from './insert-deliveries.sql.ts';
import type { NewDelivery, ReaderMove } from './insert-deliveries.sql.ts';

/** The result of writing a batch of events. */
export interface WrittenDeliveries {
  /** The ids of the events whose deliveries are new. */
  readonly created: ReadonlySet<string>;
}

/** Writes deliveries of events. */
export interface DeliveryWriter {
  /**
   * Creates a missing delivery for each event that ended an order with a webhook_url, or a refund of one, and moves the reader. Both happen
   * in one short transaction. Events older than the retention are skipped, because their delivery may have been sent
   * and removed. Safe to repeat. Written over `client` when given, else over any connection.
   * @throws TypeError for an event that this version does not know; nothing is written then.
   */
  readonly write: (
    events: readonly OrderEvent[],
    move?: ReaderMove,
    client?: PoolClient,
  ) => Promise<WrittenDeliveries>;
}

export interface DeliveryWriterParts {
  readonly database: { readonly pool: Pool };
  readonly retentionDays: number;
  readonly newId: NewId;
  readonly now: () => Date;
}

const dayMs = 24 * 60 * 60_000;

export function createDeliveryWriter(parts: DeliveryWriterParts): DeliveryWriter {
  const { database, retentionDays, newId, now } = parts;
  return {
    async write(events, move, client) {
      const at = now();
      const since = at.getTime() - retentionDays * dayMs;
      const owed = events.filter((event) => needsDelivery(event) && occurredAt(event) >= since);
      const deliveries = owed.map((event) => newDelivery(event, newId('whd', at)));
      if (deliveries.length === 0 && move === undefined) return { created: new Set() };
      const created = await insertDeliveries(client ?? database.pool, deliveries, move);
      return { created };
    },
  };
}

/** Whether the merchant is notified of the event: it ended an order that has a webhook_url, or a refund of such an order. */
export const needsDelivery = (event: OrderEvent): boolean =>
  webhookEventType(event) !== undefined && (event.order?.webhookUrl ?? '') !== '';

/** In milliseconds. An event without a time, which no stored event is, counts as the oldest. */
export const occurredAt = ({ occurTime }: OrderEvent): number =>
  occurTime === undefined ? -Infinity : timestampMs(occurTime);

function newDelivery(event: OrderEvent, id: string): NewDelivery {
  const { order } = event;
  const eventType = webhookEventType(event);
  if (order === undefined || eventType === undefined)
    throw new TypeError(`event ${event.eventId} has no webhook`);
  return {
    merchantId: order.merchantId,
    id,
    environment: environmentOf(event),
    endpoint: endpointOf(order.webhookUrl),
    eventId: event.eventId,
    eventType,
    orderId: order.orderId,
    orderNumber: order.orderNumber,
    sequence: event.sequence,
    url: order.webhookUrl,
    body: eventBody(event),
  };
}
