import { Currency } from '../core/domain/currency.ts';
import type { Wallet } from '../core/domain/wallet.ts';
import type { Logger } from '../platform/logger.ts';
import { SettingsError } from '../platform/settings/read-settings.ts';

/**
 * The currencies that orders accept: those of the setting, or else ETB, USD and those of the wallets.
 * @throws SettingsError for one that Gatehouse cannot accept
 */
export function acceptedCurrencies(
  setting: readonly string[] | undefined,
  wallets: readonly Wallet[],
): readonly string[] {
  for (const code of setting ?? []) {
    try {
      Currency.of(code);
    } catch (error) {
      throw new SettingsError(`GATEHOUSE_CURRENCIES: ${error instanceof Error ? error.message : code}`);
    }
  }
  return setting ?? [...new Set(['ETB', 'USD', ...wallets.flatMap(codesOf)])];
}

/** Logs the wallets that no order can use, because none of their currencies is accepted. */
export function warnOfWalletsWithoutOrders(
  accepted: readonly string[],
  wallets: readonly Wallet[],
  logger: Logger,
): void {
  const unused = wallets.filter((wallet) => !codesOf(wallet).some((code) => accepted.includes(code)));
  if (unused.length > 0)
    logger.warn(
      { wallets: unused.map((wallet) => `${wallet.id} ${codesOf(wallet).join(' ')}`) },
      'no order can use these wallets, because GATEHOUSE_CURRENCIES lacks their currencies; add the currencies, or unset it to accept those of all wallets',
    );
}

const codesOf = ({ currencies }: Wallet): readonly string[] =>
  currencies.map(({ currency }) => currency.code);
