import { expect, test } from '@jest/globals';
import { walletsOfCore } from '../../support/simulated-wallets.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack, StackOptions } from '../../support/stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openPaymentDesk } from '../core/payment-desk.ts';
import type { PaymentDesk } from '../core/payment-desk.ts';
import { completed, startMany } from './many-payments.ts';
import { freePort, openWalletSide, startSilentServer } from './wallet-processes.ts';
import type { WalletSide } from './wallet-processes.ts';
import { closersOfEachTest } from '../../support/shared-stack.ts';

const cleanUps = closersOfEachTest();

async function openSide(
  options: StackOptions = {},
): Promise<{ stack: Stack; side: WalletSide; desk: PaymentDesk; merchantId: string }> {
  const stack = await startStack({ facades: 0, ...options });
  cleanUps.push(stack.stop);
  const side = openWalletSide(stack, { ownProcesses: options.ownProcesses === true ? ['wallets'] : [] });
  cleanUps.push(side.stop);
  const desk = await openPaymentDesk(stack);
  cleanUps.push(desk.close);
  const { id: merchantId } = await stack.createMerchant();
  return { stack, side, desk, merchantId };
}

test('a wallet that is unavailable or hangs does not delay payments at another wallet', async () => {
  const { side, desk, merchantId } = await openSide();
  const silent = await startSilentServer();
  cleanUps.push(silent.stop);
  await side.startSimulator();

  for (const [name, baseUrl] of [
    ['refuses', `http://127.0.0.1:${await freePort()}`],
    ['hangs', silent.url],
  ] as const) {
    const wallets = await side.startWallets({
      walleta: { settings: { base_url: baseUrl }, max_in_flight: 8 },
    });
    await desk.clear();
    // More payments than walleta may have in progress.
    await startMany(desk, merchantId, 20, 'walleta_ussd', `A-${name}`);

    const started = await startMany(desk, merchantId, 10, 'walletb_ussd', `B-${name}`);

    await completed(desk, started);
    await wallets.stop();
  }
});

test('payments at a wallet that is unavailable at the start are made when it is available, each once', async () => {
  const { side, desk, merchantId } = await openSide();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const wallets = await side.startWallets({
    walleta: { settings: { base_url: `${url}/walleta` } },
    walletb: { settings: { base_url: `${url}/walletb` } },
  });
  const started = await startMany(desk, merchantId, 20, 'walleta_ussd', 'D');
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

test('payments complete without the broker', async () => {
  const nats = { GATEHOUSE_NATS_URL: `nats://127.0.0.1:${await freePort()}` };
  // The NATS client cannot be closed before it is connected, so only an exit ends it.
  const { side, desk, merchantId } = await openSide({ ownProcesses: true, settings: nats });
  await side.startSimulator();
  await side.startWallets({ settings: nats });

  const started = await startMany(desk, merchantId, 10, 'walleta_ussd', 'N');

  await completed(desk, started);
  expect(await side.charges()).toHaveLength(10);
});

test('a production payment at a wallet that is not configured gets 400 on payment_option', async () => {
  const stack = await startStack({
    settings: { GATEHOUSE_WALLETS: walletsOfCore({ walleta: { environments: ['sandbox'] } }) },
  });
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
