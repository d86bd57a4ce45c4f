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
 * One wallet in one environment, spoken to in its own protocol and told of in ours.
 *
 * What every connector promises, and the conformance suite checks:
 * - Calls do not reject because of anything the wallet or the network does; they give a result. They always end, within
 *   the time the connector was configured with, answer read to its end included.
 * - `refused`, `failed` and `expired` are given only on a definite word of the wallet's; `not_sent` only when not one
 *   byte of the request had left. All else is `unknown`.
 * - `completed` and `failed` come from a question of ours, never from a callback or an acknowledgement.
 * - No request is repeated with another id, and none is repeated at all except once after its access token was refused.
 * - The exchanges that come with a result hold no secret and no whole phone number.
 */
export interface WalletConnector {
  readonly capabilities: WalletCapabilities;

  /** Asks the wallet to ask the payer. The attempt must be committed before this is called. */
  initiate(request: PaymentRequest, options: CallOptions): Promise<Answer<Acknowledgement>>;

  /** Asks where a payment stands. */
  query(payment: PaymentInquiry, options: CallOptions): Promise<Answer<PaymentOutcome>>;

  /**
   * Asks what became of a request (a payment's or a reversal's, by our id) whose acknowledgement was lost. Gives the
   * reference to query by, not the outcome.
   */
  recover(requestId: string, options: CallOptions): Promise<Answer<Recovery>>;

  /** Reads what somebody sent to a callback URL. Whatever it says, it is at most a reason to query now. */
  parseCallback(callback: CallbackRequest): CallbackHint;

  /** Asks the wallet to give a payment back. */
  reverse(request: ReversalRequest, options: CallOptions): Promise<Answer<Acknowledgement>>;

  /** Asks where a reversal stands. */
  queryReversal(reversal: ReversalInquiry, options: CallOptions): Promise<Answer<ReversalOutcome>>;

  /**
   * The payee account's transactions of a period, page by page, in the wallet's order. A statement that could not be
   * read to its end throws, so that a part of one is never taken for the whole; what was yielded before is real.
   * @throws StatementError
   */
  statement(period: StatementPeriod, options: CallOptions): AsyncIterable<StatementPage>;

  /** Asks whether the wallet takes requests. */
  health(options: CallOptions): Promise<Answer<Health>>;

  /** Closes the connections; calls under way end as aborted. */
  close(): Promise<void>;
}

/** What differs between wallets and matters to whoever drives a connector. */
export interface WalletCapabilities {
  /** Whether a payment request sent twice with one id charges once. If not, it must never be sent twice. */
  readonly idempotentInitiate: boolean;
  /** What `query` needs: our attempt id, or the reference the wallet gave when it accepted. */
  readonly queryBy: 'attempt_id' | 'provider_reference';
  /** Whether `recover` can find a request by our id. */
  readonly recovery: boolean;
  /** Whether less than the whole of a payment can be given back. */
  readonly partialReversal: boolean;
  readonly statement: boolean;
  readonly callbackMethod: 'PUT' | 'POST';
  /** What vouches for a callback: nothing but the URL's secrecy, or something in the message. */
  readonly callbackAuthentication: 'unguessable_url' | 'credentials' | 'signature';
}

export interface CallOptions {
  /** Ends the call early: as `not_sent` or `unknown`, whichever is true. */
  readonly signal: AbortSignal;
}

/** How the payer is asked: by a USSD prompt, or in the wallet's own application. */
export type PromptChannel = 'ussd' | 'wallet_app';

export interface PaymentRequest extends WalletMoney {
  /** The wallet's name for this request, for ever: a TypeID such as `pat_…`, or a UUID. */
  readonly attemptId: string;
  /** E.164 with its plus. */
  readonly payerPhone: string;
  readonly channel: PromptChannel;
  /** Shown to the payer; cut to what the wallet takes. */
  readonly description: string;
  readonly requestedAt: Date;
  /** Unguessable, URL-safe, of this attempt alone; becomes part of the callback URL. */
  readonly callbackToken: string;
}

export interface PaymentInquiry {
  readonly attemptId: string;
  /** As `initiate` or `recover` gave it. Absent where the wallet is asked by attempt id. */
  readonly providerReference?: string;
}

/** `amount` and `currency` are what is to be given back. */
export interface ReversalRequest extends WalletMoney {
  /** The wallet's name for this reversal, for ever: a TypeID or a UUID, another than the attempt's. */
  readonly reversalId: string;
  readonly providerTransactionId: string;
  readonly description: string;
  readonly requestedAt: Date;
  readonly callbackToken: string;
}

export interface ReversalInquiry {
  readonly reversalId: string;
  /** The transaction that is given back. */
  readonly providerTransactionId: string;
  readonly providerReference?: string;
}

/** A request somebody made to a callback URL, its body cut off at a limit by whoever listens. */
export interface CallbackRequest {
  readonly method: string;
  /** Without the unguessable part. */
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
  readonly receivedAt: Date;
}

export interface CallbackHint {
  /** All that may be done about it: ask the wallet. True of unreadable ones too, for a question harms nobody. */
  readonly lookNow: true;
  /** What it claims, for the log. */
  readonly claim: 'completed' | 'failed' | 'other' | 'unreadable';
  /** The request it claims to be about, where the message says so: a pointer for URLs that do not name one. */
  readonly claimedRequestId?: string;
  /** What the wallet expects to be answered. */
  readonly reply: { readonly status: number; readonly body: string };
  readonly exchange: RawExchange;
}

export interface StatementPeriod {
  /** Inclusive. */
  readonly from: Date;
  /** Inclusive, as the contract of every wallet known has it. */
  readonly to: Date;
}

export interface StatementPage {
  readonly entries: readonly StatementEntry[];
  /** Entries that could not be read: for the operator, never dropped in silence. */
  readonly unreadable: readonly UnreadableEntry[];
  readonly exchanges: readonly RawExchange[];
}

export interface StatementEntry extends WalletMoney {
  readonly providerTransactionId: string;
  readonly type: 'payment' | 'reversal' | 'other';
  readonly status: 'completed' | 'pending' | 'failed' | 'reversed' | 'other';
  /** Our attempt or reversal id, when the wallet repeats it. */
  readonly requestId?: string;
  /** The transaction a reversal gives back. */
  readonly originalTransactionId?: string;
  readonly occurredAt?: Date;
  readonly fees: readonly WalletMoney[];
}

export interface UnreadableEntry {
  /** Where it stands in the whole statement, from 0. */
  readonly position: number;
  readonly why: string;
}
