import type { WalletCapabilities } from '../connector/wallet-connector.ts';

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
