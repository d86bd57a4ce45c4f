/** The account that supplies customers with money. Only this one may be negative. */
export const issuerAccount = 'wallet@issuer';

/** One movement of money between two accounts. */
export interface Posting {
  readonly from: string;
  readonly to: string;
  /** Ten-thousandths of the currency's unit, positive. */
  readonly amount: bigint;
  readonly currency: string;
  /** The transaction of the posting. */
  readonly reference: string;
}

/**
 * The double-entry accounts of one wallet. Each posting subtracts from one account and adds to another, so all balances
 * in a currency sum to zero.
 */
export interface Ledger {
  /**
   * Moves money atomically.
   * @throws RangeError when the amount is not positive, both accounts are the same, or an account other than the
   * issuer's would become negative.
   */
  readonly post: (posting: Posting) => void;
  /** In ten-thousandths of the currency's unit; 0 for an account without postings. */
  readonly balance: (account: string, currency: string) => bigint;
  /** Every account with postings. */
  readonly accounts: () => readonly {
    readonly account: string;
    readonly currency: string;
    readonly balance: bigint;
  }[];
  /** All postings, oldest first. */
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
