import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Currency } from '../../../src/core/domain/currency.ts';
import { allowedOptions, optionIssues, payableIssues } from '../../../src/core/domain/merchant-terms.ts';
import type { AgreedTerms } from '../../../src/core/domain/merchant-terms.ts';
import { Money } from '../../../src/core/domain/money.ts';
import type { PaymentOption } from '../../../src/core/domain/order.ts';
import { offeredOptions, optionsThatTake, unpayableIssues } from '../../../src/core/domain/wallet.ts';
import type { Wallet, WalletCurrency } from '../../../src/core/domain/wallet.ts';
import { money } from './build-order.ts';
import { forAll } from '../../support/for-all.ts';

const takes = (code: string, own: Partial<WalletCurrency> = {}): WalletCurrency => ({
  currency: Currency.of(code),
  leastMinorUnits: undefined,
  greatestMinorUnits: undefined,
  decimals: Currency.of(code).exponent,
  ...own,
});

const wallets: readonly Wallet[] = [
  {
    id: 'birr',
    options: ['birr_ussd', 'birr_wallet'],
    environments: ['SANDBOX', 'PRODUCTION'],
    currencies: [takes('ETB', { leastMinorUnits: 100n, greatestMinorUnits: 7_500_000n }), takes('USD')],
    reconcile: true,
    refunds: 'any',
  },
  {
    id: 'mpesa',
    options: ['mpesa_ussd'],
    environments: ['SANDBOX'],
    currencies: [takes('ETB', { decimals: 0, leastMinorUnits: 1_000n }), takes('KES', { decimals: 0 })],
    reconcile: false,
    refunds: 'whole',
  },
];
const all: readonly PaymentOption[] = ['birr_ussd', 'birr_wallet', 'mpesa_ussd'];

test('the options of an environment are those of its wallets, in their order', () => {
  expect(offeredOptions(wallets, 'SANDBOX')).toEqual(all);
  expect(offeredOptions(wallets, 'PRODUCTION')).toEqual(['birr_ussd', 'birr_wallet']);
});

describe('an amount is accepted by the wallets whose currency, limits and decimals it fits', () => {
  test.each<[string, string, readonly string[]]>([
    ['100.50', 'ETB', ['birr_ussd', 'birr_wallet']],
    ['100.00', 'ETB', all],
    ['10', 'ETB', all],
    ['9', 'ETB', ['birr_ussd', 'birr_wallet']],
    ['1.00', 'ETB', ['birr_ussd', 'birr_wallet']],
    ['0.99', 'ETB', []],
    ['75000', 'ETB', all],
    ['75000.01', 'ETB', []],
    ['75001', 'ETB', ['mpesa_ussd']],
    ['0.01', 'USD', ['birr_ussd', 'birr_wallet']],
    ['5', 'KES', ['mpesa_ussd']],
    ['5.50', 'KES', []],
    ['5', 'GHS', []],
  ])('%s %s: %j', (amount, code, options) => {
    expect(optionsThatTake(wallets, all, money(amount, code))).toEqual(options);
  });
});

describe('money that no wallet accepts is refused with the accepted amounts', () => {
  test.each<[string, string, readonly PaymentOption[], string, string]>([
    ['5', 'GHS', all, 'currency', 'must be one of ETB, USD, KES: no wallet that you may use takes GHS'],
    ['5', 'KES', ['birr_ussd'], 'currency', 'must be one of ETB, USD: no wallet that you may use takes KES'],
    ['5', 'ETB', [], 'currency', 'cannot be paid: no wallet is set up for this environment'],
    [
      '0.99',
      'ETB',
      all,
      'amount',
      'must be 1.00 to 75000.00 ETB, or at least 10 ETB in whole units: no wallet takes another amount',
    ],
    ['5.50', 'KES', all, 'amount', 'must be KES in whole units: no wallet takes another amount'],
    ['80000', 'ETB', ['birr_ussd'], 'amount', 'must be 1.00 to 75000.00 ETB: no wallet takes another amount'],
  ])('%s %s by %j', (amount, code, options, field, issue) => {
    expect(unpayableIssues(wallets, options, money(amount, code))).toEqual([{ field, issue }]);
  });

  forAll([
    fc.bigInt({ min: 1n, max: 20_000_000n }),
    fc.constantFrom('ETB', 'USD', 'KES', 'GHS'),
    fc.subarray([...all]),
  ])('no other money is refused', (minorUnits, code, options) => {
    const given = money(Money.formatMinorUnits(minorUnits, Currency.of(code)), code);
    const issues = unpayableIssues(wallets, options, given);
    expect(issues.length === 0).toBe(optionsThatTake(wallets, options, given).length > 0);
  });
});

describe("a merchant's terms", () => {
  const terms = (own: Partial<AgreedTerms> = {}): AgreedTerms => ({
    ...{ paymentOptions: { SANDBOX: [], PRODUCTION: [] }, walletsOff: { SANDBOX: [], PRODUCTION: [] } },
    ...{ currencies: [], largestAmounts: {}, requestsPerSecond: 0, ...own },
  });
  const onlyUssd = { SANDBOX: ['birr_ussd', 'mpesa_ussd'], PRODUCTION: [] } as const;
  const allOff = { SANDBOX: ['birr', 'mpesa'], PRODUCTION: [] };

  test.each<[Partial<AgreedTerms>, amount: string, issues: RegExp[]]>([
    [{}, '500', []],
    [{ currencies: ['ETB', 'USD'], largestAmounts: { ETB: '500', USD: '1' } }, '500', []],
    [
      { largestAmounts: { ETB: '500' } },
      '500.01',
      [/^amount must be at most 500 ETB, this merchant's limit/],
    ],
    // Both also exceed what the wallets take.
    [{ largestAmounts: { ETB: '500' } }, '80000', [/^amount must be at most 500 ETB/]],
    [
      { currencies: ['USD', 'KES'], largestAmounts: { ETB: '1' } },
      '80000',
      [/^currency must be one of USD, KES:/],
    ],
    [{ walletsOff: allOff }, '500', [/^currency cannot be paid: you have switched off every wallet/]],
    [{ walletsOff: { SANDBOX: ['birr'], PRODUCTION: ['mpesa'] } }, '5', [/^amount must be at least 10 ETB/]],
    [{ paymentOptions: { ...onlyUssd, SANDBOX: ['mpesa_ussd'] } }, '5', [/^amount must be at least 10 ETB/]],
  ])('%j: the issues of %s ETB', (own, amount, issues) => {
    const found = payableIssues(terms(own), 'SANDBOX', money(amount), wallets);
    expect(found.map(({ field, issue }) => `${field} ${issue}`)).toEqual(
      issues.map((issue) => expect.stringMatching(issue)),
    );
  });

  test('do not explain why nothing can be paid without a wallet, or by one option', () => {
    const issueOf = (...by: [readonly Wallet[], PaymentOption?]) =>
      payableIssues(terms(), 'SANDBOX', money('5'), ...by).map(({ issue }) => issue);

    expect(issueOf([])).toEqual(['cannot be paid: no wallet is set up for this environment']);
    expect(issueOf(wallets, 'mpesa_ussd')).toEqual([expect.stringMatching('^must be at least 10 ETB')]);
  });

  test.each<[Partial<AgreedTerms>, allowed: readonly PaymentOption[], option: PaymentOption, issue: string]>([
    [{}, all, 'birr_wallet', ''],
    [
      { paymentOptions: onlyUssd },
      ['birr_ussd', 'mpesa_ussd'],
      'birr_wallet',
      'must be one of birr_ussd, mpesa_ussd',
    ],
    [
      { walletsOff: { SANDBOX: ['birr'], PRODUCTION: [] } },
      ['mpesa_ussd'],
      'birr_ussd',
      'is of a wallet that you',
    ],
    [{ walletsOff: { SANDBOX: [], PRODUCTION: ['birr'] } }, all, 'birr_ussd', ''],
    [
      { paymentOptions: onlyUssd, walletsOff: { SANDBOX: ['birr'], PRODUCTION: [] } },
      ['mpesa_ussd'],
      'birr_wallet',
      'must be one of mpesa_ussd:',
    ],
    [
      { paymentOptions: onlyUssd, walletsOff: allOff },
      [],
      'birr_wallet',
      'is not available: you have switched off',
    ],
  ])('%j allow %j; the issue of %s', (own, allowed, option, issue) => {
    expect(allowedOptions(terms(own), 'SANDBOX', wallets)).toEqual(allowed);
    expect(optionIssues(terms(own), 'SANDBOX', option)).toEqual(
      issue === '' ? [] : [{ field: 'payment_option', issue: expect.stringContaining(issue) }],
    );
  });
});
