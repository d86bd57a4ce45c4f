export type Environment = 'SANDBOX' | 'PRODUCTION';

/**
 * The state of a delivery. GIVEN_UP means abandoned: its schedule has ended, or its webhook endpoint was deleted. It can be redelivered
 * unless the endpoint was deleted.
 */
export type DeliveryState = 'PENDING' | 'DELIVERED' | 'GIVEN_UP';

/** The events that merchants receive. The last one is sent on request only. */
export type WebhookEventType =
  | 'order.completed'
  | 'order.failed'
  | 'order.expired'
  | 'payment_link.created'
  | 'payment_link.completed'
  | 'payment_link.failed'
  | 'payment_link.expired'
  | 'refund.completed'
  | 'refund.failed'
  | 'webhook.test';

/** How an attempt ended. */
export type AttemptResult =
  | 'DELIVERED'
  /** A status other than 2xx. Redirects are not followed. */
  | 'REFUSED'
  /** 410: the receiver wants no more webhooks. */
  | 'GONE'
  | 'TIMED_OUT'
  | 'CONNECTION_FAILED'
  /** The answer is not HTTP, has too large headers, or has a body of the wrong length. */
  | 'UNREADABLE'
  | 'TLS_FAILED'
  /** The host name has no public address. The merchant must not learn whether it has a private one. */
  | 'NAME_NOT_RESOLVED'
  /** The URL contains an IP address that is not public. No connection was opened. */
  | 'ADDRESS_NOT_ALLOWED';

/** The key of a lane: one endpoint of one merchant in one environment. A process leases a whole lane. */
export interface LaneKey {
  readonly merchantId: string;
  readonly environment: Environment;
  /**
   * The id of a webhook endpoint, "whe_…". For the webhook_urls of orders: scheme, host and port, in the form of
   * `endpointOf`.
   */
  readonly endpoint: string;
}

/**
 * The owner of signing secrets: a webhook endpoint, or the orders with a webhook_url of a merchant in one environment. Each owner has
 * secrets of its own.
 */
export interface SecretOwner {
  readonly merchantId: string;
  readonly environment: Environment;
  /** "whe_…"; empty for orders' webhook_urls. */
  readonly endpointId: string;
}

/** The owner of the secrets that sign the deliveries of a lane. */
export const secretOwnerOf = ({ merchantId, environment, endpoint }: LaneKey): SecretOwner => ({
  merchantId,
  environment,
  endpointId: endpointIdOf({ endpoint }),
});

/** The facts of a delivery that sending needs. */
export interface OutgoingDelivery extends LaneKey {
  readonly id: string;
  readonly eventId: string;
  readonly eventType: WebhookEventType;
  /** Empty on a test event. */
  readonly orderId: string;
  readonly sequence: bigint;
  readonly url: string;
  readonly body: Buffer;
  /** The number of the next attempt, from 1, over all redeliveries. */
  readonly attemptNumber: number;
  /** Attempts made since its schedule began. */
  readonly roundAttempts: number;
  /** When its schedule began, or when its lane was resumed later. */
  readonly roundStartedAt: Date;
}

/** The result of an attempt, as it is stored. */
export interface AttemptReport {
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly result: AttemptResult;
  /** 0 without an answer. */
  readonly statusCode: number;
  /** Why it failed, in English for the merchant's developer; empty when delivered. */
  readonly detail: string;
  /** Empty without a connection. */
  readonly remoteAddress: string;
  /** The first part of the answer's body. */
  readonly responseBody: Buffer;
  /** The answer's Retry-After, unchanged; empty without one. */
  readonly retryAfter: string;
  /** Why a host name has no usable address. Only for the operator's log; not stored. */
  readonly hiddenCause?: string;
}

/** The id of the webhook endpoint of a lane; empty for a lane of orders' webhook_urls. */
export const endpointIdOf = ({ endpoint }: Pick<LaneKey, 'endpoint'>): string =>
  endpoint.startsWith('whe_') ? endpoint : '';

/** Scheme, host and port of a URL, without the scheme's standard port. */
export const endpointOf = (url: string): string => new URL(url).origin;
