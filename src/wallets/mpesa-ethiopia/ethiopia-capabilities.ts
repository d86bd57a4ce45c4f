import type { WalletCapabilities } from '../connector/wallet-connector.ts';

export const ethiopiaCapabilities: WalletCapabilities = {
  // The effect of a second request with the same MerchantRequestID is not documented.
  idempotentInitiate: false,
  payerNeedsAnswer: false,
  queryBy: 'attempt_id',
  recovery: false,
  reversal: true,
  partialReversal: false,
  statement: false,
  callbackMethod: 'POST',
  callbackAuthentication: 'unguessable_url',
};
