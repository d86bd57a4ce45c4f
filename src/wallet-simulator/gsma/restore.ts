import { parseAmount } from '../amount.ts';
import { outcomeOfAdjustment } from './give-back.ts';
import type { Journal, OpenedEntry } from './journal-entries.ts';
import type { Ledger } from '../ledger.ts';
import { ordinaryOutcome, outcomeOfNumber, outcomeOfReversal } from './outcomes.ts';
import type { Outcome } from './outcomes.ts';
import { conclude } from './request-course.ts';
import type { TransactionBook } from './transaction-book.ts';
import type { PaymentRequest, Transaction } from './transaction.ts';

export interface RestoreOptions {
  readonly wallet: string;
  readonly ledger: Ledger;
  readonly book: TransactionBook;
  readonly journal: Journal;
  readonly promptExpiryMs: number;
}

/** Replays the journal without callbacks, and returns the requests that are still open. */
export function restore({
  wallet,
  ledger,
  book,
  journal,
  promptExpiryMs,
}: RestoreOptions): readonly PaymentRequest[] {
  for (const entry of journal.entries()) {
    if (entry.kind === 'opened') {
      book.addRequest(revive(entry, outcomeOf(entry.transaction, wallet, book), promptExpiryMs));
    } else {
      const transaction = book.request(entry.serverCorrelationId)?.transaction;
      if (transaction !== undefined) conclude(transaction, ledger, new Date(entry.at), entry.refusal);
    }
  }
  return book.requests().filter(({ transaction }) => transaction.state.status === 'open');
}

function revive(entry: OpenedEntry, outcome: Outcome, promptExpiryMs: number): PaymentRequest {
  const createdAt = new Date(entry.transaction.createdAt);
  return {
    serverCorrelationId: entry.serverCorrelationId,
    clientCorrelationId: entry.clientCorrelationId,
    callbackUrl: entry.callbackUrl,
    awaitsPerson: entry.awaitsPerson,
    expiresAt: new Date(createdAt.getTime() + promptExpiryMs),
    callbacks: [],
    transaction: {
      ...entry.transaction,
      originalReference: entry.transaction.originalReference,
      amount: parseAmount(entry.transaction.amount),
      outcome,
      createdAt,
      modifiedAt: createdAt,
      state: openState(outcome),
    },
  };
}

/** The initial state of a transaction. */
export const openState = ({ ending }: Outcome): Transaction['state'] => ({
  status: 'open',
  shownAs: ending.status === 'open' ? ending.shownAs : 'pending',
});

/** A payment by authorisation code has no prompt, so the payer's number selects no outcome. */
function outcomeOf(
  { type, debitAccount, creditAccount, description, originalReference = '' }: OpenedEntry['transaction'],
  wallet: string,
  book: TransactionBook,
): Outcome {
  if (type === 'adjustment' && originalReference === '') {
    return outcomeOfAdjustment(wallet, book, creditAccount);
  }
  if (type !== 'merchantpay') {
    const original = book.transaction(originalReference);
    const isFirst = book.reversalsOf(originalReference).length === 0;
    return outcomeOfReversal(original?.outcome ?? ordinaryOutcome, isFirst);
  }
  const byCode = description.oneTimeCode !== undefined && description.oneTimeCode !== '';
  return (
    (byCode ? undefined : outcomeOfNumber(wallet, debitAccount.replace(/^msisdn@/, ''))) ?? ordinaryOutcome
  );
}
