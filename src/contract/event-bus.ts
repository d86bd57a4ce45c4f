import { openEventBus as openBus } from '../platform/nats/nats-event-bus.ts';
import type { EventBus as Bus, EventBusOptions } from '../platform/nats/nats-event-bus.ts';

/** The kinds of work: committed events to relay and follow, and due payment attempts and webhooks. */
const wakeTopics = ['order_events', 'payment_attempts', 'webhook_deliveries'] as const;
/**
 * The parts of the topic payment_attempts: only attempts are due, or only money that goes back to payers. Both are due far more often than
 * the other work of the wallets. Without a part, or with one that they do not know, wallets processes ask core for every kind of work.
 */
export const onlyAttempts = 'attempts';
export const onlyMoneyBack = 'money_back';

const walletWork = ['payments', 'reversals', 'payerPayments', 'reconciliations', 'checks'] as const;
export type WalletWork = (typeof walletWork)[number];

/** The kinds of work of the wallets that a wake-up with this part of payment_attempts is about. */
export function walletWorkOf(part: string): readonly WalletWork[] {
  switch (part) {
    case onlyAttempts:
      return ['payments'];
    case onlyMoneyBack:
      return ['reversals'];
    default:
      return walletWork;
  }
}

export type WakeTopic = (typeof wakeTopics)[number];

/** The stream of committed events. Each has the subject `orders.<environment>.<merchant>.<type>`. */
const stream = { name: 'ORDERS', subjects: ['orders.>'] } as const;

export type EventBus = Bus<WakeTopic>;

/** The process's connection to the broker: see `openEventBus` of the platform. */
export const openEventBus = (options: Omit<EventBusOptions<WakeTopic>, 'wakeTopics' | 'stream'>): EventBus =>
  openBus({ ...options, wakeTopics, stream });
