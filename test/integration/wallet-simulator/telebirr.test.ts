import { createPublicKey } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createMemoryJournal } from '../../../src/wallet-simulator/journal.ts';
import type { JournalFile } from '../../../src/wallet-simulator/journal.ts';
import { createLedger } from '../../../src/wallet-simulator/ledger.ts';
import { readPrivateKey, signMessage, verifyMessage } from '../../../src/wallets/telebirr/signature.ts';
import { startCallbackReceiver } from './callback-receiver.ts';
import { startSimulator } from './simulator-under-test.ts';
import type { Answer, Json, SimulatorUnderTest } from './simulator-under-test.ts';
import { newRsaKeys } from '../../support/rsa-keys.ts';

const merchant = newRsaKeys();
const telebirr = newRsaKeys();
const key = readPrivateKey(merchant.privateKey);
const gateway = '/telebirr/apiaccess/payment/gateway/payment/v1';

let journal: JournalFile;
let simulator: SimulatorUnderTest;

const start = (time?: SimulatorUnderTest['time']): Promise<SimulatorUnderTest> =>
  startSimulator({
    ...(time === undefined ? {} : { time }),
    gsma: [],
    others: [
      {
        id: 'telebirr',
        protocol: 'telebirr',
        basePath: '/telebirr',
        ledger: createLedger(),
        journal,
        credentials: {
          fabric_app_id: 'the-app',
          app_secret: 'the-secret',
          merchant_app_id: '1234',
          merchant_code: '000123',
          merchant_public_key: merchant.publicKey,
          telebirr_private_key: telebirr.privateKey,
          require_pss: true,
        },
      },
    ],
  });

beforeEach(async () => {
  journal = createMemoryJournal();
  simulator = await start();
});
afterEach(() => simulator.close());

const tokenAnswer = (appSecret = 'the-secret'): Promise<Answer> =>
  simulator.send(`${gateway}/token`, { body: { appSecret }, headers: { 'x-app-key': 'the-app' } });

interface CallOptions {
  readonly padding?: 'pss' | 'pkcs1';
  readonly authorization?: string;
  readonly change?: (message: Json) => Json;
}

async function call(path: string, method: string, content: Json, options: CallOptions = {}): Promise<Answer> {
  const { padding = 'pss', change = (message) => message } = options;
  const message = {
    timestamp: String(Math.floor(simulator.time.now().getTime() / 1_000)),
    nonce_str: 'nonce',
    method,
    version: '1.0',
    biz_content: { appid: '1234', merch_code: '000123', ...content },
  };
  const sign = signMessage(message, key, padding);
  const authorization = options.authorization ?? String((await tokenAnswer()).json['token']);
  return simulator.send(`${gateway}${path}`, {
    body: change({ ...message, sign, sign_type: 'SHA256WithRSA' }),
    headers: { 'x-app-key': 'the-app', authorization },
  });
}

const preOrder = (over: Json = {}, options?: CallOptions): Promise<Answer> =>
  call(
    '/merchant/preOrder',
    'payment.preorder',
    {
      notify_url: 'http://127.0.0.1:9/notify',
      merch_order_id: 'order1',
      trade_type: 'Checkout',
      title: 'Tea',
      total_amount: '12',
      trans_currency: 'ETB',
      timeout_express: '5m',
      ...over,
    },
    options,
  );
const queryOrder = async (id = 'order1'): Promise<Json> =>
  (await call('/merchant/queryOrder', 'payment.queryorder', { merch_order_id: id })).json[
    'biz_content'
  ] as Json;
/** Types a number on the page of an order, and confirms. */
async function confirm({ json }: Answer, phone: string): Promise<void> {
  const { prepay_id: id } = json['biz_content'] as Record<string, string>;
  await simulator.send(`/telebirr/pay/${id}`, {
    method: 'POST',
    body: new URLSearchParams({ phone, action: 'pay' }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
}

describe('a call', () => {
  test.each<[string, Json, CallOptions, number, string]>([
    ['a changed field', {}, { change: (message) => ({ ...message, nonce_str: 'other' }) }, 500, '60200099'],
    ['PKCS#1 v1.5 where PSS is required', {}, { padding: 'pkcs1' }, 500, '60200099'],
    ['another merchant', { merch_code: '000999' }, {}, 500, '60200099'],
    ['an underscore in its id', { merch_order_id: 'pat_1' }, {}, 400, '49401024995'],
    ['special characters in its title', { title: 'Tea & cakes' }, {}, 400, '49401024995'],
    ['three decimals', { total_amount: '1.005' }, {}, 400, '49401024995'],
    ['an unknown token', {}, { authorization: 'Bearer other' }, 401, '401'],
  ])('with %s is refused', async (_what, over, options, status, code) => {
    expect(await preOrder(over, options)).toMatchObject({
      status,
      json: { errorCode: code, code, result: 'FAIL' },
    });
  });

  test('to an unknown path, or with a wrong secret, is refused', async () => {
    expect(await call('/merchant/other', 'payment.other', {})).toMatchObject({
      status: 404,
      json: { errorMsg: 'can not find api' },
    });
    expect((await tokenAnswer('other')).status).toBe(401);
  });

  test('for a token gets two dates in East Africa Time, whose distance the setting determines', async () => {
    expect((await tokenAnswer()).json).toMatchObject({
      token: expect.stringMatching(/^Bearer /),
      effectiveDate: '20260504110000',
      expirationDate: '20260504110500',
    });
  });

  test('is answered with telebirr’s signature', async () => {
    const { json } = await preOrder();

    expect(json).toMatchObject({ result: 'SUCCESS', code: '0' });
    expect(verifyMessage(json, createPublicKey(telebirr.publicKey))).toBe('pss');
  });
});

test('an order in the app gets a code for the phone, and is found by its prepay_id', async () => {
  const content = {
    notify_url: 'http://127.0.0.1:9/notify',
    merch_order_id: 'order2',
    trade_type: 'InApp',
    title: 'Tea',
    total_amount: '12.00',
    trans_currency: 'ETB',
  };
  const created = await call('/inapp/createOrder', 'payment.createorder', content);

  const { prepay_id: id, receiveCode } = created.json['biz_content'] as Record<string, string>;
  const found = await call('/merchant/queryOrder', 'payment.queryorder', { prepay_id: id });
  expect(receiveCode).toBe(`TELEBIRR$BUYGOODS$000123$12.00$${id}$120m`);
  expect(found.json['biz_content']).toMatchObject({ merch_order_id: 'order2', order_status: 'WAIT_PAY' });
});

describe('an order', () => {
  test('waits, is being paid, and is paid, with the status of each message', async () => {
    const receiver = await startCallbackReceiver(() => 200);
    const created = await preOrder({ notify_url: receiver.url, callback_info: 'from web' });
    const waiting = await queryOrder();
    await confirm(created, '0911 22 33 44');
    const paying = await queryOrder();
    simulator.time.pass(1_000);
    const [notice] = await receiver.wait(1);
    const paid = await queryOrder();
    await receiver.close();

    expect([waiting['order_status'], paying['order_status']]).toEqual(['WAIT_PAY', 'PAYING']);
    expect(waiting).not.toHaveProperty('trans_id');
    expect(paid).toMatchObject({
      order_status: 'PAY_SUCCESS',
      total_amount: '12.00',
      trans_currency: 'ETB',
      trans_id: expect.stringMatching(/^[A-Z0-9]{10}$/),
      trans_time: '2026-05-04 11:00:01',
    });
    expect(notice!.json).toMatchObject({
      trade_status: 'Completed',
      trans_id: paid['trans_id'],
      callback_info: 'from web',
    });
    expect(verifyMessage(notice!.json, createPublicKey(telebirr.publicKey))).toBe('pss');
    expect(await simulator.charges('251911223344')).toMatchObject([{ wallet: 'telebirr', amount: '12' }]);
  });

  test('that is unknown is answered with 299, and so is one with a repeated id', async () => {
    const unknown = await call('/merchant/queryOrder', 'payment.queryorder', { merch_order_id: 'other' });
    await preOrder();

    expect(unknown).toMatchObject({ status: 299, json: { code: '60330006', result: 'FAIL' } });
    expect(await preOrder()).toMatchObject({ status: 299, json: { result: 'FAIL' } });
  });

  test('is closed when its time has passed, and is known after a restart', async () => {
    await preOrder();
    const { time } = simulator;
    await simulator.close();
    simulator = await start(time);
    const known = await queryOrder();
    time.pass(300_000);

    expect(known).toMatchObject({ order_status: 'WAIT_PAY' });
    expect(await queryOrder()).toMatchObject({ order_status: 'ORDER_CLOSED' });
  });
});

test('a fault is armed for one request, and a fault that the wallet does not have is refused', async () => {
  const arm = (fault: string) =>
    simulator.send(`/simulator/faults?wallet=telebirr&fault=${fault}`, { method: 'POST' });
  const statuses = [(await arm('rate_limit')).status, (await arm('earthquake')).status];

  const limited = await preOrder();
  const accepted = await preOrder();

  expect(statuses).toEqual([204, 404]);
  expect(limited).toMatchObject({ status: 403, json: { code: '49401021002' } });
  expect(accepted.status).toBe(200);
});
