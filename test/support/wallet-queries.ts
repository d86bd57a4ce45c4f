import type {
  CallbackRequest,
  PaymentQuery,
  ReversalQuery,
} from '../../src/wallets/connector/wallet-connector.ts';

const common = { amount: '10', currency: 'ETB', callbackToken: 'token-of-a-test', callbackNotes: [] };

/** A query about a payment of 10 ETB without callbacks. */
export const paymentQuery = (
  query: Pick<PaymentQuery, 'attemptId'> & Partial<PaymentQuery>,
): PaymentQuery => ({ ...common, ...query });

/** A query about a reversal of 10 ETB without callbacks. */
export const reversalQuery = (
  query: Pick<ReversalQuery, 'reversalId' | 'providerTransactionId'> & Partial<ReversalQuery>,
): ReversalQuery => ({ ...common, attemptId: 'pat_of_a_test', ...query });

/** A callback as Gatehouse receives it. */
export const callbackWith = (body: string, own: Partial<CallbackRequest> = {}): CallbackRequest => ({
  method: 'POST',
  url: '/callbacks/wallet/id/…',
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(body),
  receivedAt: new Date('2026-01-01T00:00:00Z'),
  ...own,
});
