import { beforeAll, expect, test } from '@jest/globals';
import { createCallbackTokens } from '../../../src/wallets/callback-token.ts';
import type { GatehouseProcess } from '../../support/gatehouse-process.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sharedPaymentDesk } from '../core/payment-desk.ts';
import type { Payment } from '../core/payment-desk.ts';
import { sharedWalletSide } from './wallet-processes.ts';

// callback-app.test.ts has all forms of a callback that is refused, and hostile-callbacks.test.ts those that decide nothing.

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
const side = sharedWalletSide(stack);
let wallets: GatehouseProcess;
const callbackKey = 'what-callbacks-must-carry';
/** Its wallet leaves it pending for ever. */
let payment: Payment;

beforeAll(async () => {
  await side.startSimulator();
  // No wallet hangs here: on a busy machine their calls take several times as long.
  const patient = { call_timeout_ms: 30_000 };
  wallets = await side.startWallets({
    walleta: { ...patient, callbacks: {} },
    walletb: { ...patient, callbacks: { api_key: { secret: 'CALLBACK_KEY' } } },
    settings: { CALLBACK_KEY: callbackKey },
  });
  const { id: merchantId } = await stack.createMerchant();
  payment = await desk.startDirect({ merchantId, phone: '251900000020' });
  await waitUntil(
    'the wallet has the payment',
    async () => (await desk.story(payment)).providerReference !== '',
  );
});

const tokenOf = ({ merchantId, attemptId }: Payment, wallet: string): string =>
  createCallbackTokens(side.callbackKey, wallet).make(merchantId, attemptId);

/** A callback of success with a token of its own, and the token. */
async function callBack(about: Payment, wallet: string, headers: Readonly<Record<string, string>> = {}) {
  const token = tokenOf(about, wallet);
  const url = `${String(wallets.ready['callbacks'])}/callbacks/${wallet}/${about.attemptId}/${token}`;
  const { status } = await fetch(url, {
    method: 'PUT',
    body: JSON.stringify({ type: 'merchantpay', transactionStatus: 'completed', amount: '100.5' }),
    headers: { 'content-type': 'application/json', ...headers },
  });
  return { status, token };
}

const callbacksHeard = async () =>
  (await desk.story(payment)).exchanges.filter(({ purpose }) => purpose === 'callback');

test('an authentic callback is stored without the key of its wallet and without its token, and no log has them', async () => {
  const { status, token } = await callBack(payment, 'walletb-sandbox', { 'x-api-key': callbackKey });

  expect(status).toBe(204);
  const heard = await callbacksHeard();
  expect(heard).toMatchObject([{ method: 'PUT', error: '' }]);
  const kept = JSON.stringify([wallets.log, heard.map(({ url, requestBody }) => url + requestBody)]);
  expect(kept).toContain(payment.attemptId);
  expect(kept).not.toContain(callbackKey);
  expect(kept).not.toContain(token.split('.')[1] ?? 'none');
});

test.each([
  ['a payment that is not on record', 'pat_01m7xnstxmevpaa4ekcx5f30ma'],
  ['a reversal, by any name it ever had,', 'stp_01m7xnstxmevpaa4ekcx5f30ma'],
])(
  'a callback about %s is acknowledged, so that it is not sent again, and causes no query',
  async (_what, attemptId) => {
    const before = await callbacksHeard();

    expect((await callBack({ ...payment, attemptId }, 'walleta-sandbox')).status).toBe(204);
    expect(await callbacksHeard()).toHaveLength(before.length);
  },
);
