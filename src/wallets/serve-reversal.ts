import type { MessageInitShape } from '@bufbuild/protobuf';
import type { RecordReversalOutcomeRequestSchema } from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { Failure } from './connector/failure-reason.ts';
import { sameDecimal } from '../contract/decimal-text.ts';
import type { Acknowledgement, ReversalOutcome } from './connector/outcomes.ts';
import type { CallOptions } from './connector/wallet-connector.ts';
import type { ReversalTask } from './reversal-task.ts';
import { WalletCalls } from './wallet-calls.ts';
import type { Served, ServeParts } from './wallet-calls.ts';

/** The report about a reversal in the terms of the contract, without the ids. */
export type ReversalReport = NonNullable<
  MessageInitShape<typeof RecordReversalOutcomeRequestSchema>['outcome']
>;

/**
 * Sends a reversal, or queries its outcome. Each reversal has one name at the wallet. Core issues the name, and changes
 * it only when no request with the old one can still be executed.
 */
export async function serveReversal(
  parts: ServeParts,
  task: ReversalTask,
  options: CallOptions,
): Promise<Served<ReversalReport>> {
  const calls = new WalletCalls();
  const steps = new ReversalSteps(parts, task, options, calls);
  const report = await (task.sentBefore ? steps.followUp(task.providerReference) : steps.send());
  return calls.servedWith(report);
}

/** The steps of one reversal under one lease. */
class ReversalSteps {
  readonly #parts: ServeParts;
  readonly #task: ReversalTask;
  readonly #options: CallOptions;
  readonly #calls: WalletCalls;

  constructor(parts: ServeParts, task: ReversalTask, options: CallOptions, calls: WalletCalls) {
    this.#parts = parts;
    this.#task = task;
    this.#options = options;
    this.#calls = calls;
  }

  async send(): Promise<ReversalReport> {
    const acknowledgement = await this.#reverse();
    switch (acknowledgement.kind) {
      case 'accepted':
        return this.#query(acknowledgement.providerReference);
      case 'refused':
        return refusedAtSending(this.#task, acknowledgement);
      case 'unknown':
        return acknowledgement.why === 'duplicate_request'
          ? this.#recover(() => pending('', 'the wallet does not know the reversal yet'))
          : pending('', acknowledgement.detail);
      case 'not_sent':
        return {
          case: 'pending',
          value: { detail: acknowledgement.detail, notSent: !this.#task.sentBefore },
        };
    }
  }

  /** Continues a reversal whose request the wallet may have received. If the wallet does not know the reversal, it is sent again. */
  async followUp(providerReference: string): Promise<ReversalReport> {
    const { recovery } = this.#parts.connector.capabilities;
    // A callback may name the request whose acknowledgement was lost.
    const canQuery = providerReference !== '' || this.#task.callbackNotes.length > 0;
    if (canQuery || !recovery) return this.#query(providerReference);
    return this.#recover(() => this.send());
  }

  async #reverse(): Promise<Acknowledgement> {
    const { paymentReference, description } = this.#task;
    const { connector, now } = this.#parts;
    return this.#calls.keep(
      await connector.reverse(
        {
          ...this.#reversal(),
          ...(paymentReference === '' ? {} : { paymentReference }),
          description,
          requestedAt: now(),
        },
        this.#options,
      ),
    );
  }

  async #query(providerReference: string): Promise<ReversalReport> {
    const reference = providerReference === '' ? {} : { providerReference };
    const query = { ...this.#reversal(), callbackNotes: this.#task.callbackNotes, ...reference };
    const { connector } = this.#parts;
    const result = this.#calls.keep(await connector.queryReversal(query, this.#options));
    return reportOf(result, this.#task, providerReference);
  }

  /** Checks whether the wallet knows the request, after its answer was lost. */
  async #recover(ifNotFound: () => ReversalReport | Promise<ReversalReport>): Promise<ReversalReport> {
    const { connector } = this.#parts;
    const found = this.#calls.keep(await connector.recover(this.#task.reversalId, this.#options));
    switch (found.kind) {
      case 'found':
        return this.#query(found.providerReference);
      case 'not_found':
        return ifNotFound();
      case 'unknown':
        return pending('', found.detail);
    }
  }

  /** The fields that every request about this reversal contains. */
  #reversal() {
    const { merchantId, reversalId, providerTransactionId, attemptId, amount, currency } = this.#task;
    const callbackToken = this.#parts.tokens.make(merchantId, reversalId);
    return { reversalId, providerTransactionId, attemptId, amount, currency, callbackToken };
  }
}

const pending = (providerReference: string, detail: string): ReversalReport => ({
  case: 'pending',
  value: { providerReference, detail },
});

/** From this lease of a reversal on, a refused repeat counts as refused, so that a person decides. */
const triesBeforeRefused = 8;

/**
 * A refusal of the first request is final. A refusal of a repeat does not decide the first request, which may have
 * succeeded. So the reversal is tried several more times, and an operator who settles it by hand is warned.
 */
function refusedAtSending(
  { sentBefore, tries }: ReversalTask,
  { reason, providerText: detail }: Failure,
): ReversalReport {
  if (!sentBefore) return { case: 'refused', value: { reason, detail, definite: true } };
  if (tries < triesBeforeRefused)
    return pending('', `sent again and refused: ${`${reason} ${detail}`.trim()}`);
  const warning =
    'requested more than once: before you return the money by hand, ask the wallet whether it was returned';
  return { case: 'refused', value: { reason, detail: `${detail} (${warning})`.trim(), definite: false } };
}

/** A reversal that returned other money than was requested stays open, because only a person can put it right with the wallet. */
function reportOf(
  result: ReversalOutcome,
  { amount, currency }: ReversalTask,
  providerReference: string,
): ReversalReport {
  switch (result.kind) {
    case 'pending':
      return pending(result.providerReference ?? providerReference, '');
    case 'completed': {
      const { money } = result;
      if (money === undefined || (sameDecimal(money.amount, amount) && money.currency === currency))
        return { case: 'done', value: {} };
      const returned = `${money.amount} ${money.currency}`;
      return pending(
        providerReference,
        `the wallet says that it returned ${returned} instead of ${amount} ${currency}; ask the wallet, and settle this with its answer`,
      );
    }
    case 'refused':
      return {
        case: 'refused',
        value: { reason: result.reason, detail: result.providerText, definite: true },
      };
    case 'unknown':
      return pending(providerReference, result.detail);
  }
}
