import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { CheckoutService } from '../../../src/gen/gatehouse/v1/checkout_service_pb.js';
import { OrderStatus, PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { createCallbackTokens } from '../../../src/wallets/callback-token.ts';
import { connectorKinds } from '../../../src/wallets/connector-kinds.ts';
import { readPrivateKey, signMessage } from '../../../src/wallets/telebirr/signature.ts';
import { sharedSimulatorProcess } from './simulator-subject.ts';
import { storedId } from '../../support/ids.ts';
import { startStack } from '../../support/stack.ts';
import { shared, sharedClient } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { browserSecret, sharedPaymentDesk } from '../core/payment-desk.ts';
import type { Payment } from '../core/payment-desk.ts';
import { credentials as mpesaCredentials, mpesaOfProcess, securityKey } from './mpesa-subject.ts';
import { secretVariables } from './secret-variables.ts';
import { mtnOfProcess, settings as mtnSettings } from './mtn-momo-subject.ts';
import {
  telebirrOfProcess,
  simulatorCredentials as telebirrCredentials,
  telebirrKeys,
} from './telebirr-subject.ts';

// Each protocol has its own form of callbacks. No callback may decide a payment, whatever its content and its sender.

const { base_url: _url, ...mtn } = mtnSettings('');
const gsma = { client_id: 'g', client_secret: 'gsma-client-secret', api_key: 'gsma-api-key' };
interface Protocol {
  readonly id: string;
  readonly channel: 'ussd' | 'wallet';
  readonly currency: string;
  readonly amount: string;
  /** The beginning of the numbers whose last two digits select the outcome. */
  readonly payers: string;
  readonly ofProcess: (origin: string) => ReturnType<typeof secretVariables>;
  readonly simulated: object;
  /** The protocol's answer to every callback. */
  readonly reply: { readonly status: number; readonly body: string };
  /** The callback with the signature of its wallet. */
  readonly signed?: (callback: string) => string;
}

const mpesa = (id: string, currency: string, payers: string): Protocol => ({
  ...{ id, currency, payers, channel: 'ussd', amount: '100' },
  ofProcess: (origin) => mpesaOfProcess(`${origin}/${id}`),
  simulated: { ...mpesaCredentials, security_key: securityKey },
  reply: { status: 200, body: '{"ResultCode":0,"ResultDesc":"Accepted"}' },
});

/** Every protocol, by its name as a connector. */
const protocols: Readonly<Record<string, Protocol>> = {
  gsma: {
    ...{ id: 'walleta', channel: 'ussd', currency: 'ETB', amount: '100.50', payers: '+2519000000' },
    ofProcess: (origin) => {
      const payee = { type: 'accountid', id: '2999' };
      const settings = { ...gsma, base_url: `${origin}/walleta`, payee };
      return secretVariables('GSMA', settings, ['client_secret', 'api_key']);
    },
    simulated: gsma,
    reply: { status: 204, body: '' },
  },
  'mpesa-daraja': mpesa('mpesa', 'KES', '+2547000000'),
  'mpesa-ethiopia': mpesa('mpesaet', 'ETB', '+2517000000'),
  'mtn-momo': {
    ...{ id: 'mtn', channel: 'ussd', currency: 'EUR', amount: '5.00', payers: '+2567700000' },
    ofProcess: (origin) => mtnOfProcess(`${origin}/mtn`),
    simulated: mtn,
    reply: { status: 200, body: '' },
  },
  telebirr: {
    ...{ id: 'telebirr', channel: 'wallet', currency: 'ETB', amount: '150.00', payers: '09100000' },
    ofProcess: telebirrOfProcess,
    simulated: telebirrCredentials,
    reply: { status: 200, body: '{"code":0,"msg":"success"}' },
    signed: (callback) => {
      const { sign: _sign, sign_type: _type, ...message } = JSON.parse(callback) as Record<string, unknown>;
      const sign = signMessage(message, readPrivateKey(telebirrKeys.privateKey), 'pss');
      return JSON.stringify({ ...message, sign, sign_type: 'SHA256WithRSA' });
    },
  },
};

const simulator = sharedSimulatorProcess(
  Object.fromEntries(
    Object.entries(protocols).map(([protocol, { id, simulated }]) => [id, { protocol, ...simulated }]),
  ),
);

const callbackKey = randomBytes(32);

const stack = shared(() => {
  const origin = String(simulator.ready['origin']);
  const configured = Object.entries(protocols).map(([connector, { id, channel, currency, ofProcess }]) => {
    const { settings, variables } = ofProcess(origin);
    const wallet = {
      ...{ id, connector, names: { en: id, am: id }, channels: [channel], reconcile: false },
      currencies: [{ code: currency }],
      environments: { sandbox: { settings, call_timeout_ms: 30_000 } },
    };
    return { wallet, variables };
  });
  const wallets = configured.map(({ wallet }) => wallet);
  return startStack({
    facades: 0,
    wallets: 1,
    settings: {
      GATEHOUSE_WALLETS: JSON.stringify({ wallets }),
      GATEHOUSE_CURRENCIES: 'ETB,EUR,KES',
      GATEHOUSE_WALLET_CALLBACK_KEY: callbackKey.toString('hex'),
      ...(Object.assign({}, ...configured.map(({ variables }) => variables)) as Record<string, string>),
    },
  });
});
const desk = sharedPaymentDesk(stack);
const checkout = sharedClient(stack, CheckoutService, 'checkout');

test('the attacks cover the callbacks of every protocol', () => {
  expect(Object.keys(protocols).toSorted()).toEqual(connectorKinds.map(({ name }) => name).toSorted());
});

/** A payment of a new merchant, whose payer's number ends with these digits. */
async function start({ id, channel, currency, amount, payers }: Protocol, row: string): Promise<Payment> {
  const { id: merchantId } = await stack.createMerchant();
  const hosted = await desk.registerHosted({ merchantId, currency, amount });
  const isOnPage = channel === 'wallet';
  const phone = isOnPage ? '0911223344' : `${payers}${row}`;
  const payment = await desk.payHosted(hosted, `${id}_${channel}`, phone);
  if (isOnPage) {
    const link = await waitUntil('the payer has a link', async () => {
      const { checkout: page } = await checkout.getCheckout({
        ...{ token: hosted.token, browserSecret: browserSecret() },
      });
      const { action } = page?.nextAction ?? {};
      return action?.case === 'redirectUrl' && action.value;
    });
    const page = await fetch(link);
    await fetch(page.url, {
      method: 'POST',
      body: new URLSearchParams({ phone: `${payers}${row}`, action: 'pay' }),
    });
  }
  await waitUntil('the wallet has been asked', async () => {
    const { exchanges } = await desk.story(payment);
    return exchanges.some(({ purpose }) => purpose === 'query') || payers.startsWith('+2517');
  });
  return payment;
}

/** The same callback, but of a payment that failed. */
const failureOf = (callback: string): string =>
  callback
    .replaceAll(/completed|SUCCESSFUL|PAY_SUCCESS/gi, 'FAILED')
    .replaceAll(/"ResultCode":\s*"?0"?/g, '"ResultCode":1032');

describe.each(Object.entries(protocols))('callbacks of %s', (_name, protocol) => {
  /** Pending at its wallet for ever. */
  let attacked: Payment;
  /** Paid. */
  let other: Payment;
  /** A callback of success that the wallet sent about the other payment. */
  let foreign: string;

  beforeAll(async () => {
    [attacked, other] = await Promise.all([start(protocol, '20'), start(protocol, '00')]);
    foreign = await waitUntil('the other payment has its callback', async () => {
      const [callback] = await callbacksOf(other);
      // Stored digits are masked, and a mask is no number.
      const body = callback?.requestBody.replaceAll('*', '0');
      return body === undefined ? undefined : (protocol.signed?.(body) ?? body);
    });
  });

  const wallet = `${protocol.id}-sandbox`;
  const tokenOf = ({ merchantId, attemptId }: Payment): string =>
    createCallbackTokens(callbackKey, wallet).make(merchantId, attemptId);
  const urlOf = (payment: Payment, token = tokenOf(payment)): string =>
    `${String(stack.wallets[0]!.ready['callbacks'])}/callbacks/${wallet}/${payment.attemptId}/${token}`;
  const send = (
    url: string,
    body: string | Uint8Array<ArrayBuffer> | null,
    headers: Record<string, string> = {},
    method = 'POST',
  ) => fetch(url, { method, body, headers: { 'content-type': 'application/json', ...headers } });
  const announced = () => stack.wallets[0]!.log.findLast(({ msg }) => msg === 'callback')?.['announced'];
  const callbacksOf = async (payment: Payment) =>
    (await desk.story(payment)).exchanges.filter(({ purpose }) => purpose === 'callback');

  const leasesOf = async (): Promise<number> => {
    const [row] = await desk.query<{ leases: number }>(sql`select leases from core.payment_attempts
      where id = ${storedId('pat', attacked.attemptId)} and leased_until is null`);
    return row?.leases ?? 0;
  };

  /** Expects that queries after all these callbacks decide nothing. */
  async function expectUndecided(queries = 1): Promise<void> {
    for (let count = 0; count < queries; count += 1) {
      const before = await waitUntil('no worker holds the attempt', leasesOf);
      await desk.makeDue(attacked);
      await waitUntil('the wallet was asked again', async () => (await leasesOf()) > before);
    }
    const { order, paymentAttempt } = await desk.story(attacked);
    expect(OrderStatus[order?.status ?? 0]).toBe('PENDING');
    expect(PaymentAttemptStatus[paymentAttempt?.status ?? 0]).toBe('SENT');
    expect(await desk.strays(attacked.merchantId)).toEqual([]);
  }

  test('of success about another order decide nothing', async () => {
    const response = await send(urlOf(attacked), foreign);

    expect({ status: response.status, body: await response.text() }).toEqual(protocol.reply);
    expect(announced()).toBe('completed');
    // A query of M-Pesa would first be about the receipt of the callback, and be answered by another callback.
    await expectUndecided(4);
  });

  test('that contradict each other and are repeated decide nothing', async () => {
    const failed = failureOf(foreign);
    expect(failed).not.toBe(foreign);

    for (const body of [foreign, failed, foreign, failed, failed, foreign])
      expect((await send(urlOf(attacked), body)).status).toBe(protocol.reply.status);

    await expectUndecided();
  });

  test.each<[string, string | Uint8Array<ArrayBuffer> | null, Record<string, string>]>([
    ['nothing', null, {}],
    ['no valid type', '{"status":"SUCCESSFUL"}', { 'content-type': 'x/y; charset=klingon' }],
    ['a compressed body', new Uint8Array([31, 139, 8, 0]), { 'content-encoding': 'gzip' }],
    [
      'a form',
      'merch_order_id=1&trade_status=Completed',
      { 'content-type': 'application/x-www-form-urlencoded' },
    ],
    ['deep valid JSON', `${'['.repeat(30_000)}${']'.repeat(30_000)}`, {}],
    ['a name of the prototype', '{"__proto__":{"status":"SUCCESSFUL"},"constructor":1}', {}],
    ['members without end', `{${'"a":1,'.repeat(9_000)}"a":1}`, {}],
  ])('of %s are answered like any other', async (_what, body, headers) => {
    const response = await send(urlOf(attacked), body, headers);

    expect({ status: response.status, body: await response.text() }).toEqual(protocol.reply);
    const stored = (await callbacksOf(attacked)).at(-1);
    expect(stored?.requestBody.length).toBeLessThanOrEqual(16 * 1024);
  });

  test('of all these kinds have left the payment undecided', async () => {
    await expectUndecided();
  });
});
