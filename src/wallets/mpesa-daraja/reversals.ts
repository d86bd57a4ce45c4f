import type { ReversalOutcome } from '../connector/outcomes.ts';
import type { Answer } from '../connector/raw-exchange.ts';
import type { CallOptions, ReversalQuery } from '../connector/wallet-connector.ts';
import type { ConfirmationParts, TransactionState } from './confirm-payment.ts';
import { askAgainAfterMs, confirmTransaction } from './confirm-payment.ts';
import type { StatusSubject } from './initiator-api.ts';
import { unknown } from './mpesa-error.ts';
import type { Note, ResultNote } from './notes.ts';
import { readNotes, resultNotes } from './notes.ts';
import type { ReversalReference } from './references.ts';
import { readReversalReference, writeReference } from './references.ts';
import { alreadyReversed, missingRole, reasonOfReversal } from './result-codes.ts';

/**
 * The outcome of a reversal. Its result comes by callback, and counts if it names the conversation that M-Pesa acknowledged to
 * us. Without a result, the status of the reversal is queried.
 * @param ownConversation our id of the conversation, where the provider takes one
 */
export async function queryReversal(
  parts: ConfirmationParts,
  reversal: ReversalQuery,
  options: CallOptions,
  ownConversation?: string,
): Promise<Answer<ReversalOutcome>> {
  const notes = readNotes(reversal.callbackNotes);
  const reference = readReversalReference(reversal.providerReference) ?? {};
  const { sent } = reference;
  const result = sent === undefined ? undefined : resultOf(sent.ids, notes);
  if (result !== undefined && !isAmbiguous(result))
    return { result: judgeResult(result, reversal), exchanges: [] };
  if (sent !== undefined && Math.abs(parts.now().getTime() - sent.at) < askAgainAfterMs) {
    return { result: { kind: 'pending' }, exchanges: [] };
  }
  const subject = subjectOf(reference, reversal, notes, ownConversation);
  if (subject === undefined) {
    const detail = 'the answer to the reversal was lost, and no callback about it has arrived';
    return { result: unknown('not_found', detail), exchanges: [] };
  }
  const { result: state, exchanges } = await confirmTransaction(
    { ...parts, purpose: 'query_reversal' },
    subject,
    reference.asked,
    notes,
    options,
  );
  // Later callbacks take the place of the note that gave the transaction.
  const known = 'receipt' in subject ? { ...reference, claimed: subject.receipt } : reference;
  return { result: outcomeOf(state, known), exchanges };
}

/**
 * Whether a result with the code of a missing role may belong to a successful reversal. In the samples of M-Pesa's portal, the successful
 * reversal has this code, and only its result names the reversed payment. So the status of the reversal decides.
 */
const isAmbiguous = ({ code, original }: ResultNote): boolean =>
  code === missingRole && original !== undefined;

const resultOf = (ids: readonly string[], notes: readonly Note[]): ResultNote | undefined =>
  resultNotes(notes).findLast((note) => note.ids.some((id) => ids.includes(id)));

function judgeResult(note: ResultNote, { providerTransactionId, currency }: ReversalQuery): ReversalOutcome {
  const { code, transaction, original, amount } = note;
  if (code === '0') {
    if (original !== undefined && original !== providerTransactionId) {
      return unknown('inconsistent', `the result of the reversal is about another payment, ${original}`);
    }
    return {
      kind: 'completed',
      providerTransactionId: transaction ?? '',
      ...(amount === undefined ? {} : { money: { amount, currency } }),
    };
  }
  if (code === alreadyReversed) {
    const detail =
      'the wallet says that the payment was reversed before; check in its portal who reversed it';
    return unknown('inconsistent', detail);
  }
  const reason = reasonOfReversal(code);
  if (reason !== undefined) return { kind: 'refused', reason, providerCode: code, providerText: '' };
  return unknown('unrecognised_code', `the reversal ended with the result code ${code}`);
}

/**
 * The subject of a query: the conversation of the reversal. If its acknowledgement was lost, a result on the reversal's URL gives
 * the transaction to ask about.
 */
function subjectOf(
  { sent, claimed }: ReversalReference,
  { providerTransactionId }: ReversalQuery,
  notes: readonly Note[],
  ownConversation: string | undefined,
): StatusSubject | undefined {
  const conversation = ownConversation ?? sent?.ids[0];
  if (conversation !== undefined) return { conversation };
  if (claimed !== undefined) return { receipt: claimed };
  const result = resultNotes(notes).find(
    (note) =>
      (note.code === '0' || isAmbiguous(note)) &&
      note.transaction !== undefined &&
      note.original === providerTransactionId,
  );
  return result?.transaction === undefined ? undefined : { receipt: result.transaction };
}

function outcomeOf(
  state: Awaited<ReturnType<typeof confirmTransaction>>['result'] | TransactionState,
  reference: ReversalReference,
): ReversalOutcome {
  switch (state.kind) {
    case 'completed': {
      const { receipt, amount, currency } = state;
      return { kind: 'completed', providerTransactionId: receipt, money: { amount, currency } };
    }
    case 'ended':
      return { kind: 'refused', reason: 'provider_error', providerCode: state.status, providerText: '' };
    case 'open':
      return { kind: 'pending' };
    case 'waiting':
      return {
        kind: 'pending',
        providerReference: writeReference({ ...reference, asked: [...state.asked] }),
      };
    case 'unanswered':
      return unknown('not_found', state.detail);
    case 'unknown':
      return state;
  }
}
