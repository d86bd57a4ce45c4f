import { Currency } from '../core/domain/currency.ts';
import { ConfigError } from '../runtime/config.ts';

/** @throws ConfigError for a currency that could be configured but never accepted. */
export function requireKnownCurrencies(codes: readonly string[]): void {
  for (const code of codes) {
    try {
      Currency.of(code);
    } catch (error) {
      throw new ConfigError(`GATEHOUSE_CURRENCIES: ${error instanceof Error ? error.message : code}`);
    }
  }
}
