import { parseAmount } from './amount.ts';
import type { Journal, OpenedEntry } from './journal.ts';
import type { Ledger } from './ledger.ts';
import { ordinaryOutcome, outcomeOfNumber, reversalOutcome } from './outcomes.ts';
import type { Outcome, WalletName } from './outcomes.ts';
import { conclude } from './request-course.ts';
import type { TransactionBook } from './transaction-book.ts';
import type { PaymentRequest, Transaction } from './transaction.ts';

export interface RestoreOptions {
  readonly wallet: WalletName;
  readonly ledger: Ledger;
  readonly book: TransactionBook;
  readonly journal: Journal;
  readonly promptExpiryMs: number;
}

/** Does again what the journal says was done, without telling anybody, and gives the requests that are still open. */
export function restore({
  wallet,
  ledger,
  book,
  journal,
  promptExpiryMs,
}: RestoreOptions): readonly PaymentRequest[] {
  for (const entry of journal.entries()) {
    if (entry.kind === 'opened') {
      const request = revive(entry, wallet, promptExpiryMs);
      const { amount, originalReference } = request.transaction;
      const original = originalReference === undefined ? undefined : book.transaction(originalReference);
      if (original !== undefined) original.reversing += amount;
      book.addRequest(request);
    } else {
      const transaction = book.request(entry.serverCorrelationId)?.transaction;
      if (transaction !== undefined) conclude(transaction, ledger, new Date(entry.at), entry.refusal);
    }
  }
  return book.requests().filter(({ transaction }) => transaction.state.status === 'open');
}

function revive(entry: OpenedEntry, wallet: WalletName, promptExpiryMs: number): PaymentRequest {
  const outcome = outcomeOf(entry.transaction, wallet);
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
      reversing: 0n,
      state: openState(outcome),
    },
  };
}

/** The state of a transaction that nothing has become of yet. */
export const openState = ({ ending }: Outcome): Transaction['state'] => ({
  status: 'open',
  shownAs: ending.status === 'open' ? ending.shownAs : 'pending',
});

/** A payment by authorisation code has no prompt for its payer's number to decide about. */
function outcomeOf(
  { type, debitAccount, description }: Pick<Transaction, 'type' | 'debitAccount' | 'description'>,
  wallet: WalletName,
): Outcome {
  if (type !== 'merchantpay') return reversalOutcome;
  const byCode = description.oneTimeCode !== undefined && description.oneTimeCode !== '';
  return (
    (byCode ? undefined : outcomeOfNumber(wallet, debitAccount.replace(/^msisdn@/, ''))) ?? ordinaryOutcome
  );
}
