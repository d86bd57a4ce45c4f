import { expect, test } from '@jest/globals';
import { OrderStatus } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { storedId } from '../../support/ids.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { openPaymentDesk } from '../core/payment-desk.ts';
import { completed, startMany } from './many-payments.ts';
import { openWalletSide } from './wallet-processes.ts';
import { closedPort, refusingPort, startTcpServer } from '../webhooks/receivers.ts';
import { closersOfEachTest, sharedStack } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';

const cleanUps = closersOfEachTest();
const stack = sharedStack({ facades: 0 });

/** Another wallet and another merchant for each test. Payments that earlier tests left are not due. */
async function openSide() {
  const side = openWalletSide(stack);
  cleanUps.push(side.stop);
  const desk = await openPaymentDesk(stack);
  cleanUps.push(desk.close);
  await desk.clear();
  const { id: merchantId } = await stack.createMerchant();
  return { side, desk, merchantId };
}

test('a wallet that is unavailable or hangs does not delay payments at another wallet', async () => {
  const { side, desk, merchantId } = await openSide();
  const silent = await startTcpServer((socket) => socket.resume());
  cleanUps.push(silent.close);
  await side.startSimulator();

  for (const [name, baseUrl] of [
    ['refuses', `http://127.0.0.1:${refusingPort}`],
    ['hangs', `http://127.0.0.1:${silent.port}`],
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

test('payments of one merchant that hang do not delay payments of other merchants at the same wallet', async () => {
  const { side, desk, merchantId } = await openSide();
  await side.startSimulator();
  const wallets = await side.startWallets({ walleta: { max_in_flight: 8 } });
  const another = await stack.createMerchant();
  // More than its slots.
  const stuck = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      desk.startDirect({ merchantId, orderNumber: `H-${index}`, phone: '251900000015' }),
    ),
  );
  await waitUntil('enough have timed out to look like a wallet in trouble', async () => {
    const lost = await desk.query(sql`select 1 from core.payment_attempts
      where status = 'UNKNOWN' and merchant_id = ${storedId('mer', merchantId)}`);
    return lost.length > 8;
  });

  const ordinary = await desk.startDirect({ merchantId: another.id, phone: '251900000000' });

  await completed(desk, [ordinary]);
  const stories = await Promise.all(stuck.map(desk.story));
  expect(stories.map(({ order }) => order?.status)).toEqual(stuck.map(() => OrderStatus.PENDING));
  expect(wallets.log.filter(({ msg }) => String(msg).startsWith('circuit open: the wallet'))).toEqual([]);
});

test('payments at a wallet that is unavailable at the start are made when it is available, each once', async () => {
  const { side, desk, merchantId } = await openSide();
  const port = await closedPort();
  const url = `http://127.0.0.1:${port}`;
  const wallets = await side.startWallets({
    walleta: { settings: { base_url: `${url}/walleta` } },
    walletb: { settings: { base_url: `${url}/walletb` } },
  });
  const started = await startMany(desk, merchantId, 20, 'walleta_ussd', 'D');
  await waitUntil('the wallet is left alone', () =>
    wallets.log.some(
      ({ wallet, next_check_ms: cooldownMs }) => wallet === 'walleta-sandbox' && cooldownMs === 5_000,
    ),
  );

  await side.startSimulator({ GATEHOUSE_SIMULATOR_PORT: String(port) });

  await completed(desk, started);
  expect(wallets.log.some(({ msg }) => msg === 'circuit closed: the wallet has recovered')).toBe(true);
  const payers = (await side.charges()).map(({ payer }) => payer);
  expect(payers).toHaveLength(20);
  expect(new Set(payers).size).toBe(20);
});
