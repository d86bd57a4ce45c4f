import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startInline } from '../support/inline-process.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { startStack } from '../support/stack.ts';
import type { Stack, TestMerchant } from '../support/stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { certificate, credentials, securityKey } from '../integration/wallets/mpesa-subject.ts';

// M-Pesa's outcome comes by callbacks: the notes and the replaced references must survive the way through core.

let simulator: GatehouseProcess;
let stack: Stack;
let merchant: TestMerchant;

const secret = (name: string) => ({ secret: name });
const walletOf = (id: string, connector: string, currency: string) => ({
  id,
  names: { en: id, am: id },
  connector,
  channels: ['ussd'],
  currencies: [{ code: currency, decimals: 0 }],
  reconcile: false,
  environments: {
    sandbox: {
      settings: {
        ...credentials,
        base_url: `${String(simulator.ready['origin'])}/${id}`,
        certificate_pem: certificate,
        consumer_secret: secret('MPESA_CONSUMER_SECRET'),
        passkey: secret('MPESA_PASSKEY'),
        initiator_password: secret('MPESA_INITIATOR_PASSWORD'),
      },
      call_timeout_ms: 1_000,
    },
  },
});

beforeAll(async () => {
  simulator = await startInline('wallet-simulator', {
    GATEHOUSE_SIMULATOR_PORT: '0',
    GATEHOUSE_SIMULATOR_TIME_SCALE: '0.02',
    GATEHOUSE_SIMULATOR_CREDENTIALS: JSON.stringify({
      mpesa: { protocol: 'mpesa-daraja', ...credentials, security_key: securityKey },
      mpesaet: { protocol: 'mpesa-ethiopia', ...credentials, security_key: securityKey },
    }),
  });
  stack = await startStack({
    wallets: 1,
    settings: {
      GATEHOUSE_WALLETS: JSON.stringify({
        wallets: [walletOf('mpesa', 'mpesa-daraja', 'KES'), walletOf('mpesaet', 'mpesa-ethiopia', 'ETB')],
      }),
      GATEHOUSE_CURRENCIES: 'ETB,KES',
      MPESA_CONSUMER_SECRET: credentials.consumer_secret,
      MPESA_PASSKEY: credentials.passkey,
      MPESA_INITIATOR_PASSWORD: credentials.initiator_password,
    },
  });
  merchant = await stack.createMerchant();
});

afterAll(async () => {
  await stack.stop();
  await simulator.stop();
});

const post = (path: string, body: object): Promise<Response> =>
  fetch(`${stack.facades[0]?.sandbox}${path}`, {
    method: 'POST',
    headers: { apiKey: merchant.testKey, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

async function chargesTo(payer: string): Promise<readonly { readonly amount: string }[]> {
  const origin = String(simulator.ready['origin']);
  const response = await fetch(`${origin}/simulator/charges?payer=${encodeURIComponent(payer)}`);
  return ((await response.json()) as { charges: { amount: string }[] }).charges;
}

test.each([
  ['mpesa', '00', 'is paid', 'COMPLETED'],
  ['mpesa', '03', 'is cancelled by the payer', 'FAILED'],
  ['mpesa', '14', 'is paid, and the answer to its request is lost', 'COMPLETED'],
  ['mpesaet', '00', 'is paid', 'COMPLETED'],
  ['mpesaet', '03', 'is cancelled by the payer', 'FAILED'],
  ['mpesaet', '14', 'is paid, and the answer to its request is lost', 'COMPLETED'],
] as const)('a payment at %s of payer %s %s', async (wallet, row, _what, status) => {
  const [country, currency] = wallet === 'mpesa' ? ['254', 'KES'] : ['251', 'ETB'];
  const order = {
    order_number: `${wallet}-${row}`,
    amount: '100',
    currency,
    phone: `+${country}7000000${row}`,
  };

  const response = await post(`/api/v1/direct?payment_option=${wallet}_ussd`, order);
  const verified = await waitUntil('the order has ended', async () => {
    const { data } = (await (await post('/api/v1/verify', { order_number: order.order_number })).json()) as {
      data: { status: string; deducted: string };
    };
    return data.status === 'PENDING' ? undefined : data;
  });

  expect(response.status).toBe(201);
  expect(verified.status).toBe(status);
  expect(await chargesTo(order.phone)).toHaveLength(status === 'COMPLETED' ? 1 : 0);
});
