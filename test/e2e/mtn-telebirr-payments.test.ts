import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { settings as mtnSettings } from '../integration/wallets/mtn-momo-subject.ts';
import {
  settings as telebirrSettings,
  simulatorCredentials,
} from '../integration/wallets/telebirr-subject.ts';
import { createCustomer } from '../support/customer.ts';
import { startInline } from '../support/inline-process.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { startStack } from '../support/stack.ts';
import type { Stack, TestMerchant } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';

// A lost request at MTN is looked up by its X-Reference-Id. At telebirr the payer pays on the wallet's page, whose link must
// survive the way from the connector to checkout.

let simulator: GatehouseProcess;
let stack: Stack;
let merchant: TestMerchant;

beforeAll(async () => {
  const { base_url: _url, ...mtn } = mtnSettings('');
  simulator = await startInline('wallet-simulator', {
    GATEHOUSE_SIMULATOR_PORT: '0',
    GATEHOUSE_SIMULATOR_TIME_SCALE: '0.02',
    GATEHOUSE_SIMULATOR_CREDENTIALS: JSON.stringify({
      mtn: { protocol: 'mtn-momo', ...mtn },
      telebirr: simulatorCredentials,
    }),
  });
  const origin = String(simulator.ready['origin']);
  const secret = (name: string) => ({ secret: name });
  const walletOf = (id: string, connector: string, channel: string, currency: string, settings: object) => ({
    id,
    names: { en: id, am: id },
    connector,
    channels: [channel],
    currencies: [{ code: currency }],
    reconcile: false,
    environments: { sandbox: { settings, call_timeout_ms: 1_000 } },
  });
  const telebirr = telebirrSettings(origin);
  stack = await startStack({
    wallets: 1,
    checkouts: 1,
    settings: {
      GATEHOUSE_WALLETS: JSON.stringify({
        wallets: [
          walletOf('mtn', 'mtn-momo', 'ussd', 'EUR', {
            ...mtnSettings(`${origin}/mtn`),
            collection_subscription_key: secret('MTN_COLLECTION_KEY'),
            collection_api_key: secret('MTN_COLLECTION_API_KEY'),
            disbursement_subscription_key: secret('MTN_DISBURSEMENT_KEY'),
            disbursement_api_key: secret('MTN_DISBURSEMENT_API_KEY'),
          }),
          walletOf('telebirr', 'telebirr', 'wallet', 'ETB', {
            ...telebirr,
            app_secret: secret('TELEBIRR_APP_SECRET'),
            private_key: secret('TELEBIRR_PRIVATE_KEY'),
          }),
        ],
      }),
      GATEHOUSE_CURRENCIES: 'ETB,EUR',
      MTN_COLLECTION_KEY: mtn.collection_subscription_key,
      MTN_COLLECTION_API_KEY: mtn.collection_api_key,
      MTN_DISBURSEMENT_KEY: String(mtn.disbursement_subscription_key),
      MTN_DISBURSEMENT_API_KEY: String(mtn.disbursement_api_key),
      TELEBIRR_APP_SECRET: telebirr.app_secret,
      TELEBIRR_PRIVATE_KEY: telebirr.private_key,
    },
  });
  merchant = await stack.createMerchant();
});

afterAll(async () => {
  await stack.stop();
  await simulator.stop();
});

async function post(path: string, body: object): Promise<{ readonly status: number; readonly data: Answer }> {
  const response = await fetch(`${stack.facades[0]?.sandbox}/api/v1/${path}`, {
    method: 'POST',
    headers: { apiKey: merchant.testKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { data = {} } = (await response.json()) as { data?: Answer };
  return { status: response.status, data };
}

interface Answer {
  readonly status?: string;
  readonly checkout_url?: string;
}

const ended = (orderNumber: string): Promise<string> =>
  waitUntil('the order has ended', async () => {
    const { status = 'PENDING' } = (await post('verify', { order_number: orderNumber })).data;
    return status === 'PENDING' ? undefined : status;
  });

async function chargesTo(payer: string): Promise<number> {
  const origin = String(simulator.ready['origin']);
  const response = await fetch(`${origin}/simulator/charges?payer=${encodeURIComponent(payer)}`);
  return ((await response.json()) as { charges: unknown[] }).charges.length;
}

test.each([
  ['00', 'is paid', 'COMPLETED'],
  ['03', 'is cancelled by the payer', 'FAILED'],
  ['14', 'is paid, and the answer to its request is lost', 'COMPLETED'],
  ['17', 'is paid despite an error', 'COMPLETED'],
] as const)('a payment at MTN of payer %s %s', async (row, _what, status) => {
  const order = { order_number: `mtn-${row}`, amount: '5.00', currency: 'EUR', phone: `+2567700000${row}` };

  const { status: accepted } = await post('direct?payment_option=mtn_ussd', order);

  expect(accepted).toBe(201);
  expect(await ended(order.order_number)).toBe(status);
  expect(await chargesTo(order.phone)).toBe(status === 'COMPLETED' ? 1 : 0);
});

test.each([
  ['00', 'and telebirr notifies'],
  ['10', 'and the notification is lost'],
])('a payment on telebirr’s page by payer %s is completed, %s', async (row) => {
  const orderNumber = `telebirr-${row}`;
  const { data } = await post('register', {
    order_number: orderNumber,
    amount: '150.00',
    currency: 'ETB',
    reason: 'Coffee beans',
    customer_phone: '+251911223344',
    return_url: 'https://shop.example/thanks',
  });
  const { pathname } = new URL(String(data.checkout_url));
  const customer = createCustomer();
  const checkout = `${stack.checkouts[0]?.origin}${pathname}`;
  await customer.get(checkout);
  await customer.post(checkout, { payment_option: 'telebirr_wallet', phone: '0911223344' });
  const link = await waitUntil('checkout has the link', async () => {
    const { body } = await customer.get(checkout);
    return /href="([^"]*\/payment\/web\/paygate[^"]*)"/.exec(body)?.[1]?.replaceAll('&amp;', '&');
  });

  const page = await fetch(link);
  await fetch(page.url, {
    method: 'POST',
    body: new URLSearchParams({ phone: `09100000${row}`, action: 'pay' }),
  });

  expect(await ended(orderNumber)).toBe('COMPLETED');
  expect(await chargesTo(`2519100000${row}`)).toBe(1);
});
