import { readMsisdn, subscriberAccount } from './accounts.ts';
import { formatAmount } from '../amount.ts';
import type { ChargeView, PromptView } from '../simulated-wallet.ts';
import { shownStatus } from './transaction.ts';
import type { PaymentRequest } from './transaction.ts';
import type { Wallet } from './wallet.ts';

const payerOf = (account: string): string => account.replace(/^msisdn@/, '');

const byPayer =
  (payer: string | undefined) =>
  (account: string): boolean =>
    payer === undefined || account === subscriberAccount(readMsisdn(payer) ?? payer);

/** Requested payments, newest first. */
export function listPrompts({ name, book }: Wallet, payer?: string): readonly PromptView[] {
  return book
    .requests()
    .filter(
      ({ transaction }) => transaction.type === 'merchantpay' && byPayer(payer)(transaction.debitAccount),
    )
    .map((request) => promptView(name, request));
}

function promptView(wallet: string, request: PaymentRequest): PromptView {
  const { transaction } = request;
  const { state, description } = transaction;
  const refusal = state.status === 'failed' ? state.refusal : undefined;
  return {
    id: request.serverCorrelationId,
    wallet,
    channel: description.subType === 'wallet' ? 'wallet' : 'ussd',
    payer: payerOf(transaction.debitAccount),
    amount: formatAmount(transaction.amount),
    currency: transaction.currency,
    description: description.descriptionText ?? '',
    status: state.status,
    shown_status: shownStatus(transaction),
    error: refusal
      ? {
          code: refusal.code,
          provider_code: refusal.parameters.find(({ key }) => key === 'providerCode')?.value ?? null,
        }
      : null,
    outcome: request.awaitsPerson ? 'decided by a person' : transaction.outcome.summary,
    awaits_person: request.awaitsPerson,
    transaction_reference: transaction.reference,
    correlation_id: request.clientCorrelationId ?? null,
    merchant_reference: description.requestingOrganisationTransactionReference ?? null,
    created_at: transaction.createdAt.toISOString(),
    expires_at: request.expiresAt.toISOString(),
    callbacks: request.callbacks.map(({ at, ...callback }) => ({ at: at.toISOString(), ...callback })),
  };
}

/**
 * The charges of payers, newest first, from the ledger only: money from a subscriber to the merchant, minus reversals.
 * The wallet's seed payments are left out.
 */
export function listCharges({ name, book, ledger }: Wallet, payer?: string): readonly ChargeView[] {
  const postings = ledger.postings();
  const reversals = new Map<string, bigint>();
  for (const { reference, amount } of postings) {
    const original = book.transaction(reference)?.originalReference;
    if (original !== undefined) reversals.set(original, (reversals.get(original) ?? 0n) + amount);
  }
  const requests = new Map(book.requests().map((request) => [request.transaction.reference, request]));
  return postings
    .flatMap(({ reference, from, to, amount, currency }) => {
      const request = requests.get(reference);
      if (request === undefined || request.transaction.type !== 'merchantpay') return [];
      const { transaction } = request;
      if (from !== transaction.debitAccount || to !== transaction.creditAccount || !byPayer(payer)(from))
        return [];
      return {
        wallet: name,
        transaction_reference: reference,
        correlation_id: request.clientCorrelationId ?? null,
        merchant_reference: transaction.description.requestingOrganisationTransactionReference ?? null,
        payer: payerOf(from),
        amount: formatAmount(amount),
        currency,
        charged_at: transaction.modifiedAt.toISOString(),
        reversed: formatAmount(reversals.get(reference) ?? 0n),
      };
    })
    .reverse();
}

/** Every account with its balance. An issuer's is negative by the sum of its customers' balances. */
export function listBalances({ name, ledger }: Wallet): readonly object[] {
  return ledger.accounts().map(({ account, currency, balance }) => ({
    wallet: name,
    account,
    currency,
    balance: balance < 0n ? `-${formatAmount(-balance)}` : formatAmount(balance),
  }));
}
