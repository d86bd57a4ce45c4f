import { Currency } from './currency.ts';
import type { Issue } from './issue.ts';
import { Money } from './money.ts';
import type { Environment, PaymentOption } from './order.ts';

/** What is agreed with a merchant. Empty sets no limit beside the deployment's own. */
export interface AgreedTerms {
  readonly paymentOptions: Readonly<Record<Environment, readonly PaymentOption[]>>;
  /** ISO 4217 codes. */
  readonly currencies: readonly string[];
  /** Decimal text by ISO 4217 code. */
  readonly largestAmounts: Readonly<Record<string, string>>;
  /** Of each of its keys; 0 for what every key is granted. */
  readonly requestsPerSecond: number;
}

/** What is wrong with a currency by the merchant's terms. */
export function currencyIssues({ currencies }: AgreedTerms, { code }: Currency): Issue[] {
  if (currencies.length === 0 || currencies.includes(code)) return [];
  return [{ field: 'currency', issue: `must be one of ${currencies.join(', ')}, which you may take` }];
}

/** What is wrong with an order of this amount by the merchant's terms: a currency or an amount it may not take. */
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

/** Of the options that wallets are set up for, those that the merchant's customers may pay by, in the same order. */
export function allowedOptions(
  { paymentOptions }: AgreedTerms,
  environment: Environment,
  offered: readonly PaymentOption[],
): readonly PaymentOption[] {
  const allowed = paymentOptions[environment];
  return allowed.length === 0 ? offered : offered.filter((option) => allowed.includes(option));
}

/** What is wrong with paying by this option by the merchant's terms. */
export function optionIssues(
  { paymentOptions }: AgreedTerms,
  environment: Environment,
  option: PaymentOption,
): Issue[] {
  const allowed = paymentOptions[environment];
  if (allowed.length === 0 || allowed.includes(option)) return [];
  const words = allowed.map((each) => each.toLowerCase()).join(', ');
  return [{ field: 'payment_option', issue: `must be one of ${words}, which you may use` }];
}

function minorUnitsOf(text: string, code: string): bigint {
  const money = Money.parse(text, 'amount', Currency.of(code));
  if (!money.ok) throw new RangeError(`${text} ${code} was stored and is no amount`);
  return money.value.minorUnits;
}
