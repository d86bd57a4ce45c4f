import { PaymentOption } from '../gen/gatehouse/v1/order_pb.js';
import { Wallet } from '../gen/gatehouse/v1/reconciliation_service_pb.js';

/*
 * The wallets and their payment options. All code takes their names from these two tables, so a new line here adds an option
 * everywhere.
 */

/** `name`: in settings, URLs and logs. `word`: in rows and messages of the core. `number`: in the contract. */
export const wallets = [
  { name: 'walleta', word: 'WALLETA', number: Wallet.WALLETA },
  { name: 'walletb', word: 'WALLETB', number: Wallet.WALLETB },
] as const;

export type WalletName = (typeof wallets)[number]['name'];
export type WalletWord = (typeof wallets)[number]['word'];

/**
 * The options, in the order of display. `channel`: where the payer confirms. `ussd` is a prompt on the phone. `wallet` is the
 * wallet's own app, for hosted checkouts only.
 */
export const paymentOptions = [
  {
    name: 'walleta_ussd',
    word: 'WALLETA_USSD',
    number: PaymentOption.WALLETA_USSD,
    wallet: 'walleta',
    channel: 'ussd',
  },
  {
    name: 'walletb_ussd',
    word: 'WALLETB_USSD',
    number: PaymentOption.WALLETB_USSD,
    wallet: 'walletb',
    channel: 'ussd',
  },
  {
    name: 'walleta_wallet',
    word: 'WALLETA_WALLET',
    number: PaymentOption.WALLETA_WALLET,
    wallet: 'walleta',
    channel: 'wallet',
  },
] as const satisfies readonly {
  readonly name: `${WalletName}_${string}`;
  readonly word: string;
  readonly number: PaymentOption;
  readonly wallet: WalletName;
  readonly channel: 'ussd' | 'wallet';
}[];

type Option = (typeof paymentOptions)[number];
export type PaymentOptionName = Option['name'];
export type PaymentOptionWord = Option['word'];

/** The option with a number; undefined for UNSPECIFIED and for numbers of a newer version. */
export const optionOfNumber = (number: PaymentOption): Option | undefined =>
  paymentOptions.find((option) => option.number === number);

/** The option with a name from a person or a setting. */
export const optionNamed = (name: string): Option | undefined =>
  paymentOptions.find((option) => option.name === name);

/** The number of an option with this word. */
export const optionNumber = (word: PaymentOptionWord): PaymentOption =>
  paymentOptions.find((option) => option.word === word)?.number ?? PaymentOption.UNSPECIFIED;

export const walletNamed = (name: WalletName): (typeof wallets)[number] => {
  const wallet = wallets.find((each) => each.name === name);
  if (wallet === undefined) throw new TypeError(`there is no wallet ${name}`);
  return wallet;
};

export const walletOfNumber = (number: Wallet): (typeof wallets)[number] | undefined =>
  wallets.find((wallet) => wallet.number === number);

/** The number of a wallet by its word. */
export const walletNumber = (word: WalletWord): Wallet =>
  wallets.find((wallet) => wallet.word === word)?.number ?? Wallet.UNSPECIFIED;

/** The options of a wallet, by its name or by its word. */
export const optionsOfWallet = (wallet: WalletName | WalletWord): readonly Option[] =>
  paymentOptions.filter((option) => option.wallet === wallet.toLowerCase());

/** The word of the wallet that an option is paid through. */
export function walletOfOption(word: PaymentOptionWord): WalletWord {
  const name = paymentOptions.find((option) => option.word === word)?.wallet;
  const wallet = wallets.find((each) => each.name === name);
  if (wallet === undefined) throw new TypeError(`no wallet has the payment option ${word}`);
  return wallet.word;
}
