import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { ApiKeyScope, ApiKeyService } from '../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import type { ReceivedWebhook } from '../integration/webhooks/receivers.ts';
import { checkOutPreviousRelease, whyNoPreviousRelease } from '../support/previous-release.ts';
import type { CheckedOut } from '../support/previous-release.ts';
import { waitUntil } from '../support/wait-until.ts';
import { openCommandLine } from './cli-harness.ts';
import {
  directPath,
  directPayment,
  newOrderNumber,
  registration,
  startMerchantApi,
} from './merchant-api-harness.ts';
import type { Answer, MerchantApi, Shop } from './merchant-api-harness.ts';

/*
 * During an upgrade, processes of the previous release work beside those of this one. The database has the schema of this one,
 * because the first new core migrates it.
 */

const obstacle = whyNoPreviousRelease();
const skewed = obstacle === undefined ? test : test.skip;
const because = obstacle === undefined ? '' : ` (not tested: ${obstacle})`;

let previous: CheckedOut | undefined;
afterAll(() => previous?.remove());

const dataOf = ({ json }: Answer) => json['data'] as Readonly<Record<string, string>>;

/** What a merchant does from the registration to the refund, with each kind of process involved. */
async function tradeAt(api: MerchantApi): Promise<void> {
  const { stack } = api;
  const shop = await shopThatRefunds(api);
  const { merchantId } = shop;
  const { secret } = await stack
    .webhookClient('operator')
    .rotateSigningSecret({ merchantId, environment: Environment.SANDBOX });
  const receiver = await startReceiver();
  try {
    const order = registration({ webhook_url: `${receiver.origin}/hook` });
    const { order_number } = order;
    const key = { headers: { 'idempotency-key': randomUUID() } };
    const registered = await api.post(shop, '/api/v1/register', order, key);
    expect(registered.status).toBe(201);
    expect((await api.post(shop, '/api/v1/register', order, key)).text).toBe(registered.text);
    const asked = await api.post(shop, '/api/v1/verify', { order_number });
    expect(dataOf(asked)['status']).toBe('PENDING');
    const checkout = new URL(dataOf(registered)['checkout_url'] ?? '');
    const page = await fetch(`${stack.checkouts[0]?.origin ?? ''}${checkout.pathname}`);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('100.50')]);
    expect((await fetch(`${stack.dashboards[0]?.origin ?? ''}/sign-in`)).status).toBe(200);

    const payment = directPayment({ order_number });
    expect((await api.post(shop, directPath, payment)).status).toBe(201);
    await waitUntil('the payment is completed', async () => {
      const waited = await api.post(
        shop,
        '/api/v1/verify',
        { order_number },
        { headers: { prefer: 'wait=5' } },
      );
      return dataOf(waited)['status'] === 'COMPLETED';
    });
    const refund = { order_number, refund_number: newOrderNumber(), amount: '40', reason: 'Shoes came back' };
    expect((await api.post(shop, '/api/v1/refund', refund)).status).toBe(201);
    await waitUntil('the refund is completed', async () => {
      const told = await api.post(shop, '/api/v1/refund/verify', { refund_number: refund.refund_number });
      return dataOf(told)['status'] === 'COMPLETED';
    });
    await waitUntil('both webhooks have arrived', () => receiver.webhooks.length >= 2);
    expect(receiver.webhooks.map((webhook) => typeOf(webhook, secret))).toEqual([
      'order.completed',
      'refund.completed',
    ]);
  } finally {
    await receiver.close();
  }
}

/** What the command line of this version says of the decisions that the core made. */
async function rehearse({ stack }: MerchantApi): Promise<unknown> {
  const cli = await openCommandLine({
    GATEHOUSE_CORE_ADDRESSES: stack.addresses.join(','),
    GATEHOUSE_SERVICE_TOKEN: stack.tokens.reader,
  });
  try {
    // Another test's transaction may hold back the latest of five events.
    return await waitUntil('all events are listed', async () => {
      const { summary } = (await cli.json('rehearse')) as { summary: { event_count: number } };
      return summary.event_count === 5 && summary;
    });
  } finally {
    await cli.stop();
  }
}

async function shopThatRefunds(api: MerchantApi): Promise<Shop> {
  const shop = await api.newShop();
  const { merchantId } = shop;
  const keys = api.stack.client(ApiKeyService, 'operator');
  const { apiKeys } = await keys.listApiKeys({ merchantId });
  for (const { apiKeyId, environment } of apiKeys)
    if (environment === Environment.SANDBOX)
      await keys.setApiKeyScopes({ merchantId, apiKeyId, scopes: [ApiKeyScope.REFUNDS] });
  return shop;
}

/** The type in the body of a webhook whose signature is right. */
function typeOf({ headers, body }: ReceivedWebhook, secret: string): unknown {
  const event = new Webhook(secret).verify(body, {
    'webhook-id': String(headers['webhook-id']),
    'webhook-timestamp': String(headers['webhook-timestamp']),
    'webhook-signature': String(headers['webhook-signature']),
  });
  return (event as Readonly<Record<string, unknown>>)['type'];
}

skewed.each([
  ['core', ['core']],
  ['the REST facade, the checkout and the dashboard', ['rest-facade', 'checkout', 'dashboard']],
  ['wallets and webhooks', ['wallets', 'webhooks']],
])(`%s of the previous release trades beside the rest of this one${because}`, async (_, processes) => {
  previous ??= checkOutPreviousRelease();
  const { folder } = previous;
  const api = await startMerchantApi({
    wallets: 1,
    checkouts: 1,
    dashboards: 1,
    webhooks: 1,
    previous: { folder, processes },
  });
  try {
    await tradeAt(api);
    // The events of a release that records no decisions tell their commands here.
    const derived = processes.includes('core') ? 2 : 0;
    expect(await rehearse(api)).toMatchObject({
      ...{ order_count: 1, difference_count: 0, derived_count: derived, unknown_command_count: 0 },
    });
  } finally {
    await api.stop();
  }
});
