import type { Failure } from './failure-reason.ts';

/** Why no request reached the wallet. Sending the same request again, with the same id, is safe. */
export type NotSentWhy =
  /** The wallet's host name did not resolve, or the connection or the TLS handshake failed. */
  | 'no_connection'
  /** The time limit passed while the call waited for a connection or an access token. */
  | 'timeout'
  /** The caller cancelled before anything was sent. */
  | 'aborted'
  /** The wallet issued no access token, or refused the request's token before it acted. */
  | 'no_token'
  /** The wallet refused our credentials, with any status, before the request: when it was asked for an access token, or queried. */
  | 'unauthenticated';

/** Why there is no definite answer. The wallet may have executed the request. */
export type UnknownWhy =
  /** Sent, and the time limit passed before the answer was complete. */
  | 'timeout'
  /** Sent, and the caller cancelled before the answer was complete. */
  | 'aborted'
  /** Sent, and the connection was lost before the answer was complete. */
  | 'connection_lost'
  /** A query did not reach the wallet. */
  | 'not_asked'
  /** The answer was longer than any genuine one. */
  | 'answer_too_large'
  /** The answer is not JSON, or does not match the contract. */
  | 'unreadable_answer'
  /** The contract does not define this status code for the answer, such as a redirect. */
  | 'unexpected_status'
  /** The wallet reports an error of its own. */
  | 'server_error'
  /** Too many requests. `retryAfterMs` is set if the wallet requested a wait. */
  | 'rate_limited'
  /** The wallet already knows this id. `recover` finds its request. */
  | 'duplicate_request'
  /** The wallet does not know its own reference, or the connector got no reference. */
  | 'not_found'
  /** The wallet refused our credentials, even with a new access token. */
  | 'unauthenticated'
  /** The contract does not define this state of the payment. */
  | 'unrecognised_status'
  /** The contract does not define this error code. */
  | 'unrecognised_code'
  /** The answer contradicts itself, or concerns another payment. */
  | 'inconsistent';

/** An open outcome. It must be queried again. It must never count as a failure or lead to a new charge. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly why: UnknownWhy;
  /** For the operator: one sentence without secrets or phone numbers. */
  readonly detail: string;
  /** The wait before the next request that the wallet requested. */
  readonly retryAfterMs?: number;
}

/** An amount with its currency. The amount is decimal text, never a number, without trailing zeros after the point. */
export interface WalletMoney {
  readonly amount: string;
  /** ISO 4217 alphabetic code. */
  readonly currency: string;
}

/** The page, app or text that the payer needs to confirm. Without a next action, the wallet prompts the payer's phone. */
export type NextAction =
  /** The payer's browser must open this page of the wallet. */
  | { readonly kind: 'redirect'; readonly url: string }
  /** The payer must scan this text as a QR code. */
  | { readonly kind: 'qr'; readonly payload: string }
  /** The payer must follow this text, such as "Dial *847#". */
  | { readonly kind: 'instructions'; readonly text: string };

/** The wallet's acknowledgement of a request to pay or to reverse. */
export type Acknowledgement =
  | {
      readonly kind: 'accepted';
      /** An opaque reference to store for `query` or `queryReversal`. At most 800 characters. */
      readonly providerReference: string;
      /** The wallet has already decided. Only a query gives the outcome. */
      readonly queryNow: boolean;
      /** Only for payments. */
      readonly nextAction?: NextAction;
    }
  /**
   * A definite refusal of this request. It does not decide an earlier request with the same id and an unknown outcome.
   */
  | ({ readonly kind: 'refused' } & Failure)
  | Unknown
  | {
      readonly kind: 'not_sent';
      readonly why: NotSentWhy;
      readonly detail: string;
      /** The wait that the wallet requested in answer to a query that comes before the request. */
      readonly retryAfterMs?: number;
    };

/** The outcome of a payment, from the wallet's answer to a query. */
export type PaymentOutcome =
  | {
      readonly kind: 'pending';
      /** When the wallet stops waiting for the payer, if it is known. */
      readonly expiresAt?: Date;
      /**
       * Replaces the stored reference. If the answer to a query comes by callback, a connector records there when it asked. A later
       * query can then ask again. At most 800 characters.
       */
      readonly providerReference?: string;
    }
  /** Money moved. The caller must compare amount and currency with the request. */
  | ({
      readonly kind: 'completed';
      readonly providerTransactionId: string;
      /** The fees that the payer was charged in addition, one entry per currency. */
      readonly fees: readonly WalletMoney[];
    } & WalletMoney)
  | ({ readonly kind: 'declined' } & Failure)
  /** The payer did not answer the prompt in time. No money moved. */
  | { readonly kind: 'timed_out' }
  | Unknown;

/** The outcome of a reversal, from the wallet's answer to a query. */
export type ReversalOutcome =
  /** `providerReference` replaces the stored reference, as for payments. */
  | { readonly kind: 'pending'; readonly providerReference?: string }
  | {
      readonly kind: 'completed';
      readonly providerTransactionId: string;
      /** The returned amount; absent if the wallet does not report it. */
      readonly money?: WalletMoney;
    }
  | ({ readonly kind: 'refused' } & Failure)
  | Unknown;

/** The wallet's knowledge of a request whose answer was lost. */
export type Recovery =
  | { readonly kind: 'found'; readonly providerReference: string }
  /**
   * The wallet does not know the id at present. This is not a failure, because the request may still arrive. If the wallet is
   * idempotent, the same request may be sent again.
   */
  | { readonly kind: 'not_found' }
  | Unknown;

/** Whether the wallet accepts requests. */
export type Health =
  | { readonly kind: 'available' }
  | { readonly kind: 'degraded'; readonly detail: string }
  | { readonly kind: 'unavailable'; readonly detail: string }
  /** The wallet is reachable but has no health endpoint, so its health is unknown. */
  | { readonly kind: 'unreported'; readonly detail: string };
