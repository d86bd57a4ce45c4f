import type { LargestAmount } from '../../gen/gatehouse/v1/merchant_service_pb.js';
import type { MerchantWallet } from '../../gen/gatehouse/v1/merchant_wallet_service_pb.js';
import type { Wallet, WalletCurrency } from '../../gen/gatehouse/v1/wallet_service_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import type { Language } from '../../platform/language/language.ts';
import type { paymentLinks as english } from '../language/english/payment-links.ts';
import type { wallets as englishWallets } from '../language/english/wallets.ts';
import { rangeText } from '../wallets/wallet-views.ts';
import { textProblem } from './amount-problem.ts';
import { placesOf, unitsOf } from './decimal-text.ts';
import type { OrderWords } from './order-words.ts';

/** The terms of a merchant's orders, so that a refusal can be explained in the user's language. */
export interface LinkRules {
  /** The ISO 4217 codes of its orders. */
  readonly currencies: readonly string[];
  readonly largestAmounts: readonly Pick<LargestAmount, 'currency' | 'amount'>[];
  readonly merchantWallets: readonly Pick<MerchantWallet, 'wallet' | 'paymentOptions' | 'on'>[];
  readonly wallets: readonly Wallet[];
}

export interface LinkWriting {
  readonly form: (typeof english)['form'];
  readonly amountProblems: OrderWords['amountProblems'];
  readonly range: (typeof englishWallets)['range'];
  readonly language: Language;
}

/** Enough for every amount that fits into the form. */
const places = 20;

/** Why core refused the amount of a link; undefined when the rules do not explain it. */
export function linkAmountProblem(
  text: string,
  currency: string,
  rules: LinkRules,
  { form, amountProblems, range, language }: LinkWriting,
): string | undefined {
  const malformed = textProblem(text, amountProblems);
  const amount = unitsOf(text, places);
  if (malformed !== undefined || amount === undefined) return malformed;
  const isAtMost = (a: string, b: string): boolean =>
    a === '' || b === '' || (unitsOf(a, places) ?? 0n) <= (unitsOf(b, places) ?? 0n);
  const limit = rules.largestAmounts.find((each) => each.currency === currency)?.amount ?? '';
  if (!isAtMost(text, limit)) return form.aboveLimit(amountText(limit, currency, language));
  const taken = takenBy(rules, currency);
  const inRange = taken.filter(
    ({ leastAmount, greatestAmount }) => isAtMost(leastAmount, text) && isAtMost(text, greatestAmount),
  );
  if (taken.length === 0) return undefined;
  if (inRange.length === 0) {
    const ranges = new Set(taken.map((each) => rangeText(each, { range }, language)));
    return form.outOfRange([...ranges].join(form.or));
  }
  const decimals = Math.max(...inRange.map((each) => each.decimals));
  if (placesOf(text) <= decimals) return undefined;
  return decimals === 0 ? form.noDecimals(currency) : form.fewerDecimals(decimals, currency);
}

/** Why core refused the currency of a link; undefined when the rules do not explain it. */
export function linkCurrencyProblem(
  currency: string,
  rules: LinkRules,
  { form }: Pick<LinkWriting, 'form'>,
): string | undefined {
  if (!rules.currencies.includes(currency)) return undefined;
  const granted = rules.merchantWallets.filter(({ paymentOptions }) => paymentOptions.length > 0);
  if (granted.length > 0 && granted.every(({ on }) => !on)) return form.allWalletsOff;
  return takenBy(rules, currency).length === 0 ? form.noWalletTakes(currency) : undefined;
}

/** The amounts in a currency that the merchant's wallets take. */
function takenBy({ merchantWallets, wallets }: LinkRules, currency: string): readonly WalletCurrency[] {
  const offered = merchantWallets.filter(({ paymentOptions, on }) => paymentOptions.length > 0 && on);
  return wallets
    .filter(({ wallet }) => offered.some((each) => each.wallet === wallet))
    .flatMap(({ currencies }) => currencies.filter((each) => each.currency === currency));
}
