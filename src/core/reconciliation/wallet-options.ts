import type { WalletName } from '../database/entities.ts';
import type { PaymentOption } from '../domain/order.ts';

/** Which wallet an option is paid through. */
const walletOfOption = {
  WALLETA_USSD: 'WALLETA',
  WALLETA_WALLET: 'WALLETA',
  WALLETB_USSD: 'WALLETB',
} as const satisfies Record<PaymentOption, WalletName>;

const allOptions = Object.keys(walletOfOption) as PaymentOption[];

/** All options of a wallet: what its one statement tells of. */
export const optionsOf = (wallet: WalletName): PaymentOption[] =>
  allOptions.filter((option) => walletOfOption[option] === wallet);

/** The wallets behind some options, each once. */
export const walletsOf = (options: readonly PaymentOption[]): WalletName[] => [
  ...new Set(options.map((option) => walletOfOption[option])),
];
