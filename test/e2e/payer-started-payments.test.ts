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
import { startCuttingProxy } from '../support/cutting-proxy.ts';
import { startProcess } from '../support/gatehouse-process.ts';
import { callSandbox } from '../support/sandbox-calls.ts';
import { waitUntil } from '../support/wait-until.ts';
import { startReceiver } from '../integration/webhooks/receivers.ts';
import { shared, sharedClient, sharedMerchant, sharedStack } from '../support/shared-stack.ts';
import { connectToDatabase } from '../support/database-connections.ts';
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

const ourUrls = (wallet: Wallet, process = stack.wallets[0]) => {
  const name = `${wallet}-sandbox`;
  const base = `${String(process?.ready['callbacks'])}/callbacks/${name}`;
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
async function register(wallet: Wallet, withValidation: boolean, urls = ourUrls(wallet)): Promise<void> {
  const { validation, confirmation } = urls;
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
async function payInMenu(wallet: Wallet, reference: string, amount: string, row = '00'): Promise<void> {
  const response = await post(wallet, countries[wallet].simulate, {
    ShortCode: credentials.short_code,
    CommandID: 'CustomerPayBillOnline',
    Amount: amount,
    Msisdn: `${countries[wallet].code}7000000${row}`,
    BillRefNumber: reference,
  });
  expect(response.status).toBe(200);
}

const callApi = (path: string, body: object) => callSandbox(stack, merchant, path, body);

async function registerOrder(wallet: Wallet, orderNumber: string, amount = '250'): Promise<void> {
  const registered = await callApi('register', {
    order_number: orderNumber,
    amount,
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

/** The prompts on the phones of all payers. */
async function prompts() {
  const response = await fetch(`${String(simulator.ready['origin'])}/simulator/prompts`);
  const shown = (await response.json()) as {
    prompts: {
      merchant_reference: string;
      payer: string;
      amount: string;
      status: string;
      error?: { code: string };
    }[];
  };
  return shown.prompts;
}

/** How the menu's payment ended on the phone. */
const onPhone = (reference: string) =>
  waitUntil(`the payment ${reference} ends on the phone`, async () =>
    (await prompts()).find(
      ({ merchant_reference, status }) => merchant_reference === reference && status !== 'open',
    ),
  );

const reversed = (strayPaymentId: string) =>
  waitUntil('the stray payment is reversed', async () => {
    const { strayPayments } = await strays.listStrayPayments({ pageSize: 500 });
    return strayPayments.find(
      (stray) => stray.strayPaymentId === strayPaymentId && stray.status === StrayPaymentStatus.REVERSED,
    );
  });

const confirmation = (receipt: string, reference: string, amount = '250.00') => ({
  TransactionType: 'Pay Bill',
  TransID: receipt,
  TransTime: '20261122120000',
  TransAmount: amount,
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

  test.each([
    ['an unknown reference', 'NO-SUCH-ORDER', '250', 'C2B00012'],
    ['another amount', 'DEAR', '249', 'C2B00013'],
    ['an order that has ended', 'PAID', '250', 'C2B00016'],
  ])('validation rejects %s, and no money moves', async (_name, reference, amount, code) => {
    await register(wallet, true);
    if (reference === 'DEAR') await registerOrder(wallet, number(reference));

    await payInMenu(wallet, number(reference), amount);

    expect(await onPhone(number(reference))).toMatchObject({ status: 'failed', error: { code } });
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

  test('without validation, another amount is a stray payment of the order, which can still be paid', async () => {
    await register(wallet, false);
    await registerOrder(wallet, number('SHORT'));

    await payInMenu(wallet, number('SHORT'), '10');
    const payment = await paymentOf(number('SHORT'), PayerPaymentStatus.STRAY);
    await reversed(payment.strayPaymentId);
    expect(payment).toMatchObject({ merchantId: merchant.id, paymentAttemptId: '' });
    expect((await verify(number('SHORT')))['status']).toBe('PENDING');

    await payInMenu(wallet, number('SHORT'), '250');
    await waitUntil(
      'the order is paid',
      async () => (await verify(number('SHORT')))['status'] === 'COMPLETED',
    );
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

  test('a prompt of ours is accepted when the wallet asks about it too, with its own amount only', async () => {
    const phone = `+${countries[wallet].code}700000020`;
    const order = {
      order_number: number('ASKED'),
      amount: '77',
      currency: countries[wallet].currency,
      phone,
    };
    await callApi(`direct?payment_option=${wallet}_ussd`, order);
    const { merchant_reference: reference } = await waitUntil('the payer is prompted', async () =>
      (await prompts()).find(({ amount, payer }) => amount === '77' && phone.endsWith(payer)),
    );

    const answers = ['77.00', '78.00'].map(async (amount) =>
      (await send(ourUrls(wallet).validation, confirmation('ASKED12345', reference, amount))).json(),
    );

    expect(await Promise.all(answers)).toMatchObject([{ ResultCode: '0' }, { ResultCode: 'C2B00013' }]);
  });

  test('a payment that we requested is not counted twice when the wallet confirms it too', async () => {
    await register(wallet, true);
    const order = {
      order_number: number('PUSHED'),
      amount: '100',
      currency: countries[wallet].currency,
      phone: `+${countries[wallet].code}700000000`,
    };

    await callApi(`direct?payment_option=${wallet}_ussd`, order);
    await waitUntil(
      'the order is paid',
      async () => (await verify(order.order_number))['status'] === 'COMPLETED',
    );
    const confirmed = async () => {
      const { payerPayments } = await payers.listPayerPayments({ wallet, pageSize: 500 });
      return payerPayments.find(({ amount }) => amount === '100');
    };
    const { payerPaymentId } = await waitUntil('it is confirmed', confirmed);
    const payment = await waitUntil('its confirmation is settled', async () => {
      await payers.hastenPayerPayment({ payerPaymentId });
      const now = await confirmed();
      return now?.status === PayerPaymentStatus.OPEN ? undefined : now;
    });

    expect(payment).toMatchObject({
      ...{ status: PayerPaymentStatus.REQUESTED_PAYMENT, merchantId: merchant.id, strayPaymentId: '' },
      tries: 0,
    });
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

test('after a kill -9 between the record of a confirmation and its answer, the repeat is acknowledged and the money counts once', async () => {
  const reference = 'KILLED-BEFORE-ANSWER';
  const [host = '', port] = stack.addresses[0]?.split(':') ?? [];
  const proxy = await startCuttingProxy({ host, port: Number(port) });
  const database = await connectToDatabase(stack.databaseUrl);
  const { GATEHOUSE_NATS_URL: natsUrl, GATEHOUSE_WALLETS: wallets } = stack.coreSettings;
  const killed = await startProcess('wallets', {
    ...variables,
    GATEHOUSE_CORE_ADDRESSES: `127.0.0.1:${proxy.port}`,
    GATEHOUSE_SERVICE_TOKEN: stack.tokens.wallets,
    GATEHOUSE_NATS_URL: String(natsUrl),
    GATEHOUSE_WALLETS: String(wallets),
    GATEHOUSE_WALLET_CALLBACK_PORT: '0',
    GATEHOUSE_WALLET_CALLBACK_KEY: callbackKey.toString('hex'),
  });
  try {
    await register('mpesa', false, ourUrls('mpesa', killed));
    await registerOrder('mpesa', reference);
    // Core stores the confirmation, and all of its answers are lost.
    proxy.cutAt(reference, 'before the answer');

    await payInMenu('mpesa', reference, '250');
    const stored = 'select provider_transaction_id from core.payer_payments where reference = $1';
    const receipt = await waitUntil('the confirmation is stored', async () => {
      const { rows } = await database.query<{ provider_transaction_id: string }>(stored, [reference]);
      return rows[0]?.provider_transaction_id;
    });
    const notAnswered = killed.log.filter(
      ({ msg }) => msg === 'the confirmation of a payer-started payment is stored',
    );
    await killed.stop('SIGKILL');
    // The lease of the killed process ends now instead of later.
    await database.query(
      `update core.payer_payments set leased_until = null, due_at = now() where status = 'OPEN'`,
    );
    const repeats = [
      await send(ourUrls('mpesa').confirmation, confirmation(receipt, reference)),
      await send(ourUrls('mpesa').confirmation, confirmation(receipt, reference)),
    ];
    await paymentOf(reference, PayerPaymentStatus.ORDER_PAID);

    expect(notAnswered).toEqual([]);
    expect(repeats.map(({ status }) => status)).toEqual([200, 200]);
    expect(await verify(reference)).toMatchObject({ status: 'COMPLETED', deducted: '250.00' });
    const { rows } = await database.query(
      `select (select count(*)::int from core.payer_payments where provider_transaction_id = $1) as confirmations,
         (select count(*)::int from core.wallet_receipts where provider_transaction_id = $1) as uses,
         (select count(*)::int from core.payment_attempts a join core.orders o on o.id = a.order_id
          where o.order_number = $2) as attempts,
         (select count(*)::int from core.stray_payments where provider_transaction_id = $1) as strays`,
      [receipt, reference],
    );
    expect(rows).toEqual([{ confirmations: 1, uses: 1, attempts: 1, strays: 0 }]);
  } finally {
    await killed.stop('SIGKILL');
    await database.end();
    await proxy.close();
  }
});
