import { beforeAll, describe, expect, test } from '@jest/globals';
import { accessRules } from '../../../src/dashboard/access/access-rules.ts';
import { ApiKeyService } from '../../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { MerchantWalletService } from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment, PaymentType } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { RefundService } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';
import type { DashboardVisitor } from '../../support/dashboard-visitor.ts';
import { registration } from '../../support/order-requests.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { outcomes, sharedPaymentDesk } from '../core/payment-desk.ts';
import { sharedDashboardDesk } from './dashboard-desk.ts';

const stack = sharedStack({ facades: 0, dashboards: 1, webhooks: 1 });
const desk = sharedDashboardDesk(stack);
const payments = sharedPaymentDesk(stack);

const environment = Environment.SANDBOX;
let shop: { readonly merchantId: string; readonly owner: DashboardVisitor };
let other: { readonly merchantId: string; readonly owner: DashboardVisitor };
/** Ids of the shop's sandbox, by their names in routes. */
let ids: Readonly<Record<string, string>>;

beforeAll(async () => {
  const open = async () => {
    const { id: merchantId } = await stack.createMerchant();
    return { merchantId, owner: await desk.signedIn(await desk.users.member(merchantId)) };
  };
  [shop, other] = [await open(), await open()];
  const { merchantId, owner } = shop;
  const at = (path: string): string => `/m/${merchantId}/sandbox/${path}`;
  const payment = await payments.startDirect({ merchantId, orderNumber: 'F-1' });
  await payments.settle(payment, outcomes.completed('t-1'));
  const link = await payments.orders.registerOrder(
    registration({ merchantId, orderNumber: 'F-2', paymentType: PaymentType.LINK }),
  );
  const order = { case: 'orderId' as const, value: payment.orderId };
  const { refund } = await stack
    .client(RefundService, 'writer')
    .createRefund({ merchantId, environment, order, refundNumber: 'F-1', amount: '1.00', reason: 'x' });
  const { apiKeys } = await stack.client(ApiKeyService, 'operator').listApiKeys({ merchantId });
  await owner.post(at('webhooks/endpoints'), { url: 'https://shop.example/hooks', description: '' });
  const { webhookEndpoints } = await stack
    .webhookEndpointClient('operator')
    .listWebhookEndpoints({ merchantId, environment });
  const endpointId = webhookEndpoints[0]?.webhookEndpointId ?? '';
  const tested = await owner.post(at(`webhooks/endpoints/${endpointId}/test`));
  await owner.post(at('wallets/walleta/accounts'), {
    'secret-complete': 'yes',
    'value.client_id': 'shoes-and-co',
    'secret.client_secret': 'a client secret',
  });
  const { wallets } = await stack
    .client(MerchantWalletService, 'operator')
    .listMerchantWallets({ merchantId, environment });
  ids = {
    orderId: payment.orderId,
    linkId: link.order?.orderId ?? '',
    refundId: refund?.refundId ?? '',
    keyId: apiKeys.find((key) => key.environment === environment)?.apiKeyId ?? '',
    endpointId,
    deliveryId: tested.headers.get('location')?.split('/').at(-1) ?? '',
    accountId: wallets[0]?.accounts[0]?.walletAccountId ?? '',
    wallet: 'walleta',
  };
});

/** Fields that satisfy every form, so that only the id can be the reason for a refusal. */
const fields = { overlap: 'hour', refunds: 'yes', reason: 'x', url: 'https://shop.example/x', seen: 'x' };

/** These read no data by the id: one redirects to itself with a number, and one says that no refund is open. */
const withoutRead = [
  'GET /m/:merchantId/:environment/orders/:orderId/refund',
  'GET /m/:merchantId/:environment/orders/:orderId/state',
];
const routes = Object.keys(accessRules).filter(
  (name) =>
    /^\w+ \/m\/:merchantId\/:environment\/.*:(?:order|refund|key|endpoint|delivery|account)Id/.test(name) &&
    !withoutRead.includes(name),
);

test('every id that the tests use exists', () => {
  expect(Object.entries(ids).filter(([, id]) => id === '')).toEqual([]);
});

describe.each(routes)('%s', (name) => {
  const [method, route = ''] = name.split(' ');
  const send = async (visitor: DashboardVisitor, merchantId: string, environmentName: string) => {
    const path = route
      .replace('links/:orderId', 'links/:linkId')
      .replace(':merchantId', merchantId)
      .replace(':environment', environmentName)
      .replace(/:(\w+)/g, (_match, key: string) => ids[key] ?? '');
    return (await (method === 'GET' ? visitor.get(path) : visitor.post(path, fields))).status;
  };

  // A form would change data that the other tests need.
  if (method === 'GET')
    test('finds an id of its own merchant and environment', async () => {
      expect(await send(shop.owner, shop.merchantId, 'sandbox')).toBe(200);
    });

  test('finds no id of another merchant', async () => {
    expect(await send(other.owner, other.merchantId, 'sandbox')).toBe(404);
  });

  test('finds no id of the sandbox in production', async () => {
    expect(await send(shop.owner, shop.merchantId, 'production')).toBe(404);
  });
});
