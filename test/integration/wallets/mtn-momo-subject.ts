import { lookup } from 'node:dns';
import { SharedTokens } from '../../../src/wallets/connector/access-tokens.ts';
import { mtnMomo } from '../../../src/wallets/mtn-momo/mtn-momo.ts';
import type { MtnMomoSettings } from '../../../src/wallets/mtn-momo/mtn-momo.ts';
import { referenceId } from '../../../src/wallets/mtn-momo/reference-id.ts';
import type { WalletConnector } from '../../../src/wallets/connector/wallet-connector.ts';
import { startFaultySubject } from './faulty-subject.ts';
import type { FaultySubject } from './faulty-subject.ts';
import { buildPayment } from './gsma-subject.ts';
import { json } from './scripted-wallet.ts';
import { secretVariables } from './secret-variables.ts';

export const attemptId = 'pat_01k9z3t5y8e6wbv2n4m7q1h0cd';
export const reversalId = '018f4a54-9b61-7cc1-9a5e-5b1f4b5d2a01';

const secrets = ['the-collection-key', 'the-api-key', 'the-disbursement-key', 'the-other-api-key'];

export const settings = (baseUrl: string, over: Partial<MtnMomoSettings> = {}): MtnMomoSettings => ({
  base_url: baseUrl,
  target_environment: 'sandbox',
  collection_subscription_key: 'the-collection-key',
  collection_api_user: '6f1f6a10-3a1c-4c53-9d5a-4f0f7f6f1c11',
  collection_api_key: 'the-api-key',
  disbursement_subscription_key: 'the-disbursement-key',
  disbursement_api_user: '6f1f6a10-3a1c-4c53-9d5a-4f0f7f6f1c22',
  disbursement_api_key: 'the-other-api-key',
  ...over,
});

/** The settings for a `wallets` process, and the secrets as variables of its environment. */
export const mtnOfProcess = (baseUrl: string) =>
  secretVariables('MTN', settings(baseUrl), [
    ...(['collection_subscription_key', 'collection_api_key'] as const),
    ...(['disbursement_subscription_key', 'disbursement_api_key'] as const),
  ]);

const create = await mtnMomo.load();

export const createMtn = (
  given: MtnMomoSettings,
  callbackBaseUrl: string,
  now: () => Date = () => new Date(),
): WalletConnector =>
  create(given, {
    callbackBaseUrl: () => callbackBaseUrl,
    currencies: ['EUR', 'UGX'],
    timeouts: { connectMs: 5_000, callMs: 20_000 },
    lookup,
    maxConnections: 8,
    sharedTokens: new SharedTokens(),
    now,
  });

export const payment = (over: Parameters<typeof buildPayment>[0] = {}) =>
  buildPayment({ currency: 'EUR', payerPhone: '+256770001122', ...over });

export const token = { access_token: 'the-access-token', token_type: 'access_token', expires_in: 3600 };

export const status = (over: Readonly<Record<string, unknown>> = {}) => ({
  amount: '100.5',
  currency: 'EUR',
  externalId: attemptId,
  payer: { partyIdType: 'MSISDN', partyId: '256770001122' },
  payerMessage: 'Invoice 42',
  payeeNote: 'Invoice 42',
  status: 'PENDING',
  ...over,
});

export const routes = {
  collectionToken: /POST \/momo\/collection\/token\//,
  disbursementToken: /POST \/momo\/disbursement\/token\//,
  initiate: /POST \/momo\/collection\/v1_0\/requesttopay/,
  query: new RegExp(`GET /momo/collection/v1_0/requesttopay/${referenceId(attemptId)}`),
  reverse: /POST \/momo\/disbursement\/v1_0\/refund/,
  queryReversal: new RegExp(`GET /momo/disbursement/v1_0/refund/${referenceId(reversalId)}`),
  balance: /GET \/momo\/collection\/v1_0\/account\/balance/,
};

/** A connector in front of a server that gives the good answer everywhere until the test changes that. */
export async function startMtn(
  over: Partial<MtnMomoSettings> = {},
  now: () => Date = () => new Date(),
): Promise<FaultySubject> {
  const accepted = { status: 202, body: undefined };
  const found = { route: routes.query, good: { status: 200, body: status() } };
  const subject = await startFaultySubject(
    {
      routes: {
        initiate: { route: routes.initiate, good: accepted },
        query: found,
        recover: found,
        reverse: { route: routes.reverse, good: accepted },
        queryReversal: {
          route: routes.queryReversal,
          good: { status: 200, body: status({ externalId: reversalId }) },
        },
        statement: { route: /GET \/none/, good: { status: 200, body: [] } },
        health: {
          route: routes.balance,
          good: { status: 200, body: { availableBalance: '1', currency: 'EUR' } },
        },
      },
      secrets: [...secrets, 'the-access-token'],
      payment: payment(),
      references: {
        payment: `requesttopay/${referenceId(attemptId)}`,
        reversal: `refund/${referenceId(reversalId)}`,
        transaction: '23503452',
      },
    },
    (origin) =>
      createMtn(settings(`${origin}/momo`, over), 'https://gatehouse.example/callbacks/mtn-sandbox', now),
  );
  for (const route of [routes.collectionToken, routes.disbursementToken])
    subject.wallet.on(route, json(200, token));
  return subject;
}
