import { openEventBus as openBus } from '../platform/nats-event-bus.ts';
import type { EventBus as Bus, EventBusOptions } from '../platform/nats-event-bus.ts';

/** The kinds of work: committed events to relay and follow, and due payment attempts and webhooks. */
const bells = ['order_events', 'payment_attempts', 'webhook_deliveries'] as const;
export type Bell = (typeof bells)[number];

/** The stream of committed events. Each has the subject `orders.<environment>.<merchant>.<type>`. */
const stream = { name: 'ORDERS', subjects: ['orders.>'] } as const;

export type EventBus = Bus<Bell>;

/** The process's connection to the broker: see `openEventBus` of the platform. */
export const openEventBus = (options: Omit<EventBusOptions<Bell>, 'bells' | 'stream'>): EventBus =>
  openBus({ ...options, bells, stream });
