import type {
  Acknowledgement,
  Health,
  PaymentOutcome,
  Recovery,
  ReversalOutcome,
  WalletMoney,
} from './outcomes.ts';
import type { Answer, RawExchange } from './raw-exchange.ts';

/**
 * One wallet in one environment. A connector translates between the wallet's protocol and our types.
 *
 * Every connector guarantees the following, and the conformance suite checks it:
 * - Calls never reject because of the wallet or the network: they give a result. They always end within the configured time,
 *   including the last byte of the answer.
 * - `refused`, `declined` and `timed_out` require a definite answer from the wallet. The connector itself refuses only what it cannot
 *   send, such as a currency that the wallet does not take. `not_sent` requires that no byte of the request was sent. Everything else is
 *   `unknown`.
 * - `completed`, `declined` and `timed_out` come from a query, never from a callback or an acknowledgement.
 * - No request is repeated with another id. A call repeats a request at most once, and only after its access token was refused.
 * - The exchanges of a result contain no secrets and no complete phone numbers.
 */
export interface WalletConnector {
  readonly capabilities: WalletCapabilities;

  /** Requests a payment, for which the wallet prompts the payer. The attempt must be committed before this call. */
  initiate(request: PaymentRequest, options: CallOptions): Promise<Answer<Acknowledgement>>;

  /** Queries the outcome of a payment. */
  query(payment: PaymentQuery, options: CallOptions): Promise<Answer<PaymentOutcome>>;

  /**
   * Finds a request (of a payment or a reversal, by our id) whose acknowledgement was lost. Gives the reference for a query,
   * not the outcome.
   */
  recover(requestId: string, options: CallOptions): Promise<Answer<Recovery>>;

  /** Reads a message to a callback URL. Its content is at most a reason to query now. */
  parseCallback(callback: CallbackRequest): CallbackHint;

  /** Requests the reversal of a payment. */
  reverse(request: ReversalRequest, options: CallOptions): Promise<Answer<Acknowledgement>>;

  /** Queries the outcome of a reversal. */
  queryReversal(reversal: ReversalQuery, options: CallOptions): Promise<Answer<ReversalOutcome>>;

  /**
   * The payee account's transactions of a period, page by page, in the wallet's order. It throws if the statement cannot be
   * read to its end, so that a part is never taken for the whole. Pages yielded before are valid.
   * @throws StatementError
   */
  statement(period: StatementPeriod, options: CallOptions): AsyncIterable<StatementPage>;

  /** Checks whether the wallet accepts requests. */
  health(options: CallOptions): Promise<Answer<Health>>;

  /** Payments that payers start themselves; absent if the wallet does not report them. */
  readonly payerStarted?: PayerStartedPayments;

  /** Closes the connections and aborts running calls. */
  close(): Promise<void>;
}

/** The differences between wallets that matter to the user of a connector. */
export interface WalletCapabilities {
  /** Whether a payment request sent twice with one id charges once. If not, it must never be sent twice. */
  readonly idempotentInitiate: boolean;
  /** Whether a payer can pay only with the link in the answer to the request. Then a request whose answer was lost is never paid. */
  readonly payerNeedsAnswer: boolean;
  /** The id for `query`: our attempt id, or the wallet's reference from its acknowledgement. */
  readonly queryBy: 'attempt_id' | 'provider_reference';
  /** Whether `recover` can find a request by our id. */
  readonly recovery: boolean;
  /** Whether payments can be reversed with the configured credentials. */
  readonly reversal: boolean;
  /** Whether part of a payment can be reversed. */
  readonly partialReversal: boolean;
  readonly statement: boolean;
  readonly callbackMethod: 'PUT' | 'POST';
  /** How a callback is authenticated: only by its secret URL, or also by its message. */
  readonly callbackAuthentication: 'unguessable_url' | 'credentials' | 'signature';
}

export interface CallOptions {
  /** Ends the call early, with the result `not_sent` or `unknown`. */
  readonly signal: AbortSignal;
}

/** How the payer is prompted: by USSD, or in the wallet's own application. */
export type PromptChannel = 'ussd' | 'wallet_app';

export interface PaymentRequest extends WalletMoney {
  /** The permanent id of this request at the wallet: a TypeID such as `pat_…`, or a UUID. */
  readonly attemptId: string;
  /** E.164 with its plus. */
  readonly payerPhone: string;
  readonly channel: PromptChannel;
  /** The text for the payer, cut to the wallet's limit. */
  readonly description: string;
  /** Where the wallet's page sends the payer's browser afterwards. Parameters that the page adds to this URL are not trusted. */
  readonly returnUrl?: string;
  readonly requestedAt: Date;
  /** An unguessable, URL-safe text for this attempt only. It becomes part of the callback URL. */
  readonly callbackToken: string;
}

/** `amount` and `currency` are those of the request, for wallets whose answer contains neither. */
export interface PaymentQuery extends WalletMoney {
  readonly attemptId: string;
  /** The reference from `initiate` or `recover`, or from an earlier query. Absent for wallets that are queried by attempt id. */
  readonly providerReference?: string;
  /** The token of the attempt's callback URL, for queries whose answer comes by callback. */
  readonly callbackToken: string;
  /** The notes of this attempt's callbacks, oldest first. */
  readonly callbackNotes: readonly string[];
}

/** `amount` and `currency` of the reversal. */
export interface ReversalRequest extends WalletMoney {
  /** The permanent id of this reversal at the wallet: a TypeID or a UUID that differs from the attempt's. */
  readonly reversalId: string;
  readonly providerTransactionId: string;
  /** The attempt that was paid, for wallets that name the payment by our id. */
  readonly attemptId: string;
  /** The wallet's reference of that attempt. */
  readonly paymentReference?: string;
  readonly description: string;
  readonly requestedAt: Date;
  readonly callbackToken: string;
}

/** `amount` and `currency` are those of the request. */
export interface ReversalQuery extends WalletMoney {
  readonly reversalId: string;
  /** The transaction to reverse. */
  readonly providerTransactionId: string;
  /** The attempt that was paid. */
  readonly attemptId: string;
  /** The reference from `reverse` or from an earlier query. */
  readonly providerReference?: string;
  readonly callbackToken: string;
  /** The notes of this reversal's callbacks, oldest first. */
  readonly callbackNotes: readonly string[];
}

/**
 * The end of the second callback URL that some wallets take. They report there that they could not finish a request in time. Such a message
 * decides nothing, whatever it says.
 */
export const timeoutPath = '/timeout';

/** A request to a callback URL. The listener limits the length of its body. */
export interface CallbackRequest {
  readonly method: string;
  /** Without the unguessable part. It ends with `timeoutPath` if the message came there. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
  readonly receivedAt: Date;
}

export interface CallbackHint {
  /** The only possible effect: a query. Unreadable callbacks also cause one, because a query is harmless. */
  readonly queryNow: true;
  /** The outcome that the message announces, for the log. */
  readonly announced: 'completed' | 'failed' | 'other' | 'unreadable';
  /**
   * The part of the message that a query needs, such as a receipt number, or the answer to a query of ours. It is stored with the
   * attempt or reversal, and given to later queries. Without secrets or phone numbers. At most 800 characters.
   */
  readonly note?: string;
  /** The answer that the wallet expects. */
  readonly reply: { readonly status: number; readonly body: string };
  readonly exchange: RawExchange;
}

export interface StatementPeriod {
  /** Inclusive. */
  readonly from: Date;
  /** Inclusive, as in the contracts of all known wallets. */
  readonly to: Date;
}

export interface StatementPage {
  readonly entries: readonly StatementEntry[];
  /** Unreadable entries, which are reported to the operator. */
  readonly unreadable: readonly UnreadableEntry[];
  readonly exchanges: readonly RawExchange[];
}

export interface StatementEntry extends WalletMoney {
  readonly providerTransactionId: string;
  readonly type: 'payment' | 'reversal' | 'other';
  readonly status: 'completed' | 'pending' | 'failed' | 'reversed' | 'other';
  /** Our attempt or reversal id, if the wallet returns it. */
  readonly requestId?: string;
  /** The transaction that a reversal returns. */
  readonly originalTransactionId?: string;
  readonly occurredAt?: Date;
  readonly fees: readonly WalletMoney[];
}

export interface UnreadableEntry {
  /** Its position in the whole statement, from 0. */
  readonly position: number;
  readonly why: string;
}

/**
 * Payments that payers start themselves, in the menu of their phone, at a till or paybill. The wallet first asks whether we take
 * the payment, if the provider has enabled that, and afterwards reports it.
 */
export interface PayerStartedPayments {
  /** Reads a message to the validation or the confirmation URL. Its sender is not proved. */
  parse(message: CallbackRequest): PayerStartedMessage;

  /** The answer to the validation of a payment. */
  replyToValidation(decision: ValidationDecision): { readonly status: number; readonly body: string };

  /** Whether a short code is the account that this connector collects for. */
  isPayee(payee: string): boolean;

  /**
   * The last 12 characters of the id of the attempt that a reference names; undefined when it can name none. Wallets also report
   * payments that we requested. Such a payment belongs to that attempt.
   */
  attemptIdEnd(reference: string): string | undefined;

  /** The note to store with that attempt, whose later queries find the payment by it. */
  noteOf(payment: PayerStartedPayment): string;

  /** Tells the wallet our URLs. Some wallets allow this once only. */
  register(urls: PayerStartedUrls, options: CallOptions): Promise<Answer<Registration>>;

  /**
   * Asks the wallet for a reported payment, by its receipt. The outcome is pending until the answer has come by callback, to the
   * URL of `paymentId` and `callbackToken`.
   */
  confirm(query: PayerStartedQuery, options: CallOptions): Promise<Answer<PaymentOutcome>>;
}

export type PayerStartedMessage = { readonly exchange: RawExchange } & (
  | { readonly kind: 'payment'; readonly payment: PayerStartedPayment }
  | { readonly kind: 'unreadable'; readonly problem: string }
);

/** A payment that its payer started, as the wallet's message announces it. */
export interface PayerStartedPayment extends WalletMoney {
  readonly providerTransactionId: string;
  /** The text that the payer entered, at most 20 characters; empty for a till. */
  readonly reference: string;
  /** The short code that was paid. */
  readonly payee: string;
  readonly occurredAt?: Date;
}

/** Whether a payment is taken, and why not. */
export type ValidationDecision =
  | 'accept'
  | 'unknown_reference'
  | 'wrong_amount'
  | 'unknown_payee'
  | 'refused_payer'
  | 'other';

export interface PayerStartedUrls {
  readonly validation: string;
  readonly confirmation: string;
  /** The action of the wallet on a payment when our validation URL does not answer. */
  readonly withoutAnswer: 'complete' | 'cancel';
}

export type Registration =
  | { readonly kind: 'registered' }
  /** URLs are registered already. The wallet changes them only on request of the operator. */
  | { readonly kind: 'already_registered' }
  | Exclude<Acknowledgement, { readonly kind: 'accepted' }>;

export interface PayerStartedQuery {
  /** Our id of the reported payment. */
  readonly paymentId: string;
  readonly providerTransactionId: string;
  readonly providerReference?: string;
  readonly callbackToken: string;
  /** The notes of the callbacks about this payment, oldest first. */
  readonly callbackNotes: readonly string[];
}
