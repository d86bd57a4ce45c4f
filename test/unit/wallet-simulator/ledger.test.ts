import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createLedger, issuerAccount } from '../../../src/wallet-simulator/ledger.ts';
import type { Ledger, Posting } from '../../../src/wallet-simulator/ledger.ts';
import { forAll } from '../../support/for-all.ts';

const account = fc.constantFrom(
  issuerAccount,
  'msisdn@251911000001',
  'msisdn@251911000002',
  'accountid@2999',
);
const posting: fc.Arbitrary<Posting> = fc.record({
  from: account,
  to: account,
  amount: fc.bigInt({ min: -2n, max: 10n ** 22n }),
  currency: fc.constantFrom('ETB', 'USD'),
  reference: fc.string(),
});

/** Posts what the ledger accepts, and returns that. */
function postAll(ledger: Ledger, postings: readonly Posting[]): readonly Posting[] {
  return postings.filter((each) => {
    try {
      ledger.post(each);
      return true;
    } catch (error) {
      if (error instanceof RangeError) return false;
      throw error;
    }
  });
}

describe('after any postings', () => {
  forAll([fc.array(posting)])('the balances of a currency sum to zero', (postings) => {
    const ledger = createLedger();
    postAll(ledger, postings);
    for (const currency of ['ETB', 'USD']) {
      const ofCurrency = ledger.accounts().filter((each) => each.currency === currency);
      expect(ofCurrency.reduce((sum, { balance }) => sum + balance, 0n)).toBe(0n);
    }
  });

  forAll([fc.array(posting)])('no account except that of the issuer is negative', (postings) => {
    const ledger = createLedger();
    postAll(ledger, postings);
    const negative = ledger.accounts().filter(({ balance }) => balance < 0n);
    expect(negative.every((each) => each.account === issuerAccount)).toBe(true);
  });

  forAll([fc.array(posting), account])(
    'a balance is the accepted income minus the accepted expense',
    (postings, name) => {
      const ledger = createLedger();
      const taken = postAll(ledger, postings);
      const moved = taken
        .filter(({ currency }) => currency === 'ETB')
        .reduce(
          (sum, { from, to, amount }) => sum + (to === name ? amount : 0n) - (from === name ? amount : 0n),
          0n,
        );
      expect(ledger.balance(name, 'ETB')).toBe(moved);
      expect(ledger.postings()).toEqual(taken);
    },
  );
});

test.each([
  ['nothing', { amount: 0n }],
  ['a negative amount', { amount: -1n }],
  ['money from an account to itself', { to: issuerAccount }],
  ['more than the balance', { from: 'accountid@2999', to: issuerAccount }],
])('a posting of %s is refused and leaves the ledger unchanged', (_name, change) => {
  const ledger = createLedger();
  const good: Posting = {
    from: issuerAccount,
    to: 'accountid@2999',
    amount: 1n,
    currency: 'ETB',
    reference: 'a',
  };

  expect(() => ledger.post({ ...good, ...change })).toThrow(RangeError);
  expect(ledger.accounts()).toEqual([]);
  expect(ledger.postings()).toEqual([]);
});
