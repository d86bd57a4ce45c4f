import type { ConnectorKind } from '../connector/connector-kind.ts';
import { darajaCapabilities, pullTerms, receiptForm } from './daraja-capabilities.ts';
import { darajaSettings } from './daraja-settings.ts';

/** M-Pesa in Kenya. Only a connector with the setting `pull` has the statement, and finds requests in it. */
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
  // Otherwise payments at the merchant's short code would go to the operator's till.
  boundSettings: [{ account: ['short_code'], bound: ['transaction_type', 'till_number'] }],
  payeeSettings: ['short_code'],
  capabilities: { ...darajaCapabilities, statement: true, recovery: true },
  statementLacks: ({ pull }) => (pull === true ? undefined : 'pull: true'),
  statementTerms: pullTerms,
  transactionIds: receiptForm,
  reportsPayerStarted: true,
  load: async () => {
    const { DarajaConnector } = await import('./daraja-connector.ts');
    return (settings, options) => new DarajaConnector(settings, options);
  },
};
