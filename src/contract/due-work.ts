import { walletOf } from './payment-option.ts';
import type { PaymentOption } from './payment-option.ts';

const walletWork = ['payments', 'reversals', 'payerPayments', 'reconciliations', 'checks'] as const;
/** The kinds of work of the wallets. `reversals` includes refunds. */
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

/** The `part` of a wake-up on the topic `payment_attempts` that names this work. A wake-up without a part is about all work of all wallets. */
export const partOf = ({ work, environment, wallet }: DueWork): string => `${work} ${environment} ${wallet}`;

/**
 * The kinds of work of this wallet that a wake-up with this `part` is about: all of them for a part that this version does not know.
 */
export function walletWorkOf(
  part: string,
  { environment, wallet }: EnvironmentWallet,
): readonly WalletWork[] {
  const named = walletWork.find((work) => part.startsWith(`${work} `));
  if (named === undefined) return walletWork;
  return part === partOf({ work: named, environment, wallet }) ? [named] : [];
}
