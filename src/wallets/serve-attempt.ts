import { channelOf, isPaymentOption } from '../contract/payment-option.ts';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { PaymentAttemptStatus } from '../gen/gatehouse/v1/order_pb.js';
import type {
  LeasedPaymentAttempt,
  RecordPaymentOutcomeRequestSchema,
} from '../gen/gatehouse/v1/payment_attempt_service_pb.js';
import type { Acknowledgement, NextAction, PaymentOutcome } from './connector/outcomes.ts';
import type { CallOptions } from './connector/wallet-connector.ts';
import { WalletCalls } from './wallet-calls.ts';
import type { Served, ServeParts } from './wallet-calls.ts';

/** The report about an attempt in the terms of the contract, without the ids. */
export type Outcome = NonNullable<MessageInitShape<typeof RecordPaymentOutcomeRequestSchema>['outcome']>;

/**
 * Executes the next step of an attempt: sends the request, queries its outcome, or first checks whether the wallet received
 * it. It never throws because of the wallet, and never reports more than the wallet's answer.
 */
export async function serveAttempt(
  parts: ServeParts,
  leased: LeasedPaymentAttempt,
  options: CallOptions,
): Promise<Served<Outcome>> {
  const calls = new WalletCalls();
  const steps = new AttemptSteps(parts, leased, options, calls);
  const outcome = await (leased.sentBefore ? steps.followUp(leased.providerReference) : steps.send());
  return calls.servedWith(outcome);
}

/** The steps of one attempt under one lease. */
class AttemptSteps {
  readonly #parts: ServeParts;
  readonly #leased: LeasedPaymentAttempt;
  readonly #options: CallOptions;
  readonly #calls: WalletCalls;
  readonly #attemptId: string;

  constructor(parts: ServeParts, leased: LeasedPaymentAttempt, options: CallOptions, calls: WalletCalls) {
    this.#parts = parts;
    this.#leased = leased;
    this.#options = options;
    this.#calls = calls;
    this.#attemptId = leased.paymentAttempt?.paymentAttemptId ?? '';
  }

  /**
   * Sends the first request. A refusal ends the attempt. A request that was accepted, or whose answer is unknown, is queried later. It is
   * queried at once if the wallet says so, or already knows the id. A request that was not sent is sent again.
   */
  async send(): Promise<Outcome> {
    const acknowledgement = await this.#initiate();
    switch (acknowledgement.kind) {
      case 'accepted':
        return acknowledgement.queryNow
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
    const acknowledgement = await connector.initiate(
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
    return this.#calls.keep(acknowledgement);
  }

  async #query(providerReference: string): Promise<Outcome> {
    const reference = providerReference === '' ? {} : { providerReference };
    const { connector, tokens } = this.#parts;
    const { amount, currency, merchantId } = this.#leased;
    const query = {
      attemptId: this.#attemptId,
      amount,
      currency,
      callbackToken: tokens.make(merchantId, this.#attemptId),
      callbackNotes: this.#leased.callbackNotes,
      ...reference,
    };
    const result = this.#calls.keep(await connector.query(query, this.#options));
    return outcomeOf(result, providerReference);
  }

  /** Checks whether the wallet knows the request, after its answer was lost. */
  async #recover(): Promise<Outcome> {
    const { connector, now } = this.#parts;
    if (!connector.capabilities.recovery)
      return unknown('the answer was lost and this wallet cannot be asked about it');
    const found = this.#calls.keep(await connector.recover(this.#attemptId, this.#options));
    switch (found.kind) {
      case 'found':
        return this.#query(found.providerReference);
      case 'unknown':
        return unknown(found.detail);
      case 'not_found':
        return this.#handleNotFound(now());
    }
  }

  /** Handles the wallet's answer that it does not know the request. */
  async #handleNotFound(now: Date): Promise<Outcome> {
    const { idempotentInitiate, payerNeedsAnswer } = this.#parts.connector.capabilities;
    const promptEndsMs = promptUntil(this.#leased).getTime();
    // An ended attempt is only queried and never sent, because its order has ended or may be paid by another attempt.
    const isOpen = openStatuses.has(this.#leased.paymentAttempt?.status ?? PaymentAttemptStatus.UNSPECIFIED);
    // A repeated request charges once at most, and does not prompt the payer after the prompt's time.
    if (isOpen && idempotentInitiate && now.getTime() < promptEndsMs) return this.#sendAgain();
    // Long after the prompt's time, the wallet still does not know the request. So it was not paid and never will be. The same holds at once if
    // nobody can pay without the answer, even if the wallet executes the request later.
    const isNeverPaid = payerNeedsAnswer || now.getTime() > promptEndsMs + neverMadeAfterMs;
    if (isOpen && isNeverPaid) return { case: 'timedOut', value: {} };
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
}

const openStatuses = new Set([PaymentAttemptStatus.SENT, PaymentAttemptStatus.UNKNOWN]);

/** How long after the prompt a request must be unknown to its wallet to count as never made (docs/adr/0007). */
const neverMadeAfterMs = 10 * 60_000;

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
