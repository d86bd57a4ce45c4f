import { afterEach, expect, test } from '@jest/globals';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { publicId } from '../../support/ids.ts';
import { PaymentOption } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { startStack } from '../../support/stack.ts';
import type { Stack, StackOptions } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openPaymentDesk } from '../core/payment-desk.ts';
import type { PaymentDesk } from '../core/payment-desk.ts';
import { completed, quantiles, startMany } from './payment-times.ts';
import { freePort, openWalletSide, startSilentServer } from './wallet-processes.ts';
import type { WalletSide } from './wallet-processes.ts';

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function openSide(
  options: StackOptions = {},
): Promise<{ stack: Stack; side: WalletSide; desk: PaymentDesk; merchantId: string }> {
  const stack = await startStack({ facades: 0, ...options });
  cleanUps.push(stack.stop);
  const side = openWalletSide(stack, { ownProcesses: options.ownProcesses ?? false });
  cleanUps.push(side.stop);
  const desk = await openPaymentDesk(stack);
  cleanUps.push(desk.close);
  const { id: merchantId } = await stack.createMerchant();
  return { stack, side, desk, merchantId };
}

const { WALLETA_USSD, WALLETB_USSD } = PaymentOption;

test('a wallet that nobody answers for, or that hangs, keeps no payment of the other wallet waiting', async () => {
  const { side, desk, merchantId } = await openSide();
  const silent = await startSilentServer();
  cleanUps.push(silent.stop);
  await side.startSimulator();
  const figures: Record<string, ReturnType<typeof quantiles>> = {};

  for (const [name, baseUrl] of [
    ['well', ''],
    ['refuses', `http://127.0.0.1:${await freePort()}`],
    ['hangs', silent.url],
  ] as const) {
    const dead = baseUrl === '' ? {} : { walleta: { base_url: baseUrl } };
    const wallets = await side.startWallets(dead);
    await desk.clear();
    if (baseUrl !== '') await startMany(desk, merchantId, 60, WALLETA_USSD, `A-${name}`);
    const before = await desk.query(`select 1 from core.orders where status = 'COMPLETED'`);

    const started = await startMany(desk, merchantId, 60, WALLETB_USSD, `B-${name}`);
    await waitUntil(`wallet B's payments complete though wallet A ${name}`, async () => {
      const rows = await desk.query(`select 1 from core.orders where status = 'COMPLETED'`);
      return rows.length === before.length + started.length;
    });
    const times = (await completed(desk, started)).map(({ totalMs }) => totalMs);
    figures[name] = quantiles(times);
    await wallets.stop();
  }

  console.log('wallet B, creation to COMPLETED in ms, while wallet A is …', figures);
});

test('a wallet that is down at start, and for long, is paid through once it is there; each payer once', async () => {
  const { side, desk, merchantId } = await openSide();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const wallets = await side.startWallets({
    walleta: { base_url: `${url}/walleta` },
    walletb: { base_url: `${url}/walletb` },
  });
  const started = await startMany(desk, merchantId, 20, WALLETA_USSD, 'D');
  await waitUntil('the wallet is left alone', () =>
    wallets.log.some(({ wallet, next_check_ms: restMs }) => wallet === 'walleta-sandbox' && restMs === 5_000),
  );

  await side.startSimulator({ GATEHOUSE_SIMULATOR_PORT: String(port) });

  await completed(desk, started);
  expect(wallets.log.some(({ msg }) => msg === 'circuit closed: the wallet has recovered')).toBe(true);
  const payers = (await side.charges()).map(({ payer }) => payer);
  expect(payers).toHaveLength(20);
  expect(new Set(payers).size).toBe(20);
});

test('without the broker payments complete all the same', async () => {
  const nats = { GATEHOUSE_NATS_URL: `nats://127.0.0.1:${await freePort()}` };
  // The NATS client cannot be closed before it is connected, so only an exit ends it.
  const { side, desk, merchantId } = await openSide({ ownProcesses: true, settings: nats });
  await side.startSimulator();
  await side.startWallets({ settings: nats });

  const started = await startMany(desk, merchantId, 30, WALLETA_USSD, 'N');

  expect(await completed(desk, started)).toHaveLength(30);
  expect(await side.charges()).toHaveLength(30);
});

test('two processes side by side share the work, and nobody is charged twice', async () => {
  const { side, desk, merchantId } = await openSide({ cores: 2 });
  await side.startSimulator();
  const both = await Promise.all([side.startWallets(), side.startWallets()]);

  const started = (
    await Promise.all([
      startMany(desk, merchantId, 100, WALLETA_USSD, 'A'),
      startMany(desk, merchantId, 100, WALLETB_USSD, 'B'),
    ])
  ).flat();
  const times = await completed(desk, started);

  const payers = (await side.charges()).map(({ payer }) => payer);
  expect(payers).toHaveLength(200);
  expect(new Set(payers).size).toBe(200);
  for (const { log } of both) expect(log.some(({ msg }) => msg === 'payment')).toBe(true);
  console.log('200 payments at once, in ms', {
    'creation to COMPLETED': quantiles(times.map(({ totalMs }) => totalMs)),
    'callback to COMPLETED': quantiles(times.map(({ callbackMs }) => callbackMs)),
  });
});

test('a production payment through a wallet that nobody set up is a 400 on payment_option, at once', async () => {
  const stack = await startStack({ settings: { GATEHOUSE_PAYMENT_OPTIONS_PRODUCTION: 'walletb_ussd' } });
  cleanUps.push(stack.stop);
  const merchant = await stack.createMerchant();
  const pay = (baseUrl: string | undefined, apiKey: string, option: string) =>
    fetch(`${baseUrl}/api/v1/direct?payment_option=${option}`, {
      method: 'POST',
      headers: { apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ order_number: 'P-1', amount: '1.00', currency: 'ETB', phone: '0911223344' }),
    });
  const [facade] = stack.facades;

  const refused = await pay(facade?.production, merchant.liveKey, 'walleta_ussd');

  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({
    code: 400,
    message: 'Invalid request parameters',
    details: [{ field: 'payment_option', issue: expect.any(String) }],
  });
  expect((await pay(facade?.production, merchant.liveKey, 'walletb_ussd')).status).toBe(201);
  expect((await pay(facade?.sandbox, merchant.testKey, 'walleta_ussd')).status).toBe(201);
});

test('a payment by itself is decided as soon as its wallet calls back', async () => {
  const { stack, side, desk } = await openSide({ facades: 1 });
  await side.startSimulator();
  await side.startWallets();
  const merchant = await stack.createMerchant();
  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${stack.facades[0]?.sandbox}/api/v1/${path}`, {
      method: 'POST',
      headers: { apiKey: merchant.testKey, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const answerMs: number[] = [];
  const verifiedMs: number[] = [];

  for (let index = 0; index < 40; index += 1) {
    const body = {
      order_number: `T-${index}`,
      amount: '1.00',
      currency: 'ETB',
      phone: `09117${10_000 + index}`,
    };
    const startedAt = performance.now();
    expect((await post('direct?payment_option=walleta_ussd', body)).status).toBe(201);
    answerMs.push(performance.now() - startedAt);
    const seenAt = await waitUntil('verify says COMPLETED', async () => {
      const answer = (await (await post('verify', body)).json()) as { data: { status: string } };
      return answer.data.status === 'COMPLETED' && Date.now();
    });
    const [row] = await desk.query<{ merchant: string; id: string }>(
      'select merchant_id as merchant, id from core.payment_attempts order by created_at desc limit 1',
    );
    const { exchanges } = await desk.payments.getPaymentAttempt({
      merchantId: merchant.id,
      paymentAttemptId: publicId('pat', row?.id ?? ''),
    });
    const callback = exchanges.find(({ purpose }) => purpose === 'callback')?.startTime;
    if (callback !== undefined) verifiedMs.push(seenAt - timestampDate(callback).getTime());
  }

  expect(verifiedMs.length).toBeGreaterThan(0);
  console.log('one at a time, in ms', {
    'direct answered 201': quantiles(answerMs),
    'callback to COMPLETED in verify': { ...quantiles(verifiedMs), count: verifiedMs.length },
  });
});
