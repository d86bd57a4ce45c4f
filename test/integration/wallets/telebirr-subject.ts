import { lookup } from 'node:dns';
import { SharedTokens } from '../../../src/wallets/connector/access-tokens.ts';
import type { PaymentRequest, WalletConnector } from '../../../src/wallets/connector/wallet-connector.ts';
import { telebirrId } from '../../../src/wallets/telebirr/telebirr-id.ts';
import { readPrivateKey, signMessage } from '../../../src/wallets/telebirr/signature.ts';
import { telebirr } from '../../../src/wallets/telebirr/telebirr.ts';
import { startFaultySubject } from './faulty-subject.ts';
import type { FaultySubject } from './faulty-subject.ts';
import { attemptId, buildPayment } from './gsma-subject.ts';
import { secretVariables } from './secret-variables.ts';
import { newRsaKeys } from '../../support/rsa-keys.ts';

export const merchantKeys = newRsaKeys();
export const telebirrKeys = newRsaKeys();

/** As Ethio telecom issues a key: the base 64 of its DER form on one line. */
const bare = (pem: string): string => pem.replace(/-----[^-]+-----|\s/g, '');

/** The settings for a `wallets` process, and the secrets as variables of its environment. */
export const telebirrOfProcess = (baseUrl: string) =>
  secretVariables('TELEBIRR', settings(baseUrl), ['app_secret', 'private_key']);

const create = await telebirr.load();
type TelebirrSettings = Parameters<typeof create>[0];

export const settings = (origin: string, over: Partial<TelebirrSettings> = {}): TelebirrSettings => ({
  base_url: `${origin}/telebirr/apiaccess/payment/gateway`,
  checkout_url: `${origin}/telebirr/payment/web/paygate?`,
  fabric_app_id: 'c4182ef8-9249-458a-985e-06d191f4d505',
  app_secret: 'the-app-secret',
  merchant_app_id: '1234567890123456',
  merchant_code: '000123',
  private_key: bare(merchantKeys.privateKey),
  telebirr_public_key: telebirrKeys.publicKey,
  ...over,
});

/** The simulator's settings of the same merchant. */
export const simulatorCredentials = {
  protocol: 'telebirr',
  fabric_app_id: 'c4182ef8-9249-458a-985e-06d191f4d505',
  app_secret: 'the-app-secret',
  merchant_app_id: '1234567890123456',
  merchant_code: '000123',
  merchant_public_key: bare(merchantKeys.publicKey),
  telebirr_private_key: telebirrKeys.privateKey,
};

export const createTelebirr = (
  given: TelebirrSettings,
  callbackBaseUrl: string,
  now: () => Date = () => new Date(),
): WalletConnector =>
  create(given, {
    callbackBaseUrl: () => callbackBaseUrl,
    currencies: ['ETB'],
    timeouts: { connectMs: 5_000, callMs: 20_000 },
    lookup,
    maxConnections: 8,
    sharedTokens: new SharedTokens(),
    now,
  });

export const payment = (over: Partial<PaymentRequest> = {}): PaymentRequest =>
  buildPayment({ channel: 'wallet_app', ...over });

export const reversalId = '018f4a54-9b61-7cc1-9a5e-5b1f4b5d2a01';

const path = '/telebirr/apiaccess/payment/gateway/payment/v1';
export const routes = {
  token: new RegExp(`POST ${path}/token`),
  preOrder: new RegExp(`POST ${path}/merchant/preOrder`),
  queryOrder: new RegExp(`POST ${path}/merchant/queryOrder`),
  refund: new RegExp(`POST ${path}/merchant/refund`),
};

/** A signed answer, like those of telebirr. */
export function success(content: object) {
  const message = { result: 'SUCCESS', code: '0', msg: 'success', nonce_str: 'n', biz_content: content };
  const sign = signMessage(message, readPrivateKey(telebirrKeys.privateKey), 'pss');
  return { ...message, sign, sign_type: 'SHA256WithRSA' };
}

export const order = (over: object = {}) =>
  success({
    merch_order_id: telebirrId(attemptId),
    order_status: 'PAY_SUCCESS',
    payment_order_id: '8011',
    trans_id: 'CKA1B2C3D4',
    trans_time: '2026-01-01 11:00:00',
    trans_currency: 'ETB',
    total_amount: '100.50',
    ...over,
  });

export const token = {
  token: 'Bearer the-access-token',
  effectiveDate: '20260101110000',
  expirationDate: '20260101120000',
};

/** A connector in front of a server that gives the good answer everywhere until the test changes that. */
export function startTelebirr(
  over: Partial<TelebirrSettings> = {},
  now: () => Date = () => new Date(),
): Promise<FaultySubject> {
  const merch_order_id = telebirrId(attemptId);
  const good = (body: unknown) => ({ status: 200, body });
  const found = { route: routes.queryOrder, good: good(order()) };
  const refunding = { merch_order_id, refund_status: 'REFUNDING', refund_order_id: 'R1' };
  return startFaultySubject(
    {
      routes: {
        initiate: {
          route: routes.preOrder,
          good: good(success({ merch_order_id, prepay_id: 'the-prepay-id' })),
        },
        query: found,
        recover: found,
        queryReversal: found,
        reverse: { route: routes.refund, good: good(success(refunding)) },
        statement: { route: /GET \/none/, good: good([]) },
        health: { route: routes.token, good: good(token) },
      },
      secrets: ['the-app-secret', 'the-access-token', bare(merchantKeys.privateKey)],
      payment: payment(),
      references: { payment: merch_order_id, reversal: 'refund/R1', transaction: 'CKA1B2C3D4' },
    },
    (origin) =>
      createTelebirr(settings(origin, over), 'https://gatehouse.example/callbacks/telebirr-sandbox', now),
  );
}
