import { optionOfNumber } from '../contract/payment-options.ts';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { PaymentAttemptStatus, PaymentOption } from '../gen/gatehouse/v1/order_pb.js';
import type {
  LeasedPaymentAttempt,
  RecordPaymentOutcomeRequestSchema,
} from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { CallbackTokens } from './callback-token.ts';
import type { Acknowledgement, PaymentOutcome, Recovery } from './connector/outcomes.ts';
import type { RawExchange } from './connector/raw-exchange.ts';
import type { CallOptions, WalletConnector } from './connector/wallet-connector.ts';

/** What is to be recorded of an attempt, in the contract's words, but for the ids. */
export type Outcome = NonNullable<MessageInitShape<typeof RecordPaymentOutcomeRequestSchema>['outcome']>;

export interface Served {
  readonly outcome: Outcome;
  readonly exchanges: readonly RawExchange[];
  /** Whether the wallet answered as a wallet should; what the circuit breaker counts by. */
  readonly isWell: boolean;
  /** How long the wallet asked to be left alone; 0 when it did not. */
  readonly retryAfterMs: number;
}

export interface ServeAttemptParts {
  readonly connector: WalletConnector;
  readonly tokens: CallbackTokens;
  /** By the clock that the attempt's own times are by. */
  readonly now: () => Date;
}

/**
 * Does for an attempt what is to be done next: sends it, asks what became of it, or finds out first whether the wallet
 * ever heard of it. Never throws for what the wallet does, and never says more than the wallet did.
 */
export async function serveAttempt(
  parts: ServeAttemptParts,
  leased: LeasedPaymentAttempt,
  options: CallOptions,
): Promise<Served> {
  const work = new AttemptWork(parts, leased, options);
  const outcome = await (leased.sentBefore ? work.followUp(leased.providerReference) : work.send());
  const { exchanges, isWell, retryAfterMs } = work;
  return { outcome, exchanges, isWell, retryAfterMs };
}

/** One lease's worth of talking to the wallet. */
class AttemptWork {
  readonly exchanges: RawExchange[] = [];
  isWell = true;
  retryAfterMs = 0;
  readonly #parts: ServeAttemptParts;
  readonly #leased: LeasedPaymentAttempt;
  readonly #options: CallOptions;
  readonly #attemptId: string;

  constructor(parts: ServeAttemptParts, leased: LeasedPaymentAttempt, options: CallOptions) {
    this.#parts = parts;
    this.#leased = leased;
    this.#options = options;
    this.#attemptId = leased.paymentAttempt?.paymentAttemptId ?? '';
  }

  /** The first request. What it says of itself is final for the wallet's no, and for nothing else. */
  async send(): Promise<Outcome> {
    const acknowledgement = await this.#initiate();
    switch (acknowledgement.kind) {
      case 'accepted':
        return acknowledgement.lookNow
          ? this.#query(acknowledgement.providerReference)
          : pending(acknowledgement.providerReference);
      case 'refused':
        return { case: 'declined', value: { reason: acknowledgement.reason } };
      case 'unknown':
        return acknowledgement.why === 'duplicate_request'
          ? this.#recover()
          : unknown(acknowledgement.detail);
      case 'not_sent':
        return { case: 'notReached', value: { detail: acknowledgement.detail } };
    }
  }

  /** The wallet may have been asked before. */
  async followUp(providerReference: string): Promise<Outcome> {
    const canQuery = providerReference !== '' || this.#parts.connector.capabilities.queryBy === 'attempt_id';
    return canQuery ? this.#query(providerReference) : this.#recover();
  }

  async #initiate(): Promise<Acknowledgement> {
    const { connector, tokens, now } = this.#parts;
    const { merchantId, amount, currency, paymentAttempt, reason, orderNumber } = this.#leased;
    const option = optionOfNumber(paymentAttempt?.paymentOption ?? PaymentOption.UNSPECIFIED);
    const { result, exchanges } = await connector.initiate(
      {
        attemptId: this.#attemptId,
        payerPhone: paymentAttempt?.phone ?? '',
        channel: option?.channel === 'wallet' ? 'wallet_app' : 'ussd',
        amount,
        currency,
        description: reason === '' ? orderNumber : reason,
        requestedAt: now(),
        callbackToken: tokens.make(merchantId, this.#attemptId),
      },
      this.#options,
    );
    this.#note(result, exchanges);
    return result;
  }

  async #query(providerReference: string): Promise<Outcome> {
    const reference = providerReference === '' ? {} : { providerReference };
    const inquiry = { attemptId: this.#attemptId, ...reference };
    const { result, exchanges } = await this.#parts.connector.query(inquiry, this.#options);
    this.#note(result, exchanges);
    return outcomeOf(result, providerReference);
  }

  /** The answer to the request was lost: does the wallet know the request? */
  async #recover(): Promise<Outcome> {
    const { connector, now } = this.#parts;
    if (!connector.capabilities.recovery)
      return unknown('the answer was lost and this wallet cannot be asked about it');
    const { result, exchanges } = await connector.recover(this.#attemptId, this.#options);
    this.#note(result, exchanges);
    switch (result.kind) {
      case 'found':
        return this.#query(result.providerReference);
      case 'unknown':
        return unknown(result.detail);
      case 'not_found':
        return this.#unheardOf(now());
    }
  }

  /** The wallet says that it does not know the request. */
  async #unheardOf(now: Date): Promise<Outcome> {
    const { idempotentInitiate } = this.#parts.connector.capabilities;
    const promptEndsMs = promptUntil(this.#leased).getTime();
    // What has ended is asked about, never asked for: its order was told so, or is being paid in another way by now.
    const isOpen = openStatuses.has(this.#leased.paymentAttempt?.status ?? PaymentAttemptStatus.UNSPECIFIED);
    // The same request once more charges once at most, and prompts nobody after the time to answer is over.
    if (isOpen && idempotentInitiate && now.getTime() < promptEndsMs) return this.#sendAgain();
    // Long after anybody could have been prompted the wallet still does not know it: nothing was, or will be, paid.
    if (isOpen && now.getTime() > promptEndsMs + unheardOfForMs) return { case: 'timedOut', value: {} };
    return unknown('the wallet does not know the request');
  }

  /** A no to a repeat says nothing of the first request, which may still be on its way. */
  async #sendAgain(): Promise<Outcome> {
    const acknowledgement = await this.#initiate();
    if (acknowledgement.kind === 'accepted') return pending(acknowledgement.providerReference);
    if (acknowledgement.kind === 'refused')
      return unknown(`sent again and refused: ${acknowledgement.reason}`);
    return unknown(acknowledgement.detail);
  }

  #note(result: Acknowledgement | PaymentOutcome | Recovery, exchanges: readonly RawExchange[]): void {
    this.exchanges.push(...exchanges);
    if (result.kind === 'unknown') {
      this.isWell &&= !isUnwell(result.why);
      this.retryAfterMs = Math.max(this.retryAfterMs, result.retryAfterMs ?? 0);
    }
    if (result.kind === 'not_sent') this.isWell = false;
  }
}

const openStatuses = new Set([PaymentAttemptStatus.SENT, PaymentAttemptStatus.UNKNOWN]);

/** How long after the prompt a request must be unknown to its wallet to count as never made (docs/adr/0007). */
const unheardOfForMs = 10 * 60_000;

const promptUntil = ({ promptUntil: time }: LeasedPaymentAttempt): Date =>
  time === undefined ? new Date(0) : timestampDate(time);
const pending = (providerReference: string): Outcome => ({ case: 'pending', value: { providerReference } });
const unknown = (detail: string): Outcome => ({ case: 'unknown', value: { detail } });

function outcomeOf(result: PaymentOutcome, providerReference: string): Outcome {
  switch (result.kind) {
    case 'pending':
      return pending(providerReference);
    case 'completed': {
      const { providerTransactionId, amount, currency } = result;
      return { case: 'completed', value: { providerTransactionId, amount, currency } };
    }
    case 'declined':
      return { case: 'declined', value: { reason: result.reason } };
    case 'timed_out':
      return { case: 'timedOut', value: {} };
    case 'unknown':
      return unknown(result.detail);
  }
}

/** Answers, or the lack of them, that say the wallet itself is in trouble; the others are about one request. */
export function isUnwell(why: Extract<PaymentOutcome, { kind: 'unknown' }>['why']): boolean {
  switch (why) {
    case 'timeout':
    case 'connection_lost':
    case 'not_asked':
    case 'answer_too_large':
    case 'unreadable_answer':
    case 'unexpected_status':
    case 'server_error':
    case 'rate_limited':
    case 'unauthenticated':
      return true;
    case 'aborted':
    case 'duplicate_request':
    case 'not_found':
    case 'unrecognised_status':
    case 'unrecognised_code':
    case 'inconsistent':
      return false;
  }
}
