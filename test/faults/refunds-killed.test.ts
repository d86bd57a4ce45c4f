import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { Environment } from '../../src/gen/gatehouse/v1/order_pb.js';
import { RefundService } from '../../src/gen/gatehouse/v1/refund_service_pb.js';
import { openPaymentDesk } from '../integration/core/payment-desk.ts';
import type { PaymentDesk } from '../integration/core/payment-desk.ts';
import { openWalletSide } from '../integration/wallets/wallet-processes.ts';
import type { WalletSide } from '../integration/wallets/wallet-processes.ts';
import { startProcess } from '../support/gatehouse-process.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { startStack } from '../support/stack.ts';
import { insist, waitUntil } from '../support/wait-until.ts';

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const rounds = 4;
const ordersPerRound = 8;
/** The amount of each order is 100.50. The last part is more than is left unless an earlier part failed. */
const parts = ['40.00', '', '0.01'];
/** Payers whose wallet refuses, loses the answer of a reversal that completes or fails, or fails the first one. */
const oddPayers = ['22', '23', '26', '28'];

/** What is left of leases whose worker is dead ends now instead of after 45 s; living workers have theirs cut as well. */
const endLeases = (desk: PaymentDesk): Promise<unknown> =>
  desk.query(`update core.refunds set due_at = now() where due_at > now() and leased_until is not null`);

/** The wallet is queried without delay, except by a worker that is about to. */
const makeDue = (desk: PaymentDesk): Promise<unknown> =>
  desk.query(`update core.refunds set due_at = now() where due_at > now() and leased_until is null`);

const count = async (desk: PaymentDesk, sql: string): Promise<number> =>
  (await desk.query<{ count: number }>(sql))[0]?.count ?? 0;

const underWay = (desk: PaymentDesk): Promise<number> =>
  count(desk, `select count(*)::int as count from core.refunds where status = 'REVERSAL_DUE'`);

/** Refunds that the wallet decides. If only repeats were refused, the first request may have succeeded: a person decides. */
const undecided = (desk: PaymentDesk): Promise<number> =>
  count(
    desk,
    `select count(*)::int as count from core.refunds
     where status = 'REVERSAL_DUE' and detail not like '%asked for more than once%'`,
  );

interface Account {
  readonly phone: string;
  /** In minor units: COMPLETED refunds, the order's own sum, and all that are not FAILED. */
  readonly completed: number;
  readonly refunded: number;
  readonly held: number;
}

/** Compares the wallet's ledger with the refunds, to the cent. Gives every disagreement, and the sums. */
async function compare(desk: PaymentDesk, side: WalletSide) {
  const reversed = new Map<string, number>();
  for (const { payer, reversed: amount } of await side.charges())
    reversed.set(
      payer.replace(/^\+/, ''),
      (reversed.get(payer.replace(/^\+/, '')) ?? 0) + Math.round(Number(amount) * 100),
    );
  const accounts = await desk.query<Account>(
    `select substr(a.phone, 2) as phone, coalesce(o.refunded_minor_units, 0)::int as refunded,
       coalesce(sum(r.amount_minor_units) filter (where r.status = 'REVERSED'), 0)::int as completed,
       coalesce(sum(r.amount_minor_units) filter (where r.status not in ('REVERSAL_REFUSED', 'APPROVAL_DECLINED')), 0)::int as held
     from core.orders o join core.payment_attempts a on a.id = o.latest_attempt_id
     left join core.refunds r on r.merchant_id = o.merchant_id and r.order_id = o.id
     group by 1, 2`,
  );
  const faults = accounts
    .filter(
      ({ phone, completed, refunded, held }) =>
        (reversed.get(phone) ?? 0) !== completed || refunded !== completed || held > 10_050,
    )
    .map((account) => `the ledger says ${reversed.get(account.phone)}: ${JSON.stringify(account)}`);
  const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, each) => total + each, 0);
  return { faults, ledger: sum(reversed.values()), ours: sum(accounts.map(({ completed }) => completed)) };
}

test('kill -9 of core and wallets around each step of refunds, with lost answers: ledger and records agree to the cent', async () => {
  const stack = await startStack({ ownProcesses: true, cores: 2, facades: 0 });
  cleanUps.push(stack.stop);
  const journal = await mkdtemp(join(tmpdir(), 'gatehouse-simulator-'));
  cleanUps.push(() => rm(journal, { recursive: true }));
  const side = openWalletSide(stack, { timeScale: 0.3, ownProcesses: true });
  cleanUps.push(side.stop);
  const desk = await openPaymentDesk(stack);
  cleanUps.push(desk.close);
  const { id: merchantId } = await stack.createMerchant();
  await side.startSimulator({ GATEHOUSE_SIMULATOR_JOURNAL_DIR: journal });
  const wallets = await Promise.all([side.startWallets(), side.startWallets()]);

  const orderNumbers: string[] = [];
  const pay = async (orderNumber: string, phone: string, paymentOption: string) => {
    orderNumbers.push(orderNumber);
    await desk.startDirect({ merchantId, orderNumber, phone, paymentOption });
  };
  for (let number = 0; number < rounds * ordersPerRound; number += 1) {
    const [prefix, option] = number % 2 === 0 ? ['25190', 'walleta_ussd'] : ['25170', 'walletb_ussd'];
    await pay(`K-${number}`, `${prefix}1${String(number).padStart(6, '0')}`, option);
  }
  for (const odd of oddPayers) {
    await pay(`A-${odd}`, `2519000000${odd}`, 'walleta_ussd');
    await pay(`B-${odd}`, `2517000000${odd}`, 'walletb_ussd');
  }
  await waitUntil(
    'every order is paid',
    async () =>
      (await count(desk, `select count(*)::int as count from core.orders where status <> 'COMPLETED'`)) === 0,
  );

  const refunds = stack.client(RefundService, 'writer');
  let refused = 0;
  /** Asks again with the same refund_number until core has answered, as a shop would. */
  const refund = (orderNumber: string, refundNumber: string, amount: string) =>
    insist(`${refundNumber} is answered`, async () => {
      try {
        await refunds.createRefund({
          merchantId,
          environment: Environment.SANDBOX,
          order: { case: 'orderNumber', value: orderNumber },
          refundNumber,
          amount,
          reason: 'Came back',
        });
      } catch (error) {
        if (!/must be at most|already cover/.test(String(error))) throw error;
        refused += 1;
      }
    });

  let core = stack.cores[1];
  const grpcPort = stack.addresses[1]?.split(':').at(-1) ?? '';
  let kills = 0;
  const inFlight: number[] = [];
  const kill = async (process: GatehouseProcess): Promise<void> => {
    kills += 1;
    await process.stop('SIGKILL');
  };
  const asked: Promise<unknown>[] = [];
  const perRound = Math.ceil(orderNumbers.length / rounds);
  for (let round = 0; round < rounds; round += 1) {
    for (const orderNumber of orderNumbers.slice(round * perRound, (round + 1) * perRound))
      for (const [index, amount] of parts.entries())
        asked.push(refund(orderNumber, `${orderNumber}-${index}`, amount));
    // Any moment: while creating, leasing, sending, between the answer and the record, while calling back.
    await delay(randomInt(300));
    inFlight.push(await underWay(desk));
    const killed = round % 3 === 2 ? wallets.splice(0) : wallets.splice(0, 1);
    await Promise.all(killed.map(kill));
    await endLeases(desk);
    wallets.push(...(await Promise.all(killed.map(() => side.startWallets()))));
    if (round % 2 === 1) {
      if (core !== undefined) await kill(core);
      core = await startProcess('core', { ...stack.coreSettings, GATEHOUSE_CORE_GRPC_PORT: grpcPort });
      cleanUps.push(core.stop);
    }
  }
  await Promise.all(asked);
  await endLeases(desk);
  await waitUntil('every refund is decided', async () => {
    await makeDue(desk);
    return (await undecided(desk)) === 0;
  }).catch(async (error: unknown) => {
    const rows = await desk.query(
      `select r.refund_number, r.tries, r.maybe_sent, r.detail, r.provider_reference, r.due_at, r.leased_until
       from core.refunds r where r.status = 'REVERSAL_DUE'`,
    );
    throw new Error(JSON.stringify(rows), { cause: error });
  });

  const { faults, ledger, ours } = await compare(desk, side);
  expect(faults).toEqual([]);
  expect(ledger).toBe(ours);
  expect(kills).toBeGreaterThanOrEqual(6);
  const states = await desk.query<{ status: string; count: number }>(
    'select status, count(*)::int as count from core.refunds group by 1 order by 1',
  );
  expect(states.map(({ status }) => status)).toEqual(
    expect.arrayContaining(['REVERSED', 'REVERSAL_REFUSED']),
  );
  const [twice] = await desk.query<{ count: number }>(
    `select count(*)::int as count from (
       select order_id from core.order_events where type::text like 'REFUND_%' and type <> 'REFUND_REQUESTED'
       group by order_id, sequence having count(*) > 1) e`,
  );
  expect(twice?.count).toBe(0);
  console.log(
    `${kills} kills, refunds in flight: ${inFlight.join(', ')}; ${JSON.stringify(states)}, ${refused} refused as too much; ledger ${ledger / 100}, records ${ours / 100}`,
  );
});
