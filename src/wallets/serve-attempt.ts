import { channelOf, isPaymentOption } from '../contract/payment-option.ts';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { PaymentAttemptStatus } from '../gen/gatehouse/v1/order_pb.js';
import type {
  LeasedPaymentAttempt,
  RecordPaymentOutcomeRequestSchema,
} from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { CallbackTokens } from './callback-token.ts';
import type { Acknowledgement, NextAction, PaymentOutcome, Recovery } from './connector/outcomes.ts';
import type { RawExchange } from './connector/raw-exchange.ts';
import type { CallOptions, WalletConnector } from './connector/wallet-connector.ts';

/** The report about an attempt in the terms of the contract, without the ids. */
export type Outcome = NonNullable<MessageInitShape<typeof RecordPaymentOutcomeRequestSchema>['outcome']>;

export interface Served {
  readonly outcome: Outcome;
  readonly exchanges: readonly RawExchange[];
  /** Whether the wallet answered correctly, for the circuit breaker. */
  readonly isWell: boolean;
  /** The wait that the wallet requested; 0 when it requested none. */
  readonly retryAfterMs: number;
}

export interface ServeAttemptParts {
  readonly connector: WalletConnector;
  readonly tokens: CallbackTokens;
  /** The time by the database's clock, like the attempt's own times. */
  readonly now: () => Date;
}

/**
 * Executes the next step of an attempt: sends the request, queries its outcome, or first checks whether the wallet received
 * it. It never throws because of the wallet, and never reports more than the wallet's answer.
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

/** The calls of the wallet under one lease. */
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

  /** Sends the first request. Of its acknowledgements only a refusal is final. */
  async send(): Promise<Outcome> {
    const acknowledgement = await this.#initiate();
    switch (acknowledgement.kind) {
      case 'accepted':
        return acknowledgement.lookNow
          ? this.#query(acknowledgement.providerReference)
          : pending(acknowledgement.providerReference, acknowledgement.nextAction);
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

  /** Continues an attempt whose request the wallet may have received. */
  async followUp(providerReference: string): Promise<Outcome> {
    const canQuery =
      providerReference !== '' ||
      // A callback may name the request whose acknowledgement was lost.
      this.#leased.callbackNotes.length > 0 ||
      this.#parts.connector.capabilities.queryBy === 'attempt_id';
    return canQuery ? this.#query(providerReference) : this.#recover();
  }

  async #initiate(): Promise<Acknowledgement> {
    const { connector, tokens, now } = this.#parts;
    const { merchantId, amount, currency, paymentAttempt, reason, orderNumber } = this.#leased;
    const option = paymentAttempt?.paymentOption ?? '';
    const { result, exchanges } = await connector.initiate(
      {
        attemptId: this.#attemptId,
        payerPhone: paymentAttempt?.phone ?? '',
        channel: isPaymentOption(option) && channelOf(option) === 'wallet' ? 'wallet_app' : 'ussd',
        amount,
        currency,
        description: reason === '' ? orderNumber : reason,
        requestedAt: now(),
        callbackToken: tokens.make(merchantId, this.#attemptId),
        ...(this.#leased.returnUrl === '' ? {} : { returnUrl: this.#leased.returnUrl }),
      },
      this.#options,
    );
    this.#note(result, exchanges);
    return result;
  }

  async #query(providerReference: string): Promise<Outcome> {
    const reference = providerReference === '' ? {} : { providerReference };
    const { connector, tokens } = this.#parts;
    const { amount, currency, merchantId } = this.#leased;
    const inquiry = {
      attemptId: this.#attemptId,
      amount,
      currency,
      callbackToken: tokens.make(merchantId, this.#attemptId),
      callbackNotes: this.#leased.callbackNotes,
      ...reference,
    };
    const { result, exchanges } = await connector.query(inquiry, this.#options);
    this.#note(result, exchanges);
    return outcomeOf(result, providerReference);
  }

  /** Checks whether the wallet knows the request, after its answer was lost. */
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

  /** Handles the wallet's answer that it does not know the request. */
  async #unheardOf(now: Date): Promise<Outcome> {
    const { idempotentInitiate } = this.#parts.connector.capabilities;
    const promptEndsMs = promptUntil(this.#leased).getTime();
    // An ended attempt is only queried and never sent, because its order has ended or may be paid by another attempt.
    const isOpen = openStatuses.has(this.#leased.paymentAttempt?.status ?? PaymentAttemptStatus.UNSPECIFIED);
    // A repeated request charges once at most, and does not prompt the payer after the prompt's time.
    if (isOpen && idempotentInitiate && now.getTime() < promptEndsMs) return this.#sendAgain();
    // Long after the prompt's time, the wallet still does not know the request. So it was not paid and never will be.
    if (isOpen && now.getTime() > promptEndsMs + unheardOfForMs) return { case: 'timedOut', value: {} };
    return unknown('the wallet does not know the request');
  }

  /** The refusal of a repeat does not decide the first request, which the wallet may still be processing. */
  async #sendAgain(): Promise<Outcome> {
    const acknowledgement = await this.#initiate();
    if (acknowledgement.kind === 'accepted')
      return pending(acknowledgement.providerReference, acknowledgement.nextAction);
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
const pending = (providerReference: string, nextAction?: NextAction): Outcome => ({
  case: 'pending',
  value: {
    providerReference,
    ...(nextAction === undefined ? {} : { nextAction: nextActionMessage(nextAction) }),
  },
});

function nextActionMessage(action: NextAction) {
  switch (action.kind) {
    case 'redirect':
      return { action: { case: 'redirectUrl', value: action.url } } as const;
    case 'qr':
      return { action: { case: 'qrPayload', value: action.payload } } as const;
    case 'instructions':
      return { action: { case: 'instructions', value: action.text } } as const;
  }
}
const unknown = (detail: string): Outcome => ({ case: 'unknown', value: { detail } });

function outcomeOf(result: PaymentOutcome, providerReference: string): Outcome {
  switch (result.kind) {
    case 'pending':
      return pending(result.providerReference ?? providerReference);
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

/** Failures that count against the wallet's health. All others concern one request. */
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
