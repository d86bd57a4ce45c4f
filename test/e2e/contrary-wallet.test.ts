import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { OrderEventType, OrderStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import {
  StrayPaymentService,
  StrayPaymentStatus,
} from '../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import { startScriptedWallet } from '../integration/wallets/scripted-wallet.ts';
import type { SeenRequest } from '../integration/wallets/scripted-wallet.ts';
import { orderNamed } from '../support/order-requests.ts';
import { callSandbox } from '../support/sandbox-calls.ts';
import { shared, sharedClient, sharedMerchant, sharedStack } from '../support/shared-stack.ts';
import { demoWallets } from '../support/simulated-wallets.ts';
import { waitUntil } from '../support/wait-until.ts';

// A genuine wallet says that a payment failed, and later that it was paid after all, by repeated callbacks and to queries.

interface Money {
  readonly amount: string;
  readonly currency: string;
}

interface WalletPayment {
  readonly id: string;
  readonly payer: string;
  readonly callbackUrl: string;
  readonly apiKey: string;
  /** Its transaction, or undefined while the payment is failed. */
  paid?: Money & { readonly reference: string };
}

interface WalletReversal extends Money {
  readonly id: string;
  readonly reference: string;
  /** The transaction that it reverses. */
  readonly of: string;
}

const payments: WalletPayment[] = [];
const reversals: WalletReversal[] = [];
const stepOf = ({ target }: SeenRequest, fromEnd: number): string =>
  decodeURIComponent(target.split('/').at(-fromEnd) ?? '');

/** A GSMA wallet whose payments fail, until a test says that one was paid. It makes every reversal. */
const wallet = shared(async () => {
  const scripted = await startScriptedWallet();
  const answer = (route: RegExp, status: number, reply: (request: SeenRequest) => object): void =>
    scripted.on(route, ({ request, response }) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(reply(request)));
    });
  answer(/GET .*\/heartbeat/, 200, () => ({ serviceStatus: 'available' }));
  answer(/POST .*\/accesstoken/, 200, () => ({ access_token: 'token', expires_in: 3_600 }));
  answer(/POST .*\/merchantpay/, 202, ({ body, headers }) => {
    const { debitParty } = JSON.parse(body) as { debitParty: readonly { readonly value: string }[] };
    const id = randomUUID();
    payments.push({
      id,
      payer: debitParty[0]?.value ?? '',
      callbackUrl: String(headers['x-callback-url']),
      apiKey: String(headers['x-api-key']),
    });
    return { serverCorrelationId: id, status: 'pending' };
  });
  answer(/POST .*\/reversals/, 202, (request) => {
    const { amount, currency } = JSON.parse(request.body) as Money;
    const id = randomUUID();
    reversals.push({ id, reference: `r-${id}`, of: stepOf(request, 2), amount, currency });
    return { serverCorrelationId: id, status: 'pending' };
  });
  answer(/GET .*\/requeststates\/.*/, 200, (request) => {
    const id = stepOf(request, 1);
    const reversal = reversals.find((each) => each.id === id);
    const done = reversal ?? payments.find((payment) => payment.id === id)?.paid;
    return {
      serverCorrelationId: id,
      ...(done === undefined
        ? { status: 'failed', error: { errorCategory: 'businessRule', errorCode: 'genericError' } }
        : { status: 'completed', objectReference: done.reference }),
    };
  });
  answer(/GET .*\/transactions\/.*/, 200, (request) => {
    const transactionReference = stepOf(request, 1);
    const paid = payments.find((payment) => payment.paid?.reference === transactionReference)?.paid;
    const reversal = reversals.find(({ reference }) => reference === transactionReference);
    return {
      transactionReference,
      transactionStatus: 'completed',
      type: reversal === undefined ? 'merchantpay' : 'reversal',
      originalTransactionReference: reversal?.of,
      amount: (paid ?? reversal)?.amount,
      currency: (paid ?? reversal)?.currency,
    };
  });
  return scripted;
});

const stack = sharedStack({
  wallets: 1,
  settings: {
    get GATEHOUSE_WALLETS() {
      return demoWallets(wallet.origin, {}, ['sandbox', 'production']);
    },
  },
});
const merchant = sharedMerchant(stack);
const orders = sharedClient(stack, OrderService, 'reader');
const strayPayments = sharedClient(stack, StrayPaymentService, 'reader');

const order = async (orderNumber: string) =>
  (await orders.getOrder(orderNamed(merchant.id, orderNumber))).order;
const eventsOf = async (orderId: string) => {
  const { entries } = await orders.listOrderEvents({ merchantId: merchant.id, orderId });
  return entries.map(({ event }) => OrderEventType[event?.type ?? 0]);
};
const strays = async (transactionId = '') => {
  const { strayPayments: found } = await strayPayments.listStrayPayments({ merchantId: merchant.id });
  return found.filter(({ providerTransactionId }) => providerTransactionId === transactionId);
};
const queriesAbout = ({ id }: WalletPayment): number =>
  wallet.requestsTo(new RegExp(`GET .*/requeststates/${id}`)).length;

/** Sends four callbacks at once, and waits until Gatehouse has queried the wallet again. After twenty, it queries only every ten seconds. */
async function callBack(payment: WalletPayment): Promise<readonly number[]> {
  const before = queriesAbout(payment);
  const body = JSON.stringify({ transactionStatus: 'completed', amount: '1', currency: 'ETB' });
  const statuses = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const headers = { 'content-type': 'application/json', 'x-api-key': payment.apiKey };
      return (await fetch(payment.callbackUrl, { method: 'PUT', headers, body })).status;
    }),
  );
  await waitUntil('the wallet was asked again', () => queriesAbout(payment) > before);
  return [...new Set(statuses)];
}

test.each<[what: string, money: Money]>([
  ['the amount of the order', { amount: '100.5', currency: 'ETB' }],
  ['more decimals than the currency has', { amount: '100.123', currency: 'ETB' }],
  ['a currency that the wallet was not configured for', { amount: '100.5', currency: 'KES' }],
])(
  '%s, paid after the order has failed, is returned once, and the order stays FAILED',
  async (what, money) => {
    const payer = `251911${String(what.length).padStart(6, '0')}`;
    const sent = { order_number: payer, amount: '100.50', currency: 'ETB', phone: `+${payer}` };
    const { status } = await callSandbox(stack, merchant, 'direct?payment_option=walleta_ussd', sent);
    expect(status).toBe(201);
    const failed = await waitUntil('the order has failed', async () => {
      const found = await order(payer);
      return found?.status === OrderStatus.FAILED && found;
    });
    const payment = payments.find((each) => each.payer.endsWith(payer));
    if (payment === undefined) throw new Error('the wallet has no such payment');

    const reference = `t-${payment.id}`;
    payment.paid = { reference, ...money };
    const acknowledged = [await callBack(payment)];
    await waitUntil('the money is given back', async () => {
      const [stray] = await strays(reference);
      return stray?.status === StrayPaymentStatus.REVERSED;
    });
    acknowledged.push(await callBack(payment));
    // The wallet changes its mind twice more.
    delete payment.paid;
    acknowledged.push(await callBack(payment));
    payment.paid = { reference, ...money };
    acknowledged.push(await callBack(payment));

    expect(acknowledged).toEqual([[204], [204], [204], [204]]);
    expect(await strays(reference)).toMatchObject([
      { ...money, status: StrayPaymentStatus.REVERSED, tries: 1 },
    ]);
    expect(reversals.filter(({ of }) => of === reference)).toMatchObject([money]);
    expect(await order(payer)).toEqual(failed);
    expect(await eventsOf(failed.orderId)).toEqual(['CREATED', 'PAYMENT_STARTED', 'FAILED']);
  },
);
