import type { WalletCapabilities } from '../connector/wallet-connector.ts';

/** Pull Transactions shows the payments of the last 48 hours, and no reversals. */
export const pullTerms = { reachMs: 48 * 60 * 60 * 1000, listsReversals: false } as const;

/** A receipt number, which identifies a payment at M-Pesa. */
export const receiptForm = { pattern: /^[A-Z0-9]{6,20}$/, example: 'TGR7X1ABCD' } as const;

/** The capabilities without the setting `pull`. */
export const darajaCapabilities: WalletCapabilities = {
  idempotentInitiate: false,
  payerNeedsAnswer: false,
  queryBy: 'provider_reference',
  recovery: false,
  reversal: true,
  partialReversal: false,
  statement: false,
  callbackMethod: 'POST',
  callbackAuthentication: 'unguessable_url',
};
