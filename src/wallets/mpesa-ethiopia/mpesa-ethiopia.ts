import type { ConnectorKind } from '../connector/connector-kind.ts';
import { receiptForm } from '../mpesa-daraja/daraja-capabilities.ts';
import { ethiopiaCapabilities } from './ethiopia-capabilities.ts';
import { ethiopiaSettings } from './ethiopia-settings.ts';

/** M-Pesa in Ethiopia, whose API differs from the one in Kenya. */
export const mpesaEthiopia: ConnectorKind<typeof ethiopiaSettings> = {
  name: 'mpesa-ethiopia',
  settings: ethiopiaSettings,
  merchantSettings: [
    'consumer_key',
    'consumer_secret',
    'short_code',
    'passkey',
    'password_form',
    'transaction_type',
    'till_number',
    'initiator_name',
    'initiator_password',
  ],
  // Otherwise payments at the merchant's short code would go to the operator's till.
  boundSettings: [{ account: ['short_code'], bound: ['transaction_type', 'till_number'] }],
  payeeSettings: ['short_code'],
  capabilities: ethiopiaCapabilities,
  transactionIds: receiptForm,
  reportsPayerStarted: true,
  load: async () => {
    const { EthiopiaConnector } = await import('./ethiopia-connector.ts');
    return (settings, options) => new EthiopiaConnector(settings, options);
  },
};
