import type { WalletCapabilities } from '../connector/wallet-connector.ts';

export const gsmaCapabilities: WalletCapabilities = {
  idempotentInitiate: true,
  payerNeedsAnswer: false,
  queryBy: 'provider_reference',
  recovery: true,
  reversal: true,
  partialReversal: true,
  statement: true,
  callbackMethod: 'PUT',
  callbackAuthentication: 'unguessable_url',
};
