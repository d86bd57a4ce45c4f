import { walletOf } from './payment-option.ts';
import type { PaymentOption } from './payment-option.ts';

const walletWork = ['payments', 'reversals', 'payerPayments', 'reconciliations', 'checks'] as const;
/** The kinds of work of the wallets. `reversals` are refunds too. */
export type WalletWork = (typeof walletWork)[number];

/** A wallet in one environment. */
export interface EnvironmentWallet {
  readonly environment: 'SANDBOX' | 'PRODUCTION';
  readonly wallet: string;
}

/** Due work of one wallet. */
export interface DueWork extends EnvironmentWallet {
  readonly work: WalletWork;
}

/** Work of the wallet of a payment option. */
export const dueWork = (
  work: WalletWork,
  environment: EnvironmentWallet['environment'],
  paymentOption: PaymentOption,
): DueWork => ({ work, environment, wallet: walletOf(paymentOption) });

/** The part of payment_attempts that names this work. Without a part, a wake-up is about all work of all wallets. */
export const partOf = ({ work, environment, wallet }: DueWork): string => `${work} ${environment} ${wallet}`;

/**
 * The kinds of work of this wallet that a wake-up with this part of payment_attempts is about. A part of another version, which is
 * unknown here, is about all of them.
 */
export function walletWorkOf(
  part: string,
  { environment, wallet }: EnvironmentWallet,
): readonly WalletWork[] {
  const named = walletWork.find((work) => part.startsWith(`${work} `));
  if (named === undefined) return walletWork;
  return part === partOf({ work: named, environment, wallet }) ? [named] : [];
}
