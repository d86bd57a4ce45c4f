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
let keyed: GatehouseProcess;
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
    walletb: { ...noKey, environments: ['production'] },
  });
  keyed = await side.startWallets({
    walleta: { ...patient, callbacks: { api_key: { secret: 'CALLBACK_KEY' } } },
    walletb: noKey,
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

describe('a callback that is not authentic gets 404 and changes nothing', () => {
  // callback-token.test.ts has all forms of a wrong token.
  test.each<[string, () => string]>([
    ['a guessed token', () => url(one.attemptId, `${one.merchantId}.${'A'.repeat(43)}`)],
    ['the token of another payment', () => url(one.attemptId, tokenOf(another))],
    ['an unknown wallet', () => url(one.attemptId, tokenOf(one), 'walletc-sandbox')],
    ['a wallet of the other environment', () => url(one.attemptId, tokenOf(one), 'walleta-production')],
    ['a wallet named after a property of objects', () => url(one.attemptId, tokenOf(one), 'constructor')],
    ['the token of another wallet', () => url(one.attemptId, tokenOf(one, 'walletb-sandbox'))],
    ['its own token, at another wallet', () => url(one.attemptId, tokenOf(one), 'walletb-sandbox')],
    ['the token of another environment', () => url(one.attemptId, tokenOf(one, 'walleta-production'))],
    ['a token longer than any of ours', () => url(one.attemptId, 'A'.repeat(4_096))],
    ['no token', () => `/callbacks/walleta-sandbox/${one.attemptId}`],
    ['another path', () => `/callback/walleta-sandbox/${one.attemptId}/${tokenOf(one)}`],
  ])('%s', async (_name, path) => {
    const response = await send(path());

    expect(response.status).toBe(404);
    expect(await response.text()).toBe('');
    await expectNothingHeard();
  });

  test('at the same wallet in another environment, which serves its own callbacks', async () => {
    const foreign = url(one.attemptId, tokenOf(one, 'walletb-sandbox'), 'walletb-production');
    expect((await send(foreign, {}, guarded)).status).toBe(404);
    await expectNothingHeard();
    const gone = { ...one, attemptId: 'pat_01m7xnstxmevpaa4ekcx5f30ma' };
    const own = url(gone.attemptId, tokenOf(gone, 'walletb-production'), 'walletb-production');
    expect((await send(own, {}, guarded)).status).toBe(204);
  });

  test.each<[string, number, string | undefined, RequestInit, (() => GatehouseProcess)?]>([
    ['by GET', 404, undefined, { method: 'GET', body: null }],
    ['by DELETE', 404, undefined, { method: 'DELETE' }],
    ['by PATCH', 404, undefined, { method: 'PATCH' }],
    [
      'from another address than its wallet’s, whatever the request says of itself',
      404,
      undefined,
      { headers: { 'x-forwarded-for': '192.0.2.7', forwarded: 'for=192.0.2.7', 'x-real-ip': '192.0.2.7' } },
      () => guarded,
    ],
    ['when it is larger than any genuine one', 413, undefined, { body: 'x'.repeat(65 * 1024) }],
    ['with a path that is not valid text', 404, '/callbacks/walleta-sandbox/%ff%fe/%00', {}],
    ['with a wallet that is not valid text', 404, '/callbacks/%/x/y', {}],
  ])('%s', async (_name, status, path, init, process = () => wallets) => {
    const response = await send(path ?? url(one.attemptId, tokenOf(one)), init, process());

    expect(response.status).toBe(status);
    await expectNothingHeard();
  });
});

describe('where a key was agreed with the wallet, an authentic callback', () => {
  const path = () => url(another.attemptId, tokenOf(another));

  test.each<[string, Record<string, string>]>([
    ['without it', {}],
    ['with an empty one', { 'x-api-key': '' }],
    ['with another', { 'x-api-key': callbackKey.toUpperCase() }],
    ['with part of it', { 'x-api-key': callbackKey.slice(0, -1) }],
    ['with more than it', { 'x-api-key': `${callbackKey}!` }],
    ['with it in another header', { authorization: `Bearer ${callbackKey}` }],
  ])('%s gets 401 and changes nothing', async (_name, headers) => {
    const response = await send(path(), { headers }, keyed);

    expect(response.status).toBe(401);
    expect(await response.text()).toBe('');
    await expectNothingHeard();
  });

  test('without the key is logged, and the line contains neither key nor token', () => {
    const refused = keyed.log.filter(({ msg }) => String(msg).startsWith('callback refused'));

    expect(refused).toContainEqual(
      expect.objectContaining({ wallet: 'walleta-sandbox', about: another.attemptId, key_ok: false }),
    );
    const log = JSON.stringify(keyed.log);
    expect(log).not.toContain(callbackKey);
    expect(log).not.toContain(callbackKey.toUpperCase());
    expect(log).not.toContain(tokenOf(another).split('.')[1] ?? 'none');
  });

  test('with the key and a guessed address gets 404 like any other', async () => {
    const guessed = url(another.attemptId, `${another.merchantId}.${'A'.repeat(43)}`);

    expect((await send(guessed, { headers: { 'x-api-key': callbackKey } }, keyed)).status).toBe(404);
    await expectNothingHeard();
  });

  test('with the key causes a query, and its stored exchange has no key', async () => {
    const before = await callbacksHeard(another);

    const response = await send(path(), { headers: { 'x-api-key': callbackKey } }, keyed);

    expect(response.status).toBe(204);
    expect(await callbacksHeard(another)).toBe(before + 1);
    expect(
      JSON.stringify((await desk.story(another)).exchanges.map(({ requestBody }) => requestBody)),
    ).not.toContain(callbackKey);
  });

  test('of a wallet without an agreed key needs none', async () => {
    const toWalletB = url(another.attemptId, tokenOf(another, 'walletb-sandbox'), 'walletb-sandbox');

    expect((await send(toWalletB, {}, keyed)).status).toBe(204);
  });
});

describe('an authentic callback', () => {
  test('that claims success is acknowledged, but the answer of the wallet decides', async () => {
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
    expect(wallets.log.findLast(({ msg }) => msg === 'callback')).toMatchObject({ claim: 'completed' });
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
