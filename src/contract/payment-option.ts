/*
 * A payment option is a wallet and a channel, as `<wallet id>_<channel>`. The folder wallets-file reads the configured
 * wallets.
 */

/** `ussd` is a prompt on the payer's phone. `wallet` is the wallet's own app or page, for hosted checkouts only. */
export const channels = ['ussd', 'wallet'] as const;
export type Channel = (typeof channels)[number];

export type PaymentOption = `${string}_${Channel}`;

/** The id of a wallet in the configuration. */
export const walletIdPattern = '^[a-z][a-z0-9]{1,30}$';
/** A payment option with a valid wallet id. */
export const paymentOptionPattern = '^[a-z][a-z0-9]{1,30}_(ussd|wallet)$';
const paymentOption = new RegExp(paymentOptionPattern);
const walletId = new RegExp(walletIdPattern);

/** Whether the text has the form of an option. Only core knows whether its wallet is configured. */
export const isPaymentOption = (text: string): text is PaymentOption => paymentOption.test(text);

/** Whether the text has the form of a wallet's id. */
export const isWalletId = (text: string): boolean => walletId.test(text);

export const walletOf = (option: PaymentOption): string => option.slice(0, option.lastIndexOf('_'));

export const channelOf = (option: PaymentOption): Channel => (option.endsWith('_ussd') ? 'ussd' : 'wallet');

/** All options that a wallet can have, whether it is configured for them or not. */
export const optionsOfWallet = (wallet: string): readonly PaymentOption[] =>
  channels.map((channel) => `${wallet}_${channel}` as const);
