import { openEventBus as openBus } from '../platform/nats/nats-event-bus.ts';
import type { EventBus as Bus, EventBusOptions } from '../platform/nats/nats-event-bus.ts';

/** The kinds of work: committed events to relay and follow, and due payment attempts and webhooks. */
const wakeTopics = ['order_events', 'payment_attempts', 'webhook_deliveries'] as const;
export type WakeTopic = (typeof wakeTopics)[number];

/** The stream of committed events. Each has the subject `orders.<environment>.<merchant>.<type>`. */
const stream = { name: 'ORDERS', subjects: ['orders.>'] } as const;

export type EventBus = Bus<WakeTopic>;

/** The process's connection to the broker: see `openEventBus` of the platform. */
export const openEventBus = (options: Omit<EventBusOptions<WakeTopic>, 'wakeTopics' | 'stream'>): EventBus =>
  openBus({ ...options, wakeTopics, stream });
