import { Currency } from './currency.ts';
import type { Issue } from './issue.ts';
import { Money } from './money.ts';
import type { Environment, PaymentOption } from './order.ts';
import { offeredOptions, unpayableIssues } from './wallet.ts';
import type { Wallet } from './wallet.ts';

/** The terms of a merchant. An empty value sets no limit beyond the deployment's own. */
export interface AgreedTerms {
  readonly paymentOptions: Readonly<Record<Environment, readonly PaymentOption[]>>;
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
  return [{ field: 'currency', issue: `must be one of ${currencies.join(', ')}, which you may take` }];
}

/** The issues of an amount under the merchant's terms: a currency or an amount that is not allowed. */
export function amountIssues(terms: AgreedTerms, amount: Money): Issue[] {
  const wrongCurrency = currencyIssues(terms, amount.currency);
  if (wrongCurrency.length > 0) return wrongCurrency;
  const { code } = amount.currency;
  const largest = terms.largestAmounts[code];
  if (largest === undefined || amount.minorUnits <= minorUnitsOf(largest, code)) return [];
  return [
    { field: 'amount', issue: `must be at most ${largest} ${code}, the most that you may take at once` },
  ];
}

/**
 * The issues of an amount that the customer is to pay by any of the merchant's options, or by `option` alone: those of the terms,
 * or else those of the wallets.
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
  return unpayableIssues(wallets, options, amount);
}

/** The configured options that the merchant's terms allow, in the same order. */
export function allowedOptions(
  { paymentOptions }: AgreedTerms,
  environment: Environment,
  wallets: readonly Wallet[],
): readonly PaymentOption[] {
  const offered = offeredOptions(wallets, environment);
  const allowed = paymentOptions[environment];
  return allowed.length === 0 ? offered : offered.filter((option) => allowed.includes(option));
}

/** The issues of a payment option under the merchant's terms. */
export function optionIssues(
  { paymentOptions }: AgreedTerms,
  environment: Environment,
  option: PaymentOption,
): Issue[] {
  const allowed = paymentOptions[environment];
  if (allowed.length === 0 || allowed.includes(option)) return [];
  const words = allowed.join(', ');
  return [{ field: 'payment_option', issue: `must be one of ${words}, which you may use` }];
}

function minorUnitsOf(text: string, code: string): bigint {
  const money = Money.parse(text, 'amount', Currency.of(code));
  if (!money.ok) throw new RangeError(`${text} ${code} was stored and is no amount`);
  return money.value.minorUnits;
}
