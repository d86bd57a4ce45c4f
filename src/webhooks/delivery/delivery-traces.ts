import { LRUCache } from 'lru-cache';
import type { OrderEvent } from '../../gen/gatehouse/v1/order_pb.js';
import { serverAttributes } from '../../platform/tracing/server-attributes.ts';
import type { Span } from '../../platform/tracing/span.ts';
import type { Tracing } from '../../platform/tracing/tracing.ts';
import { formatTraceparent, parseTraceparent } from '../../platform/tracing/trace-context.ts';
import type { OutgoingDelivery } from '../domain/delivery.ts';
import { atMost } from '../../platform/at-most.ts';

/** The traces of webhooks. They are only in memory: see docs/adr/0041. */
export interface DeliveryTraces {
  /**
   * Begins the span in which deliveries of events are written; undefined for an event without a recorded trace. Its parent is the call that
   * caused the event. So the trace is the same, whether the event came by the broker or from core's list. For an event of the broker, it
   * links to the span `published`, a traceparent.
   */
  readonly beginIntake: (event: OrderEvent, published: string | undefined) => Span | undefined;
  /** Begins the span of an attempt, in the trace of its event if this process ingested the event not long ago. */
  readonly beginAttempt: (delivery: OutgoingDelivery) => Span | undefined;
}

/** Enough for the events of recorded traces that are being delivered. It uses a few MB. */
const remembered = 10_000;
const stream = 'ORDERS';

export function createDeliveryTraces(tracing: Tracing | undefined): DeliveryTraces {
  const known = new LRUCache<string, string>(atMost(remembered));
  return {
    beginIntake(event, published) {
      const { eventId, order, traceparent } = event;
      if (tracing === undefined || parseTraceparent(traceparent)?.isSampled !== true) return undefined;
      const publication = parseTraceparent(published);
      const span = tracing.follow(`process ${stream}`, traceparent, {
        kind: 'consumer',
        links: publication === undefined ? [] : [publication],
        attributes: {
          'messaging.system': 'nats',
          'messaging.destination.name': stream,
          'messaging.operation.name': 'process',
          'messaging.operation.type': 'process',
          'messaging.message.id': eventId,
          'gatehouse.order_id': order?.orderId,
          'gatehouse.merchant_id': order?.merchantId,
        },
      });
      if (span !== undefined) known.set(eventId, formatTraceparent(span.context));
      return span;
    },
    beginAttempt: ({ eventId, eventType, orderId, merchantId, id, url, attemptNumber }) =>
      tracing?.follow('POST webhook', known.get(eventId), {
        kind: 'client',
        attributes: {
          'http.request.method': 'POST',
          ...serverAttributes(url),
          // The conventions have it only in repeats.
          'http.request.resend_count': attemptNumber > 1 ? attemptNumber - 1 : undefined,
          'gatehouse.event_id': eventId,
          'gatehouse.event_type': eventType,
          'gatehouse.order_id': orderId,
          'gatehouse.merchant_id': merchantId,
          'gatehouse.delivery_id': id,
        },
      }),
  };
}
