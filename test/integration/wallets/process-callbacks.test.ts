import { beforeAll, describe, expect, test } from '@jest/globals';
import { OrderStatus, PaymentAttemptStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { createCallbackTokens } from '../../../src/wallets/callback-token.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedPaymentDesk } from '../core/payment-desk.ts';
import type { Payment } from '../core/payment-desk.ts';
import { sharedWalletSide } from './wallet-processes.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
const side = sharedWalletSide(stack);
let wallets: GatehouseProcess;
let guarded: GatehouseProcess;
const callbackKey = 'what-callbacks-must-carry';
/** Payments that their wallet leaves pending for ever, of two merchants. */
let one: Payment;
let another: Payment;

const tokenOf = ({ merchantId, attemptId }: Payment, wallet = 'walleta-sandbox'): string =>
  createCallbackTokens(side.callbackKey, wallet).make(merchantId, attemptId);

beforeAll(async () => {
  await side.startSimulator();
  // No wallet hangs here: on a busy machine their calls take several times as long.
  const patient = { call_timeout_ms: 30_000 };
  const noKey = { ...patient, callbacks: {} };
  wallets = await side.startWallets({ walleta: noKey, walletb: noKey });
  guarded = await side.startWallets({
    walleta: { ...patient, callbacks: { sources: ['192.0.2.0/24', '2001:db8::1'] } },
    walletb: { ...patient, callbacks: { api_key: { secret: 'CALLBACK_KEY' } } },
    settings: { CALLBACK_KEY: callbackKey },
  });
  const [first, second] = await Promise.all([stack.createMerchant(), stack.createMerchant()]);
  one = await desk.startDirect({ merchantId: first.id, phone: '251900000020' });
  another = await desk.startDirect({ merchantId: second.id, phone: '251900000020' });
  for (const payment of [one, another])
    await waitUntil(
      'the wallet has the payment',
      async () => (await desk.story(payment)).providerReference !== '',
    );
});

const success = JSON.stringify({
  type: 'merchantpay',
  transactionStatus: 'completed',
  transactionReference: 't-forged',
  amount: '100.5',
  currency: 'ETB',
});

const url = (id: string, token: string, wallet = 'walleta-sandbox'): string =>
  `/callbacks/${wallet}/${id}/${token}`;

const send = (path: string, init: RequestInit = {}, process = wallets): Promise<Response> =>
  fetch(`${String(process.ready['callbacks'])}${path}`, {
    method: 'PUT',
    body: success,
    headers: { 'content-type': 'application/json' },
    ...init,
  });

const callbacksHeard = async (payment: Payment): Promise<number> =>
  (await desk.story(payment)).exchanges.filter(({ purpose }) => purpose === 'callback').length;

/** Neither payment was decided or got an exchange. */
async function expectNothingHeard(): Promise<void> {
  for (const payment of [one, another]) {
    const { order, paymentAttempt } = await desk.story(payment);
    expect(order?.status).toBe(OrderStatus.PENDING);
    expect(paymentAttempt?.status).toBe(PaymentAttemptStatus.SENT);
    expect(await callbacksHeard(payment)).toBe(0);
  }
}

// callback-app.test.ts has all forms of a callback that is refused.
test.each<[string, number, string, string | undefined, RequestInit]>([
  ['with a guessed token', 404, 'walleta-sandbox', 'A'.repeat(43), {}],
  [
    'from another address than its wallet’s, whatever the request says of itself',
    404,
    'walleta-sandbox',
    undefined,
    { headers: { 'x-forwarded-for': '192.0.2.7', forwarded: 'for=192.0.2.7', 'x-real-ip': '192.0.2.7' } },
  ],
  ['without the key that was agreed with its wallet', 401, 'walletb-sandbox', undefined, {}],
])('a callback %s changes nothing', async (_name, status, wallet, guessed, init) => {
  const path =
    guessed === undefined ? url(one.attemptId, tokenOf(one, wallet), wallet) : url(one.attemptId, guessed);

  const response = await send(path, init, guessed === undefined ? guarded : wallets);

  expect(response.status).toBe(status);
  expect(await response.text()).toBe('');
  await expectNothingHeard();
});

test('an authentic callback with the key of its wallet is stored without the key, and no log has key or token', async () => {
  const token = tokenOf(another, 'walletb-sandbox');
  const before = await callbacksHeard(another);

  const response = await send(
    url(another.attemptId, token, 'walletb-sandbox'),
    { headers: { 'x-api-key': callbackKey } },
    guarded,
  );

  expect(response.status).toBe(204);
  expect(await callbacksHeard(another)).toBe(before + 1);
  const { exchanges } = await desk.story(another);
  const kept = JSON.stringify([guarded.log, exchanges.map(({ requestBody }) => requestBody)]);
  expect(kept).not.toContain(callbackKey);
  expect(kept).not.toContain(token.split('.')[1] ?? 'none');
});

describe('an authentic callback', () => {
  test('that announces success is acknowledged, but the answer of the wallet decides', async () => {
    const before = (await desk.story(one)).exchanges.length;

    const response = await send(url(one.attemptId, tokenOf(one)));

    expect(response.status).toBe(204);
    const story = await waitUntil('the wallet was asked', async () => {
      const found = await desk.story(one);
      const purposes = found.exchanges.slice(before).map(({ purpose }) => purpose);
      return purposes.includes('callback') && purposes.includes('query') && found;
    });
    expect(story.order?.status).toBe(OrderStatus.PENDING);
    expect(story.paymentAttempt?.status).toBe(PaymentAttemptStatus.SENT);
    expect(story.exchanges.find(({ purpose }) => purpose === 'callback')).toMatchObject({
      method: 'PUT',
      requestBody: success,
      error: '',
    });
    expect(wallets.log.findLast(({ msg }) => msg === 'callback')).toMatchObject({ announced: 'completed' });
  });

  test('has no token in its stored exchange or in the log', async () => {
    const secret = tokenOf(one).split('.')[1] ?? 'none';

    const { exchanges } = await desk.story(one);

    expect(exchanges.map(({ url, requestBody }) => url + requestBody).join()).not.toContain(secret);
    expect(JSON.stringify(wallets.log)).not.toContain(secret);
  });

  test.each([
    ['a payment that is not on record', 'pat_01m7xnstxmevpaa4ekcx5f30ma'],
    ['a reversal, by any name it ever had,', 'stp_01m7xnstxmevpaa4ekcx5f30ma'],
  ])(
    'about %s is acknowledged, so that it is not sent again, and causes no query',
    async (_what, attemptId) => {
      const before = await callbacksHeard(one);

      const answer = await send(url(attemptId, tokenOf({ ...one, attemptId })));

      expect(answer.status).toBe(204);
      expect(await callbacksHeard(one)).toBe(before);
    },
  );
});
