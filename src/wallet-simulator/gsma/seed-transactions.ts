import { merchantAccount, merchantParty, subscriberAccount } from './accounts.ts';
import { oneUnit } from '../amount.ts';
import { ordinaryOutcome } from './outcomes.ts';
import type { Transaction } from './transaction.ts';

/** The first letters of all references of a wallet: WA and WB for walleta and walletb. */
export const referencePrefix = (wallet: string): string => `W${wallet.slice(-1).toUpperCase()}`;

const count = 20;
const dayMs = 24 * 60 * 60 * 1_000;

/** Long past, so that no reconciliation of a recent day contains these payments. */
const firstAt = Date.UTC(2024, 0, 1, 9);

/**
 * The seed payments of the merchant's account: one a day from 1 January 2024, 09:00 UTC. Their amounts are 100 ETB, 101
 * ETB and so on, each from a different subscriber. They are oldest first and not posted yet.
 */
export function seedTransactions(wallet: string): readonly Transaction[] {
  const prefix = referencePrefix(wallet);
  const number = wallet === 'walletb' ? '25171100' : '25191100';
  return Array.from({ length: count }, (_, index): Transaction => {
    const msisdn = `${number}${String(index).padStart(4, '0')}`;
    const at = new Date(firstAt + index * dayMs);
    return {
      reference: `${prefix}SEED${String(index + 1).padStart(8, '0')}`,
      type: 'merchantpay',
      debitAccount: subscriberAccount(msisdn),
      creditAccount: merchantAccount,
      debitParty: [{ key: 'msisdn', value: `+${msisdn}` }],
      creditParty: [merchantParty],
      currency: 'ETB',
      description: { descriptionText: 'Payment from before' },
      originalReference: undefined,
      outcome: ordinaryOutcome,
      createdAt: at,
      amount: BigInt(100 + index) * oneUnit,
      modifiedAt: at,
      state: { status: 'open', shownAs: 'pending' },
    };
  });
}
