import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import type { PaymentDesk } from '../integration/core/payment-desk.ts';
import type { WalletSide } from '../integration/wallets/wallet-processes.ts';
import { insist, waitUntil } from '../support/wait-until.ts';
import { openPaymentSite } from './payment-site.ts';
import type { PaymentSite } from './payment-site.ts';

let site: PaymentSite | undefined;

afterEach(() => site?.close());

const rounds = 4;
const paymentsPerRound = 24;

/** Payers whose wallet loses its answer, fails, or sends callbacks at unusual moments, and is paid nevertheless. */
const oddRows = [['08', '11'], ['12'], ['14', '17'], ['21']];

/** Starts a payment, and repeats it with the same order_number until core has answered, as a shop would. */
async function pay(desk: PaymentDesk, merchantId: string, orderNumber: string, phone: string): Promise<void> {
  const paymentOption = phone.startsWith('25170') ? 'walletb_ussd' : 'walleta_ussd';
  await insist(`${orderNumber} is accepted`, () =>
    desk.startDirect({ merchantId, orderNumber, phone, paymentOption }),
  );
}

/** The leases of killed workers end now instead of after 45 s. Those of running workers are shortened too. */
const endLeases = (desk: PaymentDesk): Promise<unknown> =>
  desk.query(
    // An attempt that core has locked now does not belong to the killed process, and waiting for it could end in a
    // deadlock.
    `update core.payment_attempts set leased_until = now(), due_at = now() where id in (
       select id from core.payment_attempts where leased_until > now() and due_at is not null for update skip locked)`,
  );

async function countPending(desk: PaymentDesk): Promise<number> {
  const [row] = await desk.query<{ pending: number }>(`
    select count(*)::int as pending from core.orders where status = 'PENDING'`);
  return row?.pending ?? 0;
}

/** Compares the wallet's ledger with the orders. Returns every difference. */
async function disagreements(desk: PaymentDesk, side: WalletSide): Promise<string[]> {
  const charges = await side.charges();
  const byPayer = Map.groupBy(charges, ({ payer }) => payer.replace(/^\+/, ''));
  const orders = await desk.query<{ phone: string; status: string; number: string; strays: number }>(`
    select substr(a.phone, 2) as phone, o.status, o.order_number as number,
      (select count(*)::int from core.stray_payments s where s.order_id = o.id) as strays
    from core.orders o join core.payment_attempts a on a.order_id = o.id`);
  const faults: string[] = [];
  for (const { phone, status, number, strays } of orders) {
    const taken = byPayer.get(phone) ?? [];
    byPayer.delete(phone);
    if (taken.length > 1) faults.push(`${number} was charged ${taken.length} times`);
    if (status === 'COMPLETED' && (taken.length !== 1 || taken[0]?.amount !== '100.5'))
      faults.push(`${number} is COMPLETED, the ledger says ${JSON.stringify(taken)}`);
    if (taken.length > 0 && status !== 'COMPLETED' && strays === 0)
      faults.push(`${number} is ${status}, the ledger says ${JSON.stringify(taken)}`);
  }
  for (const payer of byPayer.keys()) faults.push(`${payer} was charged for no order`);
  return faults;
}

test('no payer is charged twice, and every charge has its order, when wallets or core are killed around the send', async () => {
  site = await openPaymentSite({ cores: 2, wallets: 2, timeScale: 0.3 });
  const { stack, side, desk, kill, kills } = site;
  const { id: merchantId } = await stack.createMerchant();
  const inFlight: number[] = [];
  const shops: Promise<void>[] = [];

  for (let round = 0; round < rounds; round += 1) {
    for (let index = 0; index < paymentsPerRound; index += 1) {
      const number = round * paymentsPerRound + index;
      const phone = `${number % 2 === 0 ? '25190' : '25170'}1${String(number).padStart(6, '0')}`;
      shops.push(pay(desk, merchantId, `K-${number}`, phone));
    }
    for (const odd of oddRows[round] ?? [])
      for (const prefix of ['25190', '25170'])
        shops.push(pay(desk, merchantId, `K-${prefix}-${odd}`, `${prefix}00000${odd}`));
    // At any moment: while leasing, while sending, between the answer and the record, or during a callback.
    await delay(randomInt(400));
    inFlight.push(await countPending(desk));
    const startWallets = await kill('wallets', round % 3 === 2 ? 'all' : 'oldest');
    await endLeases(desk);
    await startWallets();
    if (round % 2 === 1) await (await kill('core'))();
    if (round % 3 === 1) await (await kill('simulator'))();
  }
  await Promise.all(shops);
  await endLeases(desk);
  await waitUntil('every order is decided', async () => (await countPending(desk)) === 0);

  expect(await disagreements(desk, side)).toEqual([]);
  expect(kills()).toBeGreaterThanOrEqual(8);
  console.log(`${kills()} kills, with payments in flight: ${inFlight.join(', ')}`);
});
