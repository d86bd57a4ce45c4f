import { lookup } from 'node:dns';
import { GsmaConnector } from '../../../src/wallets/gsma/gsma-connector.ts';
import type { GsmaSettings } from '../../../src/wallets/gsma/gsma-settings.ts';
import type { PaymentRequest } from '../../../src/wallets/connector/wallet-connector.ts';
import { startFaultySubject } from './faulty-subject.ts';
import type { FaultySubject } from './faulty-subject.ts';
import { json } from './scripted-wallet.ts';
import { afterEach, beforeEach } from '@jest/globals';
import { standIn } from '../../support/shared-stack.ts';

export const attemptId = 'pat_01k9z3t5y8e6wbv2n4m7q1h0cd';
export const requestStateId = '6f1f6a10-3a1c-4c53-9d5a-4f0f7f6f1c11';
export const reversalStateId = '6f1f6a10-3a1c-4c53-9d5a-4f0f7f6f1c22';
const secrets = ['the-client-secret', 'the-api-key', 'the-access-token'];

export const gsmaSettings = (origin: string, over: Partial<GsmaSettings> = {}): GsmaSettings => ({
  baseUrl: `${origin}/mm`,
  tokenPath: '/v1/oauth/accesstoken',
  clientId: 'the-client',
  clientSecret: 'the-client-secret',
  apiKey: 'the-api-key',
  payee: { type: 'accountid', id: '2999' },
  callbackBaseUrl: 'https://gatehouse.example/callbacks/walleta/',
  currencies: ['ETB', 'USD'],
  timeouts: { connectMs: 5_000, callMs: 20_000 },
  lookup,
  maxConnections: 8,
  ...over,
});

export const buildPayment = (over: Partial<PaymentRequest> = {}): PaymentRequest => ({
  attemptId,
  amount: '100.50',
  currency: 'ETB',
  payerPhone: '+251911223344',
  channel: 'ussd',
  description: 'Invoice 42',
  requestedAt: new Date('2026-01-01T08:00:00.000Z'),
  callbackToken: 'unguessable-token',
  ...over,
});

export const transaction = (over: Readonly<Record<string, unknown>> = {}) => ({
  transactionReference: 'REF-1',
  transactionStatus: 'completed',
  amount: '100.5',
  currency: 'ETB',
  type: 'merchantpay',
  requestingOrganisationTransactionReference: attemptId,
  debitParty: [{ key: 'msisdn', value: '251911223344' }],
  creditParty: [{ key: 'accountid', value: '2999' }],
  creationDate: '2026-01-01T08:00:03.000Z',
  ...over,
});

export const requestState = (over: Readonly<Record<string, unknown>> = {}) => ({
  serverCorrelationId: requestStateId,
  status: 'pending',
  notificationMethod: 'callback',
  ...over,
});

export const token = { access_token: 'the-access-token', token_type: 'Bearer', expires_in: 3600 };

export const routes = {
  token: /POST \/mm\/v1\/oauth\/accesstoken/,
  initiate: /POST \/mm\/transactions\/type\/merchantpay/,
  requestState: new RegExp(`GET /mm/requeststates/${requestStateId}`),
  reversalState: new RegExp(`GET /mm/requeststates/${reversalStateId}`),
  transaction: /GET \/mm\/transactions\/REF-1/,
  responses: /GET \/mm\/responses\/[0-9a-f-]{36}/,
  reverse: /POST \/mm\/transactions\/REF-1\/reversals/,
  statement: /GET \/mm\/accounts\/accountid\/2999\/transactions/,
  heartbeat: /GET \/mm\/heartbeat/,
};

/** A connector in front of a server that gives the good answer everywhere until the test changes that. */
export async function startGsma(
  over: Partial<GsmaSettings> = {},
  now: () => Date = () => new Date(),
): Promise<FaultySubject> {
  const ofReversal = requestState({ serverCorrelationId: reversalStateId });
  const link = `/requeststates/${requestStateId}`;
  const subject = await startFaultySubject(
    {
      routes: {
        initiate: { route: routes.initiate, good: { status: 202, body: requestState() } },
        query: { route: routes.requestState, good: { status: 200, body: requestState() } },
        recover: { route: routes.responses, good: { status: 200, body: { link } } },
        reverse: { route: routes.reverse, good: { status: 202, body: ofReversal } },
        queryReversal: { route: routes.reversalState, good: { status: 200, body: ofReversal } },
        statement: { route: routes.statement, good: { status: 200, body: [] } },
        health: { route: routes.heartbeat, good: { status: 200, body: { serviceStatus: 'available' } } },
      },
      secrets,
      payment: buildPayment(),
      references: {
        payment: `requeststates/${requestStateId}`,
        reversal: `requeststates/${reversalStateId}`,
        transaction: 'REF-1',
      },
    },
    (origin) => new GsmaConnector(gsmaSettings(origin, over), now),
  );
  subject.wallet.on(routes.token, json(200, token));
  const reversalLink = `/requeststates/${reversalStateId}`;
  subject.wallet.on(/GET \/mm\/responses\/018f4a54-.*/, json(200, { link: reversalLink }));
  return subject;
}

/** Another connector in front of another wallet for each test. */
export function gsmaOfEachTest(...options: Parameters<typeof startGsma>): FaultySubject {
  let subject: FaultySubject | undefined;
  beforeEach(async () => {
    subject = await startGsma(...options);
  });
  afterEach(() => subject?.close());
  return standIn(() => {
    if (subject === undefined) throw new Error('no test has begun');
    return subject;
  });
}
