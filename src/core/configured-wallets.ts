import type { ConfiguredWallet } from '../contract/wallets-file/read-wallets-file.ts';
import type { WalletEntry, WalletEnvironment } from '../contract/wallets-file/wallets-schema.ts';
import type { SettingsError } from '../platform/settings/read-settings.ts';
import { Currency } from './domain/currency.ts';
import { Money } from './domain/money.ts';
import type { Environment } from './domain/order.ts';
import type { StatementTerms, TransactionIds, Wallet, WalletCurrency } from './domain/wallet.ts';

/**
 * The configured wallets as the domain knows them. `refundsOf` tells how the wallets of a connector return payments,
 * `statementOf` what their statements cover, `transactionIdsOf` the form of their transaction ids, and `opensPageOf` whether payers pay on a
 * page of the wallet.
 * @throws SettingsError for a currency that does not exist, or an amount with more decimals than its currency has
 */
export function walletsOf(
  configured: readonly ConfiguredWallet[],
  refundsOf: (connector: string) => Wallet['refunds'],
  statementOf: (connector: string) => StatementTerms,
  transactionIdsOf: (connector: string) => TransactionIds | undefined,
  opensPageOf: (connector: string) => boolean,
): readonly Wallet[] {
  return configured.map((wallet) => ({
    id: wallet.id,
    options: wallet.channels.map((channel) => `${wallet.id}_${channel}` as const),
    environments: [
      ...(wallet.environments.sandbox === undefined ? [] : (['SANDBOX'] as const)),
      ...(wallet.environments.production === undefined ? [] : (['PRODUCTION'] as const)),
    ],
    currencies: wallet.currencies.map((currency, index) =>
      currencyOf(currency, (key, problem) => wallet.problemAt(['currencies', index, key], problem)),
    ),
    reconcile: wallet.reconcile ?? false,
    statement: statementOf(wallet.connector),
    transactionIds: transactionIdsOf(wallet.connector),
    refunds: refundsOf(wallet.connector),
    opensPage: opensPageOf(wallet.connector),
    ...payerStartedOf(wallet),
  }));
}

/** The terms of each environment at which payers can start payments. */
function payerStartedOf({
  environments: { sandbox, production },
}: ConfiguredWallet): Pick<Wallet, 'payerStarted'> {
  const termsOf = (environment: Environment, entry: WalletEnvironment | undefined) =>
    entry?.payer_started === undefined
      ? {}
      : {
          [environment]: {
            merchantId: entry.payer_started.merchant_id ?? null,
            paybill: entry.payer_started.paybill,
          },
        };
  return { payerStarted: { ...termsOf('SANDBOX', sandbox), ...termsOf('PRODUCTION', production) } };
}

function currencyOf(
  entry: WalletEntry['currencies'][number],
  problemAt: (key: string, problem: string) => SettingsError,
): WalletCurrency {
  const { code, decimals, least_amount: least, greatest_amount: greatest } = entry;
  const known = Currency.parse(code, 'code', [code]);
  if (!known.ok) throw problemAt('code', 'must be an active ISO 4217 code');
  const currency = known.value;
  if (decimals !== undefined && decimals > currency.exponent)
    throw problemAt('decimals', `must be at most ${currency.exponent}, the decimals of ${code}`);
  const bound = (key: string, text: string | undefined): bigint | undefined => {
    if (text === undefined) return undefined;
    const money = Money.parse(text, key, currency);
    if (!money.ok) throw problemAt(key, money.error.issue);
    return money.value.minorUnits;
  };
  return {
    currency,
    leastMinorUnits: bound('least_amount', least),
    greatestMinorUnits: bound('greatest_amount', greatest),
    decimals: decimals ?? currency.exponent,
  };
}
