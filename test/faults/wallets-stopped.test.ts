import { expect, test, beforeEach } from '@jest/globals';
import { insist, waitUntil } from '../support/wait-until.ts';
import { sharedPaymentDesk } from '../integration/core/payment-desk.ts';
import { completed, startMany } from '../integration/wallets/many-payments.ts';
import { openWalletSide } from '../integration/wallets/wallet-processes.ts';
import { startTcpServer } from '../integration/webhooks/receivers.ts';
import { storedId } from '../support/ids.ts';
import { closersOfEachTest, sharedStack } from '../support/shared-stack.ts';
import { sql } from '../support/sql.ts';
import type { WalletSide } from '../integration/wallets/wallet-processes.ts';
import { withinTenSeconds } from './within-ten-seconds.ts';

const cleanUps = closersOfEachTest();

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
let side: WalletSide;
let merchantId: string;
beforeEach(async () => {
  // Payments that a failed test left would be charged by the wallets of the next one.
  await desk.clear();
  side = openWalletSide(stack, { timeScale: 0.1, ownProcesses: ['wallets'] });
  cleanUps.push(side.stop);
  ({ id: merchantId } = await stack.createMerchant());
});

test('a wallets process that stops while a wallet hangs exits with code 0 within 10 s, and the next process continues its calls', async () => {
  const silent = await startTcpServer((socket) => socket.resume());
  cleanUps.push(silent.close);
  const hanging = { settings: { base_url: `http://127.0.0.1:${silent.port}` }, call_timeout_ms: 30_000 };
  await side.startSimulator();
  const wallets = await side.startWallets({ walleta: hanging, walletb: hanging });
  const started = await startMany(desk, merchantId, 20, 'walleta_ussd', 'S');
  await waitUntil('all have been taken', async () => {
    const rows = await desk.query('select 1 from core.payment_attempts where leased_until > now()');
    return rows.length === started.length;
  });

  const code = await withinTenSeconds('stopping', wallets.stop('SIGTERM'));

  expect(code).toBe(0);
  const left = await desk.query('select 1 from core.payment_attempts where leased_until is not null');
  expect(left).toEqual([]);
  await side.startWallets();
  await completed(desk, started);
  expect(await side.charges()).toHaveLength(20);
});

test('no payment is lost or charged twice when wallets processes are stopped repeatedly under load', async () => {
  await side.startSimulator();
  const started = startMany(desk, merchantId, 120, 'walletb_ussd', 'L');
  let running = await side.startWallets();

  for (const share of [10, 40, 80]) {
    await waitUntil(`${share} are COMPLETED`, async () => {
      const rows = await desk.query(sql`select 1 from core.orders
        where status = 'COMPLETED' and merchant_id = ${storedId('mer', merchantId)}`);
      return rows.length >= share;
    });
    const [code, next] = await Promise.all([running.stop('SIGTERM'), side.startWallets()]);
    expect(code).toBe(0);
    running = next;
  }

  await completed(desk, await started);
  const payers = (await side.charges()).map(({ payer }) => payer);
  expect(payers).toHaveLength(120);
  expect(new Set(payers).size).toBe(120);
});

test('a wallets process that cannot reach core keeps trying, and exits within 10 s of SIGTERM', async () => {
  await side.startSimulator();
  const wallets = await side.startWallets();
  const [core] = stack.cores;
  const started = await startMany(desk, merchantId, 10, 'walleta_ussd', 'C');
  await core?.stop();
  await waitUntil('it has noticed', () =>
    wallets.log.some(({ msg }) => msg === 'work could not be leased from core; trying again'),
  );
  const lonely = await side.startWallets();

  expect(await withinTenSeconds('stopping', lonely.stop('SIGTERM'))).toBe(0);

  await stack.replaceCore();
  await desk.query(`
    update core.payment_attempts set leased_until = now(), due_at = now() where leased_until > now()`);
  await insist('core answers the desk again', () =>
    Promise.all(started.map((payment) => desk.story(payment))),
  );
  await completed(desk, started);
  expect(await side.charges()).toHaveLength(10);
});
