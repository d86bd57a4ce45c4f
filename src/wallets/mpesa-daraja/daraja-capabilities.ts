import type { WalletCapabilities } from '../connector/wallet-connector.ts';

/** Pull Transactions shows the payments of the last 48 hours, and no reversals. */
export const pullTerms = { reachMs: 48 * 60 * 60 * 1000, listsReturns: false } as const;

/** Without the setting `pull`. */
export const darajaCapabilities: WalletCapabilities = {
  idempotentInitiate: false,
  queryBy: 'provider_reference',
  recovery: false,
  reversal: true,
  partialReversal: false,
  statement: false,
  callbackMethod: 'POST',
  callbackAuthentication: 'unguessable_url',
};
