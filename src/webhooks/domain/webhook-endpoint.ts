import type { Environment, WebhookEventType } from './delivery.ts';

/** The events that a webhook endpoint can receive without a request. */
export type SubscribedType = Exclude<WebhookEventType, 'webhook.test'>;

export const subscribedTypes = [
  'order.completed',
  'order.failed',
  'order.expired',
  'payment_link.created',
  'payment_link.completed',
  'payment_link.failed',
  'payment_link.expired',
  'refund.completed',
  'refund.failed',
] as const satisfies readonly SubscribedType[];

/** The most endpoints of a merchant in one environment. */
export const maxWebhookEndpoints = 10;

/** One type of event that a webhook endpoint receives. */
export interface Subscription {
  readonly merchantId: string;
  readonly environment: Environment;
  /** "whe_…" */
  readonly endpointId: string;
  readonly url: string;
  /** `*`: every type, including types of later versions. */
  readonly eventType: SubscribedType | '*';
  /** Since when the endpoint receives the type. */
  readonly since: Date;
}

export interface SubscribableEvent {
  readonly merchantId: string;
  readonly environment: Environment;
  /** The types under which the event can be received, the most specific one first. */
  readonly eventTypes: readonly SubscribedType[];
  /** Milliseconds, by core's clock. */
  readonly occurredAt: number;
}

/**
 * How far the time of an event and the time of a subscription may differ from the order of their commits. Two clocks
 * assign these times, and an event is committed after its time.
 */
const toleranceMs = 60_000;

/** An endpoint that receives an event, and the type under which it does. */
export interface EndpointReceiver {
  readonly endpointId: string;
  readonly url: string;
  readonly eventType: SubscribedType;
}

/**
 * The endpoints that receive an event. An endpoint receives it under one type: the most specific type that it has chosen. An endpoint
 * that receives every type gets the most general type of the event. A more specific type of a later version then changes nothing for it.
 * - `possible` includes an event that may have been committed after the endpoint was created. So no such event is missed.
 * - `certain` includes only events that were certainly committed after it. So an older event is never reported as missing.
 */
export const subscriptionsOf = (
  { merchantId, environment, eventTypes, occurredAt }: SubscribableEvent,
  subscriptions: readonly Subscription[],
  certainty: 'possible' | 'certain',
): EndpointReceiver[] => {
  const latest = occurredAt + (certainty === 'possible' ? toleranceMs : -toleranceMs);
  const found = subscriptions.filter(
    (each) =>
      each.merchantId === merchantId && each.environment === environment && each.since.getTime() <= latest,
  );
  const endpoints = new Map(found.map(({ endpointId, url }) => [endpointId, url]));
  return [...endpoints].flatMap(([endpointId, url]) => {
    const chosen = new Set(
      found.filter((each) => each.endpointId === endpointId).map((each) => each.eventType),
    );
    const eventType = chosen.has('*') ? eventTypes.at(-1) : eventTypes.find((type) => chosen.has(type));
    return eventType === undefined ? [] : [{ endpointId, url, eventType }];
  });
};

/** The types that an endpoint receives, each with the time since when it is received. */
export type SubscribedSince = ReadonlyMap<SubscribedType | '*', Date>;

/** The types for a merchant: empty for every type, including types of later versions. */
export const typesOf = (since: SubscribedSince): SubscribedType[] =>
  since.has('*') ? [] : subscribedTypes.filter((type) => since.has(type));

/**
 * The types after a change at `at`. `wanted` is empty for every type. A type that the endpoint received before keeps its
 * time, so that no event of it is missed.
 */
export function changeTypes(
  before: SubscribedSince,
  wanted: readonly SubscribedType[],
  at: Date,
): SubscribedSince {
  if (wanted.length === 0) return new Map([...before, ['*', before.get('*') ?? at]]);
  return new Map(wanted.map((type) => [type, earliest(before.get(type), before.get('*')) ?? at]));
}

const earliest = (a: Date | undefined, b: Date | undefined): Date | undefined =>
  a === undefined || (b !== undefined && b < a) ? b : a;
