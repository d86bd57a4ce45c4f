import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Currency } from '../../../src/core/domain/currency.ts';
import { Money } from '../../../src/core/domain/money.ts';
import type { PaymentOption } from '../../../src/core/domain/order.ts';
import { offeredOptions, optionsThatTake, unpayableIssues } from '../../../src/core/domain/wallet.ts';
import type { Wallet, WalletCurrency } from '../../../src/core/domain/wallet.ts';
import { money } from './build-order.ts';

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

  test('no other money is refused', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 20_000_000n }),
        fc.constantFrom('ETB', 'USD', 'KES', 'GHS'),
        fc.subarray([...all]),
        (minorUnits, code, options) => {
          const given = money(Money.formatMinorUnits(minorUnits, Currency.of(code)), code);
          const issues = unpayableIssues(wallets, options, given);
          expect(issues.length === 0).toBe(optionsThatTake(wallets, options, given).length > 0);
        },
      ),
    );
  });
});
