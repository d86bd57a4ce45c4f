import { Currency } from './currency.ts';
import type { Issue } from './issue.ts';
import { Money } from './money.ts';
import type { Environment, PaymentOption } from './order.ts';
import { offeredOptions, unpayableIssues, walletIdOf } from './wallet.ts';
import type { Wallet } from './wallet.ts';

/** The terms of a merchant. An empty value sets no limit beyond the deployment's own. */
export interface AgreedTerms {
  readonly paymentOptions: Readonly<Record<Environment, readonly PaymentOption[]>>;
  /** The ids of the wallets that the merchant itself has switched off. */
  readonly walletsOff: Readonly<Record<Environment, readonly string[]>>;
  /** ISO 4217 codes. */
  readonly currencies: readonly string[];
  /** Decimal text by ISO 4217 code. */
  readonly largestAmounts: Readonly<Record<string, string>>;
  /** The limit of each of its keys; 0 for the standard limit. */
  readonly requestsPerSecond: number;
}

/** The issues of a currency under the merchant's terms. */
export function currencyIssues({ currencies }: AgreedTerms, { code }: Currency): Issue[] {
  if (currencies.length === 0 || currencies.includes(code)) return [];
  return [
    {
      field: 'currency',
      issue: `must be one of ${currencies.join(', ')}: no other currency is enabled for this merchant`,
    },
  ];
}

/** The issues of an amount under the merchant's terms: a currency or an amount that is not allowed. */
export function amountIssues(terms: AgreedTerms, amount: Money): Issue[] {
  const wrongCurrency = currencyIssues(terms, amount.currency);
  if (wrongCurrency.length > 0) return wrongCurrency;
  const { code } = amount.currency;
  const largest = terms.largestAmounts[code];
  if (largest === undefined || amount.minorUnits <= minorUnitsOf(largest, code)) return [];
  return [
    { field: 'amount', issue: `must be at most ${largest} ${code}, this merchant's limit for one order` },
  ];
}

/**
 * The issues of an amount that the customer is to pay by any of the merchant's options, or by `option` alone. These are the issues
 * by the terms, or if there are none, those by the wallets.
 */
export function payableIssues(
  terms: AgreedTerms,
  environment: Environment,
  amount: Money,
  wallets: readonly Wallet[],
  option?: PaymentOption,
): Issue[] {
  const byTerms = amountIssues(terms, amount);
  if (byTerms.length > 0) return byTerms;
  const options = option === undefined ? allowedOptions(terms, environment, wallets) : [option];
  if (options.length === 0 && grantedOptions(terms, environment, wallets).length > 0)
    return [{ field: 'currency', issue: allOffIssue }];
  return unpayableIssues(wallets, options, amount);
}

const allOffIssue =
  'cannot be paid: you have switched off every wallet of this environment; switch one on in the dashboard, under Wallets';

/** The configured options that the operator grants to the merchant, in the same order. */
export function grantedOptions(
  { paymentOptions }: AgreedTerms,
  environment: Environment,
  wallets: readonly Wallet[],
): readonly PaymentOption[] {
  const offered = offeredOptions(wallets, environment);
  const granted = paymentOptions[environment];
  return granted.length === 0 ? offered : offered.filter((option) => granted.includes(option));
}

/** The options with which a merchant's customers can pay: granted, and with a wallet that the merchant has not switched off. */
export function allowedOptions(
  terms: AgreedTerms,
  environment: Environment,
  wallets: readonly Wallet[],
): readonly PaymentOption[] {
  return grantedOptions(terms, environment, wallets).filter((option) => !isOff(terms, environment, option));
}

const isOff = ({ walletsOff }: AgreedTerms, environment: Environment, option: PaymentOption): boolean =>
  walletsOff[environment].includes(walletIdOf(option));

/** The issues of a payment option under the merchant's terms. */
export function optionIssues(terms: AgreedTerms, environment: Environment, option: PaymentOption): Issue[] {
  const granted = terms.paymentOptions[environment];
  if (granted.length > 0 && !granted.includes(option)) {
    const words = granted.filter((each) => !isOff(terms, environment, each)).join(', ');
    const issue =
      words === ''
        ? 'is not available: you have switched off every wallet that you may use; switch one on in the dashboard, under Wallets'
        : `must be one of ${words}: no other payment option is enabled for this merchant`;
    return [{ field: 'payment_option', issue }];
  }
  if (!isOff(terms, environment, option)) return [];
  const issue = 'is of a wallet that you have switched off; switch it on in the dashboard, under Wallets';
  return [{ field: 'payment_option', issue }];
}

function minorUnitsOf(text: string, code: string): bigint {
  const money = Money.parse(text, 'amount', Currency.of(code));
  if (!money.ok) throw new RangeError(`${text} ${code} was stored and is no amount`);
  return money.value.minorUnits;
}
