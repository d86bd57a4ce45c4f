import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { noMerchantId } from '../../src/contract/public-id.ts';
import {
  PayerPaymentService,
  PayerPaymentStatus,
} from '../../src/gen/gatehouse/v1/payer_payment_service_pb.js';
import type { PayerPayment } from '../../src/gen/gatehouse/v1/payer_payment_service_pb.js';
import {
  StrayPaymentKind,
  StrayPaymentService,
  StrayPaymentStatus,
} from '../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { WalletStatusService, WalletWorkKind } from '../../src/gen/gatehouse/v1/wallet_status_service_pb.js';
import { createCallbackTokens } from '../../src/wallets/callback-token.ts';
import { withoutRefusedWords } from '../../src/wallets/mpesa-daraja/callback-url.ts';
import { payerStartedUrls } from '../../src/wallets/payer-started.ts';
import { credentials, mpesaOfProcess, sharedMpesaSimulator } from '../integration/wallets/mpesa-subject.ts';
import { callSandbox } from '../support/sandbox-calls.ts';
import { waitUntil } from '../support/wait-until.ts';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import { shared, sharedClient, sharedMerchant, sharedStack } from '../support/shared-stack.ts';
import { postJson } from '../support/post-json.ts';

const callbackKey = randomBytes(32);
const simulator = sharedMpesaSimulator();
const { variables } = mpesaOfProcess('');
const receiver = shared(() => startReceiver());

const countries = {
  mpesa: {
    ...{ connector: 'mpesa-daraja', currency: 'KES', code: '254', token: '/oauth/v1/generate' },
    ...{ simulate: '/mpesa/c2b/v2/simulate', register: '/mpesa/c2b/v2/registerurl' },
  },
  mpesaet: {
    ...{ connector: 'mpesa-ethiopia', currency: 'ETB', code: '251', token: '/v1/token/generate' },
    simulate: '/mpesa/b2c/simulatetransaction/v1/request',
    register: '/v1/c2b-register-url/register',
  },
} as const;
type Wallet = keyof typeof countries;

const walletOf = (id: Wallet) => {
  const { settings } = mpesaOfProcess(`${String(simulator.ready['origin'])}/${id}`);
  const { connector, currency } = countries[id];
  return {
    ...{ id, connector, names: { en: id, am: id }, channels: ['ussd'] },
    currencies: [{ code: currency, decimals: 0 }],
    environments: { sandbox: { settings, call_timeout_ms: 1_000, payer_started: {} } },
  };
};

// core/payer-payments.test.ts has each decision about such money, and wallets/payer-started-mpesa.test.ts each answer to a message.

const stack = sharedStack({
  wallets: 1,
  webhooks: 1,
  settings: {
    get GATEHOUSE_WALLETS() {
      return JSON.stringify({ wallets: [walletOf('mpesa'), walletOf('mpesaet')] });
    },
    GATEHOUSE_CURRENCIES: 'ETB,KES',
    GATEHOUSE_WALLET_CALLBACK_KEY: callbackKey.toString('hex'),
    ...variables,
  },
});
const merchant = sharedMerchant(stack, { signsWebhooks: true });
const payers = sharedClient(stack, PayerPaymentService, 'operator');
const strays = sharedClient(stack, StrayPaymentService, 'operator');

const ourUrls = (wallet: Wallet) => {
  const name = `${wallet}-sandbox`;
  const base = `${String(stack.wallets[0]?.ready['callbacks'])}/callbacks/${name}`;
  return payerStartedUrls(base, createCallbackTokens(callbackKey, name));
};

async function post(wallet: Wallet, path: string, body: object): Promise<Response> {
  const base = `${String(simulator.ready['origin'])}/${wallet}`;
  const basic = Buffer.from(`${credentials.consumer_key}:${credentials.consumer_secret}`).toString('base64');
  const answer = await fetch(`${base}${countries[wallet].token}?grant_type=client_credentials`, {
    headers: { authorization: `Basic ${basic}` },
  });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  return postJson(`${base}${path}`, body, { authorization: `Bearer ${token}` });
}

/** Registers our URLs, as in the provider's portal. Without validation, the wallet only reports. */
async function register(wallet: Wallet, withValidation: boolean): Promise<void> {
  const { validation, confirmation } = ourUrls(wallet);
  const registered = await post(wallet, countries[wallet].register, {
    ShortCode: credentials.short_code,
    ResponseType: withValidation ? 'Cancelled' : 'Completed',
    CommandID: 'RegisterURL',
    ConfirmationURL: withoutRefusedWords(confirmation),
    ValidationURL: withValidation ? withoutRefusedWords(validation) : 'http://127.0.0.1:1/nobody',
  });
  expect(registered.status).toBe(200);
}

/** A payer pays in the menu of the phone. */
async function payInMenu(wallet: Wallet, reference: string, amount: string): Promise<void> {
  const response = await post(wallet, countries[wallet].simulate, {
    ShortCode: credentials.short_code,
    CommandID: 'CustomerPayBillOnline',
    Amount: amount,
    Msisdn: `${countries[wallet].code}700000000`,
    BillRefNumber: reference,
  });
  expect(response.status).toBe(200);
}

const callApi = (path: string, body: object) => callSandbox(stack, merchant, path, body);

async function registerOrder(wallet: Wallet, orderNumber: string): Promise<void> {
  const registered = await callApi('register', {
    order_number: orderNumber,
    amount: '250',
    currency: countries[wallet].currency,
    payment_type: 'API',
    customer_phone: `+${countries[wallet].code}711111111`,
    reason: 'shoes',
    webhook_url: `${receiver.origin}/`,
    return_url: 'https://shop.example/thanks',
  });
  expect(registered.status).toBe(201);
}

const verify = async (orderNumber: string) => (await callApi('verify', { order_number: orderNumber })).data;

/** The payments with this reference, after one of them has reached this status. */
const paymentOf = (reference: string, status: PayerPaymentStatus): Promise<PayerPayment> =>
  waitUntil(`the payment ${reference} is ${PayerPaymentStatus[status]}`, async () => {
    const { payerPayments } = await payers.listPayerPayments({ pageSize: 500 });
    return payerPayments.find((payment) => payment.reference === reference && payment.status === status);
  });

const reversed = (strayPaymentId: string) =>
  waitUntil('the stray payment is reversed', async () => {
    const { strayPayments } = await strays.listStrayPayments({ pageSize: 500 });
    return strayPayments.find(
      (stray) => stray.strayPaymentId === strayPaymentId && stray.status === StrayPaymentStatus.REVERSED,
    );
  });

const confirmation = (receipt: string, reference: string) => ({
  TransactionType: 'Pay Bill',
  TransID: receipt,
  TransTime: '20261122120000',
  TransAmount: '250.00',
  BusinessShortCode: credentials.short_code,
  BillRefNumber: reference,
  MSISDN: '2547 ***** 001',
});

const send = (url: string, body: object): Promise<Response> =>
  fetch(url, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });

describe.each(['mpesa', 'mpesaet'] as const)('at %s', (wallet) => {
  const number = (text: string): string => `${wallet.toUpperCase()}-${text}`;

  test('an order that its payer pays at the paybill is COMPLETED, and its webhook is sent', async () => {
    await register(wallet, true);
    await registerOrder(wallet, number('PAID'));

    // Phones change the capitals of a reference.
    await payInMenu(wallet, number('PAID').toLowerCase(), '250');
    await waitUntil(
      'the order is paid',
      async () => (await verify(number('PAID')))['status'] === 'COMPLETED',
    );
    const payment = await paymentOf(number('PAID').toLowerCase(), PayerPaymentStatus.ORDER_PAID);

    expect(await verify(number('PAID'))).toMatchObject({
      deducted: '250.00',
      payment_option: `${wallet}_ussd`,
    });
    expect(payment).toMatchObject({ amount: '250', merchantId: merchant.id });
    await waitUntil('the webhook arrives', () =>
      receiver.webhooks.some(({ body }) => body.includes(`"order_number":"${number('PAID')}"`)),
    );
    // The same confirmation again is the same payment.
    const repeated = await send(
      ourUrls(wallet).confirmation,
      confirmation(payment.providerTransactionId, number('PAID')),
    );
    expect(repeated.status).toBe(200);
    const { payerPayments } = await payers.listPayerPayments({ wallet, pageSize: 500 });
    const same = payerPayments.filter(
      ({ providerTransactionId }) => providerTransactionId === payment.providerTransactionId,
    );
    expect(same).toMatchObject([{ status: PayerPaymentStatus.ORDER_PAID }]);
  });

  test('without validation, money for no order is a stray payment of no merchant, and is reversed', async () => {
    await register(wallet, false);

    await payInMenu(wallet, number('NONSENSE'), '70');
    const payment = await paymentOf(number('NONSENSE'), PayerPaymentStatus.STRAY);

    expect(await reversed(payment.strayPaymentId)).toMatchObject({
      ...{ merchantId: noMerchantId, orderId: '', paymentAttemptId: '' },
      ...{ kind: StrayPaymentKind.NO_ORDER, amount: '70' },
      providerTransactionId: payment.providerTransactionId,
    });
  });

  test('a forged confirmation of a transaction that does not exist changes nothing', async () => {
    await registerOrder(wallet, number('FORGED'));

    const answer = await send(ourUrls(wallet).confirmation, confirmation('FORGED1234', number('FORGED')));
    const payment = await waitUntil('the wallet was asked', async () => {
      const { payerPayments } = await payers.listPayerPayments({ wallet, pageSize: 500 });
      return payerPayments.find(({ reference, detail }) => reference === number('FORGED') && detail !== '');
    });

    expect(answer.status).toBe(200);
    expect(payment).toMatchObject({ status: PayerPaymentStatus.OPEN, orderId: '', strayPaymentId: '' });
    expect((await verify(number('FORGED')))['status']).toBe('PENDING');
  });

  test('a message with a wrong token is rejected', async () => {
    const { validation, confirmation: right } = ourUrls(wallet);

    // Each kind of message has its own token.
    const crossed = right.replace('/confirmation/', '/validation/');
    expect((await send(crossed, confirmation('CROSSED123', number('PAID')))).status).toBe(404);
    expect((await send(`${validation}x`, confirmation('CROSSED123', number('PAID')))).status).toBe(404);
  });
});

test('the confirmations of payer-started payments have a limit of their own in the status of the wallet', async () => {
  const statuses = stack.client(WalletStatusService, 'reader');

  const status = await waitUntil('the wallet is reported', async () => {
    const reported = await statuses.listWalletStatuses({});
    return reported.statuses.find((each) => each.status?.wallet === 'mpesa')?.status;
  });

  expect(status.work.map(({ kind, maxInFlight }) => [WalletWorkKind[kind], maxInFlight])).toEqual([
    ['PAYMENTS', 32],
    ['REVERSALS', 32],
    ['PAYER_PAYMENTS', 32],
  ]);
  expect(status.places).toBe(96);
});
