import { Currency } from '../core/domain/currency.ts';
import { SettingsError } from '../platform/settings/read-settings.ts';

/** Checks the configured currencies. @throws SettingsError for one that Gatehouse cannot accept. */
export function requireKnownCurrencies(codes: readonly string[]): void {
  for (const code of codes) {
    try {
      Currency.of(code);
    } catch (error) {
      throw new SettingsError(`GATEHOUSE_CURRENCIES: ${error instanceof Error ? error.message : code}`);
    }
  }
}
