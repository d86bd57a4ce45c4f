import type {
  CallbackRequest,
  PaymentInquiry,
  ReversalInquiry,
} from '../../src/wallets/connector/wallet-connector.ts';

const common = { amount: '10', currency: 'ETB', callbackToken: 'token-of-a-test', callbackNotes: [] };

/** A query about a payment of 10 ETB without callbacks. */
export const paymentInquiry = (
  inquiry: Pick<PaymentInquiry, 'attemptId'> & Partial<PaymentInquiry>,
): PaymentInquiry => ({ ...common, ...inquiry });

/** A query about a reversal of 10 ETB without callbacks. */
export const reversalInquiry = (
  inquiry: Pick<ReversalInquiry, 'reversalId' | 'providerTransactionId'> & Partial<ReversalInquiry>,
): ReversalInquiry => ({ ...common, attemptId: 'pat_of_a_test', ...inquiry });

/** A callback as Gatehouse receives it. */
export const callbackWith = (body: string, own: Partial<CallbackRequest> = {}): CallbackRequest => ({
  method: 'POST',
  url: '/callbacks/wallet/id/…',
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(body),
  receivedAt: new Date('2026-01-01T00:00:00Z'),
  ...own,
});
