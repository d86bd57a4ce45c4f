import type { Failure } from './failure-reason.ts';

/** Why nothing reached the wallet. Sending the same request again, with the same id, is safe. */
export type NotSentWhy =
  /** The wallet's name did not resolve, or nothing accepted the connection, or TLS was not agreed on. */
  | 'no_connection'
  /** The call's time ran out while waiting for a connection or an access token. */
  | 'timeout'
  /** The caller gave up before anything was sent. */
  | 'aborted'
  /** The wallet gave no access token, without which the request was not worth sending. */
  | 'no_token';

/** Why the wallet's answer settles nothing. It may have acted on the request all the same. */
export type UnknownWhy =
  /** Sent, and the call's time ran out before the whole answer was there. */
  | 'timeout'
  /** Sent, and the caller gave up before the whole answer was there. */
  | 'aborted'
  /** Sent, and the connection broke before the whole answer was there. */
  | 'connection_lost'
  /** A question of ours did not reach the wallet. */
  | 'not_asked'
  /** The answer was longer than any honest one. */
  | 'answer_too_large'
  /** The answer is not JSON, or not of the shape the contract gives it. */
  | 'unreadable_answer'
  /** A status code the contract does not give this answer, redirects among them. */
  | 'unexpected_status'
  /** The wallet says the fault is on its side. */
  | 'server_error'
  /** Too many requests; `retryAfterMs` is there when the wallet said how long to wait. */
  | 'rate_limited'
  /** The wallet has seen this id before: `recover` finds what became of it. */
  | 'duplicate_request'
  /** The wallet does not know what it gave us a reference to, or this connector was given no reference. */
  | 'not_found'
  /** Our credentials were not accepted, with a new access token either. */
  | 'unauthenticated'
  /** A state of the payment that the contract does not name. */
  | 'unrecognised_status'
  /** An error code that the contract does not name. */
  | 'unrecognised_code'
  /** Parts of the answer contradict each other, or it is about another payment. */
  | 'inconsistent';

/** What cannot be said yet. To be asked again; never taken for a failure, never answered by a new charge. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly why: UnknownWhy;
  /** For the operator: one sentence without secrets or phone numbers. */
  readonly detail: string;
  /** How long the wallet asked us to wait before the next request. */
  readonly retryAfterMs?: number;
}

/** An amount and what it is an amount of. Decimal text, never a number; no trailing zeros after the point. */
export interface WalletMoney {
  readonly amount: string;
  /** ISO 4217 alphabetic code. */
  readonly currency: string;
}

/** What the wallet made of a request to pay or to reverse. */
export type Acknowledgement =
  | {
      readonly kind: 'accepted';
      /** Opaque; to be kept, and handed back to `query` or `queryReversal`. At most 800 characters. */
      readonly providerReference: string;
      /** The wallet says it is decided already. Only a query says how. */
      readonly lookNow: boolean;
    }
  /**
   * A definite no to this request. After an earlier send of the same id whose outcome is unknown it settles nothing
   * about that one.
   */
  | ({ readonly kind: 'refused' } & Failure)
  | Unknown
  | { readonly kind: 'not_sent'; readonly why: NotSentWhy; readonly detail: string };

/** Where a payment stands, as the wallet answered our own question. */
export type PaymentOutcome =
  | {
      readonly kind: 'pending';
      /** When the wallet itself will give up waiting for the payer, when it said so. */
      readonly expiresAt?: Date;
    }
  /** Money moved. Whether it is the amount and currency that were asked for is for the caller to compare. */
  | ({
      readonly kind: 'completed';
      readonly providerTransactionId: string;
      /** What the payer was charged on top, one entry a currency. */
      readonly fees: readonly WalletMoney[];
    } & WalletMoney)
  | ({ readonly kind: 'declined' } & Failure)
  /** The payer did not answer the prompt in time; no money moved. */
  | { readonly kind: 'timed_out' }
  | Unknown;

/** Where a reversal stands, as the wallet answered our own question. */
export type ReversalOutcome =
  | { readonly kind: 'pending' }
  | {
      readonly kind: 'completed';
      readonly providerTransactionId: string;
      /** What was given back; absent when the wallet did not repeat it. */
      readonly money?: WalletMoney;
    }
  | ({ readonly kind: 'refused' } & Failure)
  | Unknown;

/** What the wallet remembers of a request whose answer was lost. */
export type Recovery =
  | { readonly kind: 'found'; readonly providerReference: string }
  /**
   * The wallet does not know the id now. Not a failure: the request may still be on its way. Where the wallet is
   * idempotent the same request may be sent again.
   */
  | { readonly kind: 'not_found' }
  | Unknown;

/** Whether the wallet takes requests. */
export type Health =
  | { readonly kind: 'available' }
  | { readonly kind: 'degraded'; readonly detail: string }
  | { readonly kind: 'unavailable'; readonly detail: string }
  /** The wallet is there and does not answer this question: it says nothing of itself, neither good nor bad. */
  | { readonly kind: 'untold'; readonly detail: string };
