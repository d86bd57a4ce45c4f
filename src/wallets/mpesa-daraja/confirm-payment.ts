import type { Failure } from '../connector/failure-reason.ts';
import type { PaymentOutcome, Unknown, WalletMoney } from '../connector/outcomes.ts';
import type { Answer, ExchangePurpose } from '../connector/raw-exchange.ts';
import type { CallOptions } from '../connector/wallet-connector.ts';
import type { InitiatorApi, ResultAddress, StatusSubject } from './initiator-api.ts';
import { unknown } from './mpesa-error.ts';
import type { Note, ResultNote } from './notes.ts';
import { resultNotes } from './notes.ts';
import type { Asked, PaymentReference } from './references.ts';
import { withQuery, writeReference } from './references.ts';

/** How long the answer to a status query may take before the query is repeated. */
export const askAgainAfterMs = 60_000;

/** The delay of the next status query after an answer that the transaction has not ended. */
const askOpenAgainAfterMs = 10_000;

/** The meaning of the answer to a status query about a transaction. */
export type TransactionState =
  | ({
      readonly kind: 'completed';
      readonly receipt: string;
      readonly fees: readonly WalletMoney[];
    } & WalletMoney)
  /** The transaction has ended without moving money. */
  | { readonly kind: 'ended'; readonly status: string }
  /** The transaction has not ended. */
  | { readonly kind: 'open' }
  /** The query failed, or its answer does not concern the transaction. */
  | { readonly kind: 'unanswered'; readonly detail: string };

/** The newest answer to one of our queries about `of`. Only conversations that M-Pesa acknowledged to us count. */
export function answerTo(
  asked: readonly Asked[] | undefined,
  of: string,
  notes: readonly Note[],
): ResultNote | undefined {
  const ids = new Set((asked ?? []).filter((query) => query.of === of).flatMap((query) => query.ids));
  return resultNotes(notes).findLast((note) => note.ids.some((id) => ids.has(id)));
}

const endedStatuses: ReadonlySet<string> = new Set(['cancelled', 'declined', 'expired']);
const openStatuses: ReadonlySet<string> = new Set(['initiated', 'authorized', 'pending authorized']);

/** Reads the answer to a query about a transaction. `receipt` is absent when the query named a conversation. */
export function readStatus(
  note: ResultNote,
  receipt: string | undefined,
  currency: string,
): TransactionState {
  if (note.code !== '0') {
    return { kind: 'unanswered', detail: `the status query ended with the result code ${note.code}` };
  }
  if (receipt !== undefined && note.receipt !== receipt) {
    return { kind: 'unanswered', detail: `the status answer is about another transaction than ${receipt}` };
  }
  const status = (note.status ?? '').toLowerCase();
  if (endedStatuses.has(status)) return { kind: 'ended', status };
  if (openStatuses.has(status)) return { kind: 'open' };
  if (status !== 'completed' || note.amount === undefined || note.receipt === undefined) {
    return {
      kind: 'unanswered',
      detail: `the status answer says "${note.status ?? ''}", without amount or receipt`,
    };
  }
  const { amount, receipt: found, fee } = note;
  const fees = fee === undefined || Number(fee) === 0 ? [] : [{ amount: fee, currency }];
  return { kind: 'completed', receipt: found, amount, currency, fees };
}

export interface ConfirmationParts {
  /** Of the exchanges; `query` when absent. */
  readonly purpose?: ExchangePurpose;
  readonly api: InitiatorApi;
  readonly address: ResultAddress;
  readonly currency: string;
  readonly now: () => Date;
}

/** The state of a transaction, or the queries to record while their answers are awaited. */
export type Confirmation =
  | TransactionState
  | { readonly kind: 'waiting'; readonly asked: readonly Asked[] }
  | Unknown;

/**
 * The state of a transaction, from a status query. Sends the query unless its answer has arrived or is still awaited. After an answer
 * that decides nothing, a call that comes later than the wait sends the query again.
 */
export async function confirmTransaction(
  parts: ConfirmationParts,
  subject: StatusSubject,
  asked: readonly Asked[] | undefined,
  notes: readonly Note[],
  options: CallOptions,
): Promise<Answer<Confirmation>> {
  const receipt = 'receipt' in subject ? subject.receipt : undefined;
  const of = receipt ?? ('conversation' in subject ? subject.conversation : '');
  const answer = answerTo(asked, of, notes);
  const state = answer === undefined ? undefined : readStatus(answer, receipt, parts.currency);
  if (state?.kind === 'completed' || state?.kind === 'ended') return { result: state, exchanges: [] };
  const now = parts.now().getTime();
  const last = (asked ?? []).findLast((query) => query.of === of);
  if (last !== undefined) {
    const isAnswered = answerTo([last], of, notes) !== undefined;
    const waitMs = isAnswered && state?.kind === 'open' ? askOpenAgainAfterMs : askAgainAfterMs;
    // The clocks of two processes may differ in either direction.
    if (Math.abs(now - last.at) < waitMs) {
      const waiting = { kind: 'waiting', asked: asked ?? [] } as const;
      return { result: isAnswered && state !== undefined ? state : waiting, exchanges: [] };
    }
  }
  const { purpose = 'query', address } = parts;
  const { result, exchanges } = await parts.api.askStatus(purpose, subject, address, options);
  if (result.kind === 'unknown') return { result, exchanges };
  const query: Asked = { ids: result.ids, at: now, of };
  return { result: { kind: 'waiting', asked: withQuery(asked, query) }, exchanges };
}

/** A payment that a status answer shows as completed. */
export const completedOutcome = (
  state: Extract<TransactionState, { kind: 'completed' }>,
): PaymentOutcome => ({
  kind: 'completed',
  providerTransactionId: state.receipt,
  amount: state.amount,
  currency: state.currency,
  fees: state.fees,
});

/** The outcome of a payment of which only the receipt is known. */
export async function confirmReceipt(
  parts: ConfirmationParts,
  known: {
    readonly receipt: string;
    readonly reference: PaymentReference | undefined;
    readonly notes: readonly Note[];
  },
  options: CallOptions,
): Promise<Answer<PaymentOutcome>> {
  const { receipt, reference = {}, notes } = known;
  const { result, exchanges } = await confirmTransaction(parts, { receipt }, reference.asked, notes, options);
  return { result: outcomeOf(result, receipt, reference), exchanges };
}

function outcomeOf(state: Confirmation, receipt: string, reference: PaymentReference): PaymentOutcome {
  switch (state.kind) {
    case 'completed':
      return completedOutcome(state);
    case 'ended':
      return { kind: 'declined', ...endedFailure(state.status) };
    case 'open':
      return { kind: 'pending' };
    case 'waiting':
      return {
        kind: 'pending',
        providerReference: writeReference({ ...reference, receipt, asked: [...state.asked] }),
      };
    case 'unanswered':
      return unknown('inconsistent', state.detail);
    case 'unknown':
      return state;
  }
}

/** A receipt that only names the account reference of the attempt is not its payment if it has another amount. */
export const paidBeside = (receipt: string, amount: string): Unknown =>
  unknown(
    'inconsistent',
    `the receipt ${receipt} shows ${amount}, so it belongs to another payment with the same account reference`,
  );

export const contradiction = (receipt: string, status: string): Unknown =>
  unknown(
    'inconsistent',
    `the wallet says the payment was made, but that transaction ${receipt} was ${status}`,
  );

/** The failure of a payment that ended without moving money, by the status word. */
export const endedFailure = (status: string): Failure => ({
  reason: status === 'cancelled' ? 'declined_by_payer' : 'provider_error',
  providerCode: status,
  providerText: '',
});
