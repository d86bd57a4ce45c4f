import type { ConnectorKind } from '../connector/connector-kind.ts';
import { DarajaConnector, darajaCapabilities } from './daraja-connector.ts';
import { darajaSettings } from './daraja-settings.ts';

/** M-Pesa in Kenya. With the setting `pull`, a connector also has the statement. */
export const mpesaDaraja: ConnectorKind<typeof darajaSettings> = {
  name: 'mpesa-daraja',
  settings: darajaSettings,
  merchantSettings: [
    'consumer_key',
    'consumer_secret',
    'short_code',
    'passkey',
    'transaction_type',
    'till_number',
    'initiator_name',
    'initiator_password',
    'pull',
  ],
  capabilities: darajaCapabilities,
  create: (settings, options) => new DarajaConnector(settings, options),
};
