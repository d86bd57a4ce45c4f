import type { Currency } from './currency.ts';
import type { Issue } from './issue.ts';
import { Money } from './money.ts';
import type { Environment, MerchantId, PaymentOption } from './order.ts';

/** A configured wallet, as far as it decides which orders can be paid. */
export interface Wallet {
  readonly id: string;
  readonly options: readonly PaymentOption[];
  readonly environments: readonly Environment[];
  readonly currencies: readonly WalletCurrency[];
  /** Whether its statement is compared with our records each day. */
  readonly reconcile: boolean;
  /** The terms of its statement; everything is covered when undefined. */
  readonly statement?: StatementTerms;
  /** The form of its transaction ids; any text when undefined. */
  readonly transactionIds?: TransactionIds | undefined;
  /** Whether it returns payments: not at all, only as a whole, or any part. */
  readonly refunds: 'none' | 'whole' | 'any';
  /** Whether payers pay on a page that the wallet makes for each payment, so that it prompts no phone; false when absent. */
  readonly opensPage?: boolean;
  /** By environment, for wallets at which payers can start payments themselves. */
  readonly payerStarted?: Partial<Readonly<Record<Environment, PayerStartedTerms>>>;
}

/** A form that all transaction ids of a wallet have. */
export interface TransactionIds {
  readonly pattern: RegExp;
  readonly example: string;
}

export interface StatementTerms {
  /** How far back it reaches, in milliseconds; without limit when undefined. */
  readonly reachMs?: number;
  /** Whether it shows money that went back to payers. */
  readonly listsReversals: boolean;
}

/** The terms of a wallet's statement: everything is covered unless its connector says otherwise. */
export const statementTermsOf = (wallets: readonly Wallet[], wallet: string): StatementTerms =>
  wallets.find(({ id }) => id === wallet)?.statement ?? { listsReversals: true };

/** The terms by which payer-started payments are matched to orders. */
export interface PayerStartedTerms {
  /** The only merchant of the account that is paid; null when several merchants share the account. */
  readonly merchantId: MerchantId | null;
  /** The paybill number that checkout shows; undefined when it shows none. */
  readonly paybill: string | undefined;
}

/** The amounts that a wallet takes in one currency. */
export interface WalletCurrency {
  readonly currency: Currency;
  /** In minor units; no bound when undefined. */
  readonly leastMinorUnits: bigint | undefined;
  /** In minor units; no bound when undefined. */
  readonly greatestMinorUnits: bigint | undefined;
  /** The decimals that the wallet takes, at most the currency's. */
  readonly decimals: number;
}

/** The id of an option's wallet: the part before the channel, because an id contains no underscore. */
export const walletIdOf = (option: PaymentOption): string => option.slice(0, option.lastIndexOf('_'));

/** Whether a payment with this option prompts the payer's phone. Otherwise the payer pays on a page of the wallet. */
export const promptsPhone = (wallets: readonly Wallet[], option: PaymentOption): boolean =>
  !wallets.some(({ options, opensPage }) => opensPage === true && options.includes(option));

/** The options that have a wallet in the environment, in the order of the configuration. */
export const offeredOptions = (
  wallets: readonly Wallet[],
  environment: Environment,
): readonly PaymentOption[] =>
  wallets.filter((wallet) => wallet.environments.includes(environment)).flatMap(({ options }) => options);

/** The options whose wallet takes this amount and currency. */
export const optionsThatTake = (
  wallets: readonly Wallet[],
  options: readonly PaymentOption[],
  money: Money,
): readonly PaymentOption[] =>
  options.filter((option) =>
    wallets.some((wallet) => wallet.options.includes(option) && takesMoney(wallet, money)),
  );

/**
 * Why none of the options takes the money: the currency, or the amount in it. Empty when one of them does. The issue names what
 * the wallets do take.
 */
export function unpayableIssues(
  wallets: readonly Wallet[],
  options: readonly PaymentOption[],
  money: Money,
): Issue[] {
  if (optionsThatTake(wallets, options, money).length > 0) return [];
  const offered = wallets.filter((wallet) => wallet.options.some((option) => options.includes(option)));
  const { code } = money.currency;
  const inCurrency = offered.flatMap(({ currencies }) =>
    currencies.filter(({ currency }) => currency.code === code),
  );
  if (inCurrency.length === 0) return [{ field: 'currency', issue: currencyIssue(code, offered) }];
  const ranges = [...new Set(inCurrency.map(rangeOf))];
  return [{ field: 'amount', issue: `must be ${ranges.join(', or ')}: no wallet takes another amount` }];
}

function takesMoney(wallet: Wallet, money: Money): boolean {
  const terms = wallet.currencies.find(({ currency }) => currency.code === money.currency.code);
  if (terms === undefined) return false;
  const { leastMinorUnits: least, greatestMinorUnits: greatest, decimals } = terms;
  const step = 10n ** BigInt(money.currency.exponent - decimals);
  return (
    (least === undefined || money.minorUnits >= least) &&
    (greatest === undefined || money.minorUnits <= greatest) &&
    money.minorUnits % step === 0n
  );
}

function currencyIssue(code: string, offered: readonly Wallet[]): string {
  const codes = offered.flatMap(({ currencies }) => currencies.map(({ currency }) => currency.code));
  const known = [...new Set(codes)].join(', ');
  if (known === '') return 'cannot be paid: no wallet is set up for this environment';
  return `must be one of ${known}: no wallet that you may use takes ${code}`;
}

/** Such as "1.00 to 75000.00 ETB" or "10 to 250000 KES in whole units". */
function rangeOf({
  currency,
  leastMinorUnits: least,
  greatestMinorUnits: greatest,
  decimals,
}: WalletCurrency): string {
  const write = (minorUnits: bigint): string => {
    const text = Money.formatMinorUnits(minorUnits, currency);
    return decimals === 0 ? text.replace(/\.0+$/, '') : text;
  };
  const bounds =
    least !== undefined && greatest !== undefined
      ? `${write(least)} to ${write(greatest)} ${currency.code}`
      : least !== undefined
        ? `at least ${write(least)} ${currency.code}`
        : greatest !== undefined
          ? `at most ${write(greatest)} ${currency.code}`
          : currency.code;
  if (decimals >= currency.exponent) return bounds;
  return decimals === 0 ? `${bounds} in whole units` : `${bounds} with at most ${decimals} decimals`;
}
