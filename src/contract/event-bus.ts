import { openEventBus as openBus } from '../platform/nats-event-bus.ts';
import type { EventBus as Bus, EventBusOptions } from '../platform/nats-event-bus.ts';

/** What there may be news of: committed events to relay and follow, payment attempts or webhooks that are due. */
const bells = ['order_events', 'payment_attempts', 'webhook_deliveries'] as const;
export type Bell = (typeof bells)[number];

/** The stream of committed events. Each has the subject `orders.<environment>.<merchant>.<type>`. */
const stream = { name: 'ORDERS', subjects: ['orders.>'] } as const;

export type EventBus = Bus<Bell>;

/** The connection to the broker that all processes share: see `openEventBus` of the platform. */
export const openEventBus = (options: Omit<EventBusOptions<Bell>, 'bells' | 'stream'>): EventBus =>
  openBus({ ...options, bells, stream });
