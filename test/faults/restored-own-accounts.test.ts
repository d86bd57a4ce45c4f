import { afterEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { Environment, OrderStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import {
  RecoveredWalletProblem,
  RecoveredWalletState,
  RecoveryService,
  RecoveryStream,
} from '../../src/gen/gatehouse/v1/recovery_service_pb.js';
import {
  ReconciliationService,
  ReconciliationStatus,
} from '../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import { startTemporaryNats } from '../../src/main/local/temporary-servers.ts';
import { createMerchantWithAccount } from '../e2e/own-account.ts';
import { storedId } from '../support/ids.ts';
import type { TestMerchant } from '../support/stack.ts';
import { insist, waitUntil } from '../support/wait-until.ts';
import { numbers, openDrill, Shop } from './restore-drill.ts';

/* The drill of docs/operating/backup.md with merchants whose payments go to an account of their own. */

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const environment = Environment.SANDBOX;
const payee = 'accountid 3001';

/** The drill with two merchants who share a payee account. */
async function openOwnDrill() {
  const drill = await openDrill(closers);
  const { stack } = drill;
  const { WALLETA_CLIENT_SECRET: client_secret, WALLETA_API_KEY: api_key } = stack.ground.simulated.secrets;
  const values = {
    client_id: 'walleta',
    client_secret,
    api_key,
    'payee.type': 'accountid',
    'payee.id': '3001',
  };
  const orders = stack.client(OrderService, 'reader');
  const openShop = async () => {
    const merchant = await createMerchantWithAccount(stack, 'walleta', values);
    const shop = new Shop(stack, merchant, `${drill.receiver.origin}/hook`);
    const isCompleted = (orderNumber: string): Promise<boolean> =>
      insist('core answers', async () => {
        const key = { case: 'orderNumber', value: orderNumber } as const;
        const { order } = await orders.getOrder({ merchantId: merchant.id, environment, key });
        return order?.status === OrderStatus.COMPLETED;
      });
    return {
      merchant,
      shop,
      /** Pays the orders, and waits until they are paid. */
      pay: async (all: readonly string[]) => {
        for (const number of all) expect((await shop.pay(number)).status).toBe(201);
        await waitUntil('every payment is completed', async () =>
          (await Promise.all(all.map(isCompleted))).every(Boolean),
        );
      },
    };
  };
  const first = await openShop();
  const second = await openShop();
  const walletaOf = async () =>
    (await drill.recovery())?.wallets.find(
      (each) => each.wallet === 'walleta' && each.environment === environment,
    );
  return { ...drill, first, second, walletaOf };
}

/** The accounts of a merchant's attempts, and its own account. */
async function accountsOf(databaseUrl: string, { id }: TestMerchant) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const merchant = [storedId('mer', id)];
    const used = await client.query<{ account: string | null }>(
      'select distinct wallet_account_id as account from core.payment_attempts where merchant_id = $1',
      merchant,
    );
    const own = await client.query<{ id: string }>(
      'select id from core.wallet_accounts where merchant_id = $1',
      merchant,
    );
    return { used: used.rows.map(({ account }) => account), own: own.rows.map((account) => account.id) };
  } finally {
    await client.end();
  }
}

test('a gateway that was restored with its broker reads the statements of own accounts too, and opens by itself', async () => {
  const { stack, first, second, ...drill } = await openOwnDrill();
  const before = numbers('B', 1, 1);
  await first.pay(before);
  await drill.backUp();
  const after = numbers('A', 201, 3);
  const others = numbers('S', 301, 1);
  await first.pay(after);
  await second.pay(others);
  const charged = await drill.charges();
  await drill.loseAndRestore();
  await drill.startCore();

  const open = await waitUntil('the sandbox is open', drill.isOpen);
  expect(open.stream).toBe(RecoveryStream.COMPLETE);
  expect(await drill.walletaOf()).toMatchObject({
    state: RecoveredWalletState.READ,
    problem: RecoveredWalletProblem.UNSPECIFIED,
    unreadStatements: [],
  });
  const { reconciliations } = await stack
    .client(ReconciliationService, 'reader')
    .listReconciliations({ wallet: 'walleta', environment });
  const own = reconciliations.filter((each) => each.payee === payee);
  expect(own.length).toBeGreaterThan(0);
  for (const { status, startedBy } of own)
    expect({ status, startedBy }).toEqual({ status: ReconciliationStatus.COMPLETED, startedBy: 'recovery' });
  await first.pay([...before, ...after]);
  await second.pay(others);
  expect(await drill.charges()).toEqual(charged);
  await drill.nothingWasChanged();
});

test('a gateway that was restored without its broker finds lost payments at own accounts, and charges no customer again', async () => {
  const { stack, first, second, ...drill } = await openOwnDrill();
  const before = numbers('B', 1, 1);
  await first.pay(before);
  await drill.backUp();
  const after = numbers('A', 201, 3);
  const others = numbers('S', 301, 2);
  // The second merchant has an order with the same number, which nobody has paid.
  const samePhone = after[0]!;
  const operators = numbers('O', 401, 1);
  await first.pay(after);
  await second.pay(others);
  await drill.pay(operators);
  await drill.allCompleted(operators);
  const charged = await drill.charges();
  await drill.loseAndRestore();
  const broker = await startTemporaryNats();
  closers.push(broker.stop);
  await drill.startCore({ GATEHOUSE_NATS_URL: broker.url });

  // A merchant may have added another account in the lost time, of which no record exists.
  const waiting = await waitUntil('the statements are read', async () => {
    const walleta = await drill.walletaOf();
    return walleta?.problem === RecoveredWalletProblem.OWN_ACCOUNTS ? walleta : undefined;
  });
  expect(waiting).toMatchObject({
    state: RecoveredWalletState.WAITING,
    unclaimedPaymentCount: after.length + others.length + operators.length,
    unreadStatements: [],
  });
  expect(await drill.isOpen()).toBeUndefined();
  expect((await first.shop.pay(after[0]!)).status).toBe(503);
  const reason = 'no merchant has added an account since the backup';
  const subject = { case: 'wallet', value: { wallet: 'walleta', environment } } as const;
  await stack.client(RecoveryService, 'operator').acceptRecovery({ subject, reason });
  expect((await waitUntil('the sandbox is open', drill.isOpen)).stream).toBe(RecoveryStream.LOST);

  await first.pay([...before, ...after]);
  await second.pay(others);
  await drill.pay(operators);
  await drill.allCompleted(operators);
  expect(await drill.charges()).toEqual(charged);
  for (const { merchant } of [first, second]) {
    const { used, own } = await accountsOf(stack.databaseUrl, merchant);
    expect(used).toEqual(own);
  }
  // The operator's account has its own payments only.
  expect((await accountsOf(stack.databaseUrl, drill.merchant)).used).toEqual([null]);

  await second.pay([samePhone]);
  const [phone] = [...charged.keys()].filter((each) => each.endsWith(samePhone.slice(-4)));
  expect(await drill.charges()).toEqual(new Map(charged).set(phone!, 2));
  await drill.nothingWasChanged();
});
