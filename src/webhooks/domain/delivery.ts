/** Which of the two separate worlds a delivery belongs to. */
export type Environment = 'SANDBOX' | 'PRODUCTION';

/** The state of a delivery. GIVEN_UP means abandoned: its schedule has ended, and it can be redelivered. */
export type DeliveryState = 'PENDING' | 'DELIVERED' | 'GIVEN_UP';

/** The events that merchants receive. The last one is sent on request only. */
export type WebhookEventType = 'order.completed' | 'order.failed' | 'order.expired' | 'webhook.test';

/** How an attempt ended. */
export type AttemptResult =
  | 'DELIVERED'
  /** Another status than 2xx; redirects are not followed. */
  | 'REFUSED'
  /** 410: the receiver asks for no more webhooks. */
  | 'GONE'
  | 'TIMED_OUT'
  | 'CONNECTION_FAILED'
  /** An answer came that is not HTTP, too large in its headers, or not as long as it says. */
  | 'UNREADABLE'
  | 'TLS_FAILED'
  /** The host name has no address, or no public one. The merchant must not learn which. */
  | 'NAME_NOT_RESOLVED'
  /** The URL has a literal IP address that is not public: nothing was connected to. */
  | 'ADDRESS_NOT_ALLOWED';

/** An endpoint of a merchant: what its deliveries of one environment share, and what is leased. */
export interface LaneKey {
  readonly merchantId: string;
  readonly environment: Environment;
  /** Scheme, host and port, as `endpointOf` writes them. */
  readonly endpoint: string;
}

/** What sending needs to know of a delivery. */
export interface OutgoingDelivery extends LaneKey {
  readonly id: string;
  readonly eventId: string;
  readonly eventType: WebhookEventType;
  /** Empty on a test event. */
  readonly orderId: string;
  readonly sequence: bigint;
  readonly url: string;
  readonly body: Buffer;
  /** Number of the attempt that is next, from 1, over all redeliveries. */
  readonly attemptNumber: number;
  /** Attempts made since its schedule began. */
  readonly roundAttempts: number;
  /** When its schedule began, or its lane was resumed after that. */
  readonly roundStartedAt: Date;
}

/** The result of an attempt, as it is stored. */
export interface AttemptReport {
  readonly startedAt: Date;
  readonly durationMs: number;
  readonly result: AttemptResult;
  /** 0 when nothing was answered. */
  readonly statusCode: number;
  /** What went wrong, in words for the merchant's developer; empty when delivered. */
  readonly detail: string;
  /** Empty when nothing was connected to. */
  readonly remoteAddress: string;
  /** The first part of the answer's body. */
  readonly responseBody: Buffer;
  /** The answer's Retry-After as sent; empty when there was none. */
  readonly retryAfter: string;
  /** Why a host name led nowhere. Only for the operator's log; not stored. */
  readonly hiddenCause?: string;
}

/** Scheme, host and port of a URL, the port left out when it is the scheme's own. */
export const endpointOf = (url: string): string => new URL(url).origin;
