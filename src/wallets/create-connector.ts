import { SettingsError } from '../platform/settings/read-settings.ts';
import type { ConnectorOptions } from './connector/connector-kind.ts';
import type { WalletConnector } from './connector/wallet-connector.ts';
import type { WalletSettings } from './wallet-settings.ts';

/**
 * The connector of a wallet.
 * @throws SettingsError for settings that only the connector can judge, such as keys and certificates
 */
export async function createConnector(
  settings: WalletSettings,
  options: ConnectorOptions,
): Promise<WalletConnector> {
  const create = await settings.kind.load();
  try {
    return create(settings.settings, options);
  } catch (error) {
    const { wallet, environment } = settings;
    const problem = error instanceof Error ? error.message : String(error);
    throw new SettingsError(`the settings of ${wallet} in ${environment} cannot be used: ${problem}`);
  }
}
