import { formatAmount } from './amount.ts';
import type { Ledger } from './ledger.ts';
import type { Payment } from './payment.ts';
import type { ChargeView, PromptView } from './simulated-wallet.ts';

/** The charge of a payment; none unless it is completed. */
export function chargeViews(
  wallet: string,
  { state, endedAt, ...payment }: Payment,
  refunds: readonly Payment[],
): readonly ChargeView[] {
  if (state.status !== 'completed' || endedAt === undefined) return [];
  const returned = refunds
    .filter((refund) => refund.state.status === 'completed')
    .reduce((sum, refund) => sum + refund.amount, 0n);
  return [
    {
      wallet,
      transaction_reference: payment.reference,
      correlation_id: payment.requestId,
      merchant_reference: payment.merchantReference,
      payer: payment.payer,
      amount: formatAmount(payment.amount),
      currency: payment.currency,
      charged_at: endedAt.toISOString(),
      reversed: formatAmount(returned),
    },
  ];
}

export const balanceViews = (wallet: string, ledger: Ledger): readonly object[] =>
  ledger.accounts().map(({ account, currency, balance }) => ({
    wallet,
    account,
    currency,
    balance: balance < 0n ? `-${formatAmount(-balance)}` : formatAmount(balance),
  }));

interface Shown {
  readonly wallet: string;
  /** The status that queries return. */
  readonly shownStatus: (payment: Payment) => string;
  readonly pageUrl?: (payment: Payment) => string;
}

export function promptView({ wallet, shownStatus, pageUrl }: Shown, payment: Payment): PromptView {
  const { state, outcome } = payment;
  const waitsForPage = payment.promptedAt === undefined;
  return {
    id: payment.id,
    wallet,
    channel: payment.channel,
    payer: payment.payer,
    amount: formatAmount(payment.amount),
    currency: payment.currency,
    description: payment.description,
    status: state.status,
    shown_status: shownStatus(payment),
    error: state.status === 'failed' ? { code: state.code, provider_code: null } : null,
    outcome: waitsForPage
      ? 'decided by the number typed on the page'
      : payment.awaitsPerson
        ? 'decided by a person'
        : outcome.summary,
    awaits_person: payment.awaitsPerson,
    transaction_reference: payment.reference,
    correlation_id: payment.requestId,
    merchant_reference: payment.merchantReference,
    created_at: payment.createdAt.toISOString(),
    expires_at: payment.expiresAt.toISOString(),
    ...(pageUrl === undefined ? {} : { page_url: pageUrl(payment) }),
    callbacks: payment.callbacks.map(({ at, ...callback }) => ({ at: at.toISOString(), ...callback })),
  };
}
