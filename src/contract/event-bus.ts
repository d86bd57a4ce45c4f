import { openEventBus as openBus } from '../platform/nats/nats-event-bus.ts';
import type { EventBus as Bus, EventBusOptions } from '../platform/nats/nats-event-bus.ts';

/**
 * The kinds of work. `order_events`: committed events to relay and follow. `payment_attempts`: all due work at the wallets, also refunds,
 * reversals and payer-started payments. `webhook_deliveries`: due webhooks.
 */
const wakeTopics = ['order_events', 'payment_attempts', 'webhook_deliveries'] as const;
export type WakeTopic = (typeof wakeTopics)[number];

/** The stream of committed events. Each has the subject `orders.<environment>.<merchant>.<type>`. */
const stream = { name: 'ORDERS', subjects: ['orders.>'] } as const;

export type EventBus = Bus<WakeTopic>;

/** The process's connection to the broker: see `openEventBus` of the platform. */
export const openEventBus = (options: Omit<EventBusOptions<WakeTopic>, 'wakeTopics' | 'stream'>): EventBus =>
  openBus({ ...options, wakeTopics, stream });
