/** The account that money comes from when a customer needs some; the only one that may go below zero. */
export const issuerAccount = 'wallet@issuer';

/** One movement of money between two accounts. */
export interface Posting {
  readonly from: string;
  readonly to: string;
  /** Ten-thousandths of the currency's unit, more than zero. */
  readonly amount: bigint;
  readonly currency: string;
  /** The transaction it belongs to. */
  readonly reference: string;
}

/**
 * Double-entry accounts of one wallet. What one account loses another gains, so the balances of all accounts in a
 * currency always sum to zero.
 */
export interface Ledger {
  /**
   * Moves money, whole or not at all.
   * @throws RangeError when the amount is not above zero, when both accounts are the same, or when an account other
   * than the issuer's would go below zero.
   */
  readonly post: (posting: Posting) => void;
  /** In ten-thousandths of the currency's unit; 0 for an account that never moved any. */
  readonly balance: (account: string, currency: string) => bigint;
  /** Every account that ever moved money. */
  readonly accounts: () => readonly {
    readonly account: string;
    readonly currency: string;
    readonly balance: bigint;
  }[];
  /** Every movement, oldest first. */
  readonly postings: () => readonly Posting[];
}

/** An empty ledger, kept in memory. */
export function createLedger(): Ledger {
  const balances = new Map<string, { account: string; currency: string; balance: bigint }>();
  const postings: Posting[] = [];
  const entry = (account: string, currency: string) => {
    const key = `${currency} ${account}`;
    const existing = balances.get(key) ?? { account, currency, balance: 0n };
    balances.set(key, existing);
    return existing;
  };
  const balance = (account: string, currency: string): bigint =>
    balances.get(`${currency} ${account}`)?.balance ?? 0n;
  return {
    post: (posting) => {
      const { from, to, amount, currency } = posting;
      if (amount <= 0n) throw new RangeError(`cannot move ${amount} ten-thousandths of ${currency}`);
      if (from === to) throw new RangeError(`cannot move money from ${from} to itself`);
      if (from !== issuerAccount && balance(from, currency) < amount) {
        throw new RangeError(`${from} has less than ${amount} ten-thousandths of ${currency}`);
      }
      entry(from, currency).balance -= amount;
      entry(to, currency).balance += amount;
      postings.push(posting);
    },
    balance,
    accounts: () => [...balances.values()].map((account) => ({ ...account })),
    postings: () => [...postings],
  };
}
