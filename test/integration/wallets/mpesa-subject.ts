import { lookup } from 'node:dns';
import { certificateOf, createSecurityKey } from '../../../src/wallet-simulator/mpesa-daraja/certificate.ts';
import { SharedTokens } from '../../../src/wallets/connector/access-tokens.ts';
import type { ConnectorOptions } from '../../../src/wallets/connector/connector-kind.ts';
import type { PaymentRequest } from '../../../src/wallets/connector/wallet-connector.ts';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { secretVariables } from './secret-variables.ts';
import { sharedSimulatorProcess } from './simulator-subject.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';

/** One key for all tests of a file, because creating one takes a moment. */
export const securityKey = createSecurityKey();
export const certificate = certificateOf(securityKey);

export const mpesaSecrets = [
  'the-consumer-secret',
  'the-passkey',
  'the-initiator-password',
  'the-access-token',
];

/** The credentials that the app and the organisation share with M-Pesa. */
export const credentials = {
  consumer_key: 'the-consumer-key',
  consumer_secret: 'the-consumer-secret',
  short_code: '174379',
  passkey: 'the-passkey',
  initiator_name: 'the-initiator',
  initiator_password: 'the-initiator-password',
};

export const mpesaSettings = (baseUrl: string) => ({
  ...credentials,
  base_url: baseUrl,
  certificate_pem: certificate,
});

/** The settings for a `wallets` process, and the secrets as variables of its environment. */
export const mpesaOfProcess = (baseUrl: string) =>
  secretVariables('MPESA', mpesaSettings(baseUrl), ['consumer_secret', 'passkey', 'initiator_password']);

const simulated = { ...credentials, security_key: securityKey };
/** M-Pesa of Kenya as \`mpesa\` and of Ethiopia as \`mpesaet\`, for a simulator. */
export const mpesaSimulated = {
  mpesa: { protocol: 'mpesa-daraja', ...simulated },
  mpesaet: { protocol: 'mpesa-ethiopia', ...simulated },
};
export const sharedMpesaSimulator = (): GatehouseProcess => sharedSimulatorProcess(mpesaSimulated);

export const mpesaOptions = (over: Partial<ConnectorOptions> = {}): ConnectorOptions => ({
  callbackBaseUrl: () => 'https://gatehouse.example/callbacks/wallet',
  currencies: ['KES', 'ETB'],
  timeouts: { connectMs: 5_000, callMs: 20_000 },
  lookup,
  maxConnections: 8,
  sharedTokens: new SharedTokens(),
  now: () => new Date(),
  ...over,
});

export const buildMpesaPayment = (over: Partial<PaymentRequest> = {}): PaymentRequest => ({
  attemptId: newRandomId('pat', new Date()),
  amount: '100',
  currency: 'KES',
  payerPhone: '+254708374149',
  channel: 'ussd',
  description: 'Invoice 42',
  requestedAt: new Date(),
  callbackToken: 'mer_1.unguessable-token',
  ...over,
});
