import type { MessageInitShape } from '@bufbuild/protobuf';
import type { RecordReversalOutcomeRequestSchema } from '../gen/gatehouse/v1/stray_payment_service_pb.js';
import type { CallbackTokens } from './callback-token.ts';
import type { Failure } from './connector/failure-reason.ts';
import type { Acknowledgement, Recovery, ReversalOutcome } from './connector/outcomes.ts';
import type { Answer, RawExchange } from './connector/raw-exchange.ts';
import type { CallOptions, WalletConnector } from './connector/wallet-connector.ts';
import type { ReversalTask } from './reversal-task.ts';
import { isUnwell } from './serve-attempt.ts';

export type ReversalReport = NonNullable<
  MessageInitShape<typeof RecordReversalOutcomeRequestSchema>['outcome']
>;

export interface ServedReversal {
  readonly outcome: ReversalReport;
  readonly exchanges: readonly RawExchange[];
  readonly isWell: boolean;
}

export interface ServeReversalParts {
  readonly connector: WalletConnector;
  readonly tokens: CallbackTokens;
  readonly now: () => Date;
}

const pending = (providerReference: string, detail: string): ReversalReport => ({
  case: 'pending',
  value: { providerReference, detail },
});

/**
 * Sends a reversal, or queries its outcome. Each reversal has one name at the wallet. Core issues the name, and changes
 * it only when no request with the old one can still be executed.
 */
export async function serveReversal(
  parts: ServeReversalParts,
  task: ReversalTask,
  options: CallOptions,
): Promise<ServedReversal> {
  const exchanges: RawExchange[] = [];
  let isWell = true;
  const keep = <T extends Acknowledgement | ReversalOutcome | Recovery>({
    result,
    exchanges: made,
  }: Answer<T>): T => {
    exchanges.push(...made);
    if (result.kind === 'not_sent' || (result.kind === 'unknown' && isUnwell(result.why))) isWell = false;
    return result;
  };
  const { connector, tokens, now } = parts;
  const { reversalId, providerTransactionId, attemptId, amount, currency } = task;
  /** What every request about this reversal says of it. */
  const common = {
    reversalId,
    providerTransactionId,
    attemptId,
    amount,
    currency,
    callbackToken: tokens.make(task.merchantId, reversalId),
  };

  const query = async (providerReference: string): Promise<ReversalReport> => {
    const reference = providerReference === '' ? {} : { providerReference };
    const inquiry = { ...common, callbackNotes: task.callbackNotes, ...reference };
    return reportOf(keep(await connector.queryReversal(inquiry, options)), providerReference);
  };
  const send = async (): Promise<ReversalReport> => {
    const acknowledgement = keep(
      await connector.reverse(
        {
          ...common,
          ...(task.paymentReference === '' ? {} : { paymentReference: task.paymentReference }),
          description: task.description,
          requestedAt: now(),
        },
        options,
      ),
    );
    switch (acknowledgement.kind) {
      case 'accepted':
        return query(acknowledgement.providerReference);
      case 'refused':
        return refusedAtSending(task, acknowledgement);
      case 'unknown':
        return acknowledgement.why === 'duplicate_request' ? recover() : pending('', acknowledgement.detail);
      case 'not_sent':
        return {
          case: 'pending',
          value: { detail: acknowledgement.detail, notSent: !task.sentBefore },
        };
    }
  };
  const recover = async (): Promise<ReversalReport> => {
    const found = keep(await connector.recover(reversalId, options));
    switch (found.kind) {
      case 'found':
        return query(found.providerReference);
      case 'not_found':
        return pending('', 'the wallet does not know the reversal yet');
      case 'unknown':
        return pending('', found.detail);
    }
  };
  const recoverOrSend = async (): Promise<ReversalReport> => {
    if (!connector.capabilities.recovery) return query('');
    const found = keep(await connector.recover(reversalId, options));
    if (found.kind === 'found') return query(found.providerReference);
    return found.kind === 'not_found' ? send() : pending('', found.detail);
  };

  const outcome = !task.sentBefore
    ? await send()
    : await (task.providerReference === '' ? recoverOrSend() : query(task.providerReference));
  return { outcome, exchanges, isWell };
}

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
    'asked for more than once: see with the wallet whether it went back before paying it by hand';
  return { case: 'refused', value: { reason, detail: `${detail} (${warning})`.trim(), definite: false } };
}

function reportOf(result: ReversalOutcome, providerReference: string): ReversalReport {
  switch (result.kind) {
    case 'pending':
      return pending(result.providerReference ?? providerReference, '');
    case 'completed':
      return { case: 'done', value: {} };
    case 'refused':
      return {
        case: 'refused',
        value: { reason: result.reason, detail: result.providerText, definite: true },
      };
    case 'unknown':
      return pending(providerReference, result.detail);
  }
}
