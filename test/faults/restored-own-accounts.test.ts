import { expect, test } from '@jest/globals';
import { CheckFinding } from '../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { Environment, OrderStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../src/gen/gatehouse/v1/order_service_pb.js';
import { RecoveryStream } from '../../src/gen/gatehouse/v1/recovery_service_pb.js';
import {
  MerchantWalletService,
  WalletAccountCheck,
} from '../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { createMerchantWithAccount } from '../e2e/own-account.ts';
import { connectTo } from '../integration/core/broker-messages.ts';
import { storedId } from '../support/ids.ts';
import type { TestMerchant } from '../support/stack.ts';
import { insist, waitUntil } from '../support/wait-until.ts';
import { numbers, openDrill, Shop } from './restore-drill.ts';
import { closersOfEachTest } from '../support/shared-stack.ts';
import { queryOnce } from '../support/database-connections.ts';
import { sql } from '../support/sql.ts';

/*
 * The drill of docs/operating/backup.md with merchants whose payments go to an account of their own. own-accounts.test.ts and
 * recovery-statements.test.ts have the rules for the payments that their statements show.
 */

const closers = closersOfEachTest();

const environment = Environment.SANDBOX;

/** The drill with a merchant who has an account of its own. */
async function openOwnDrill() {
  const drill = await openDrill(closers);
  const { stack } = drill;
  const { WALLETA_CLIENT_SECRET: client_secret, WALLETA_API_KEY: api_key } = stack.ground.simulated.secrets;
  const valuesOf = (id: string) => ({
    client_id: 'walleta',
    client_secret,
    api_key,
    'payee.type': 'accountid',
    'payee.id': id,
  });
  const orders = stack.client(OrderService, 'reader');
  const openShop = (merchant: TestMerchant) => {
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
  const first = openShop(await createMerchantWithAccount(stack, 'walleta', valuesOf('3001')));
  const owners = stack.client(MerchantWalletService, 'dashboard');
  const walletaOf = async () =>
    (await drill.recovery())?.wallets.find(
      (each) => each.wallet === 'walleta' && each.environment === environment,
    );
  return {
    ...drill,
    first,
    /** The merchants that wait in the sandbox, sorted. */
    held: async (): Promise<string[]> =>
      ((await drill.recovery())?.heldMerchants ?? [])
        .filter((each) => each.environment === environment)
        .map(({ merchantId }) => merchantId)
        .toSorted(),
    walletaOf,
    openShop,
    /** Adds an account, as the dashboard does, or under the id of a lost one. It is used after it was promoted. Gives its id. */
    addAccount: async ({ id: merchantId }: TestMerchant, payeeId: string, walletAccountId = '') => {
      const { account } = await owners.addWalletAccount({
        ...{ merchantId, environment, wallet: 'walleta', values: valuesOf(payeeId), walletAccountId },
      });
      return account?.walletAccountId ?? '';
    },
    promote: async ({ id: merchantId }: TestMerchant, walletAccountId: string): Promise<void> => {
      await waitUntil('the account is checked', async () => {
        const { wallets } = await owners.listMerchantWallets({ merchantId, environment });
        return wallets
          .flatMap(({ accounts }) => accounts)
          .some(
            (each) => each.walletAccountId === walletAccountId && each.check === WalletAccountCheck.ACCEPTED,
          );
      });
      await owners.promoteWalletAccount({ merchantId, walletAccountId });
    },
  };
}

/** The number of attempts of each account of a merchant. */
async function accountsOf(databaseUrl: string, { id }: TestMerchant): Promise<Map<string | null, number>> {
  const payments = await queryOnce<{ account: string | null; count: number }>(
    databaseUrl,
    sql`select wallet_account_id as account, count(*)::integer as count from core.payment_attempts
      where merchant_id = ${storedId('mer', id)} group by 1`,
  );
  return new Map(payments.map(({ account, count }) => [account, count]));
}

/** The lost time in which one merchant changes its account, and another one adds its first. */
async function changeAccountsInTheLostTime() {
  const drill = await openOwnDrill();
  const { stack, first } = drill;
  const added = drill.openShop(await stack.createMerchant());
  await first.pay(numbers('B', 1, 1));
  await drill.backUp();
  const accounts = {
    changed: await drill.addAccount(first.merchant, '3002'),
    added: await drill.addAccount(added.merchant, '3003'),
  };
  await drill.promote(first.merchant, accounts.changed);
  await drill.promote(added.merchant, accounts.added);
  const orders = { changed: numbers('A', 200, 2), added: numbers('S', 300, 2) };
  await first.pay(orders.changed);
  await added.pay(orders.added);
  /** The shops repeat all orders, and no customer is charged again. */
  const repeatAll = async (charged: ReadonlyMap<string, number>): Promise<void> => {
    await first.pay(orders.changed);
    await added.pay(orders.added);
    expect(await drill.charges()).toEqual(charged);
  };
  return { ...drill, added, accounts, orders, repeatAll };
}

test('a gateway that was restored with its broker names the accounts that it lost, and waits until they are added again under their ids', async () => {
  const { stack, first, added, accounts, orders, ...drill } = await changeAccountsInTheLostTime();
  // The payer confirms when the database is lost already, so no event tells the account of this payment.
  const [late, latePayer] = ['L-0001', '251900000020'];
  expect((await first.shop.pay(late, latePayer)).status).toBe(201);
  const prompt = await waitUntil('the payer is asked', async () => {
    const response = await fetch(`${stack.simulatorUrl}/simulator/prompts?payer=${latePayer}&status=open`);
    return ((await response.json()) as { readonly prompts: readonly { readonly id: string }[] }).prompts[0];
  });
  await drill.loseAndRestore();
  const approval = `${stack.simulatorUrl}/simulator/prompts/${prompt.id}/approve`;
  expect((await fetch(approval, { method: 'POST' })).status).toBe(200);
  const charged = await drill.charges();
  expect(charged.get(latePayer)).toBe(1);
  const core = await drill.startCore();
  const heldCount = async () => {
    const page = await (await fetch(`http://${String(core.ready['connect'])}/metrics`)).text();
    return /^gatehouse_recovery_held_merchants\{environment="sandbox"\} (\d+)$/m.exec(page)?.[1];
  };

  // Other merchants do not wait for these accounts.
  await waitUntil('the sandbox is open', drill.isOpen);
  const waiting = (await drill.walletaOf())!;
  const changed = {
    merchantId: first.merchant.id,
    walletAccountId: accounts.changed,
    payee: 'accountid 3002',
  };
  const firstOne = {
    merchantId: added.merchant.id,
    walletAccountId: accounts.added,
    payee: 'accountid 3003',
  };
  expect(waiting.missingAccounts).toHaveLength(2);
  expect(waiting.missingAccounts).toEqual(
    expect.arrayContaining([expect.objectContaining(changed), expect.objectContaining(firstOne)]),
  );
  expect((await drill.recovery())?.stream).toBe(RecoveryStream.COMPLETE);
  const lacking = [first.merchant.id, added.merchant.id].toSorted().join();
  await waitUntil('only they wait', async () => (await drill.held()).join() === lacking);
  await drill.acceptProduction();
  // Core answers a decision after five seconds, even if production is opened later.
  const check = await waitUntil('production is open', async () => {
    const found = await drill.recoveryCheck();
    return found?.finding !== CheckFinding.RECOVERING && found;
  });
  expect(check).toMatchObject({
    finding: CheckFinding.MERCHANTS_HELD,
    facts: { value: { heldMerchantCount: 2n, heldMerchantIds: lacking.split(',') } },
  });
  await waitUntil('the metric shows them', async () => (await heldCount()) === '2');
  expect((await first.shop.pay('N-0900')).status).toBe(503);
  await drill.pay(['O-0901']);
  await drill.allCompleted(['O-0901']);
  const expected = new Map(charged).set('251901110901', 1);

  // By its id, and as a merchant adds it in the dashboard.
  expect(await drill.addAccount(first.merchant, '3002', accounts.changed)).toBe(accounts.changed);
  await waitUntil(
    'the first merchant is free',
    async () => (await drill.held()).join() === added.merchant.id,
  );
  expect(await drill.addAccount(added.merchant, '3003')).toBe(accounts.added);
  await waitUntil('both merchants are free', async () => (await drill.held()).length === 0);
  await waitUntil('the metric shows none', async () => (await heldCount()) === '0');
  expect((await drill.walletaOf())?.missingAccounts).toEqual([]);

  await drill.repeatAll(expected);
  await waitUntil('the late payment is completed', async () => {
    const answer = await first.shop.pay(late, latePayer);
    return answer.body.payment_status === 'COMPLETED';
  });
  expect(await drill.charges()).toEqual(expected);
  // Each payment has the account that took its money.
  const used = await accountsOf(stack.databaseUrl, first.merchant);
  expect(used.get(storedId('wac', accounts.changed))).toBe(orders.changed.length + 1);
  expect([...(await accountsOf(stack.databaseUrl, added.merchant)).keys()]).toEqual([
    storedId('wac', accounts.added),
  ]);
  await drill.nothingWasChanged();
});

test('an account that only events of payments name is missed too, and takes its payments again under its id', async () => {
  const { stack, first, ...drill } = await openOwnDrill();
  await first.pay(numbers('B', 1, 1));
  await drill.backUp();
  const account = await drill.addAccount(first.merchant, '3002');
  await drill.promote(first.merchant, account);
  const after = numbers('A', 201, 2);
  await first.pay(after);
  const charged = await drill.charges();
  // As a core of release 0.1.0 writes the stream.
  await forgetAccountChanges(stack.coreSettings['GATEHOUSE_NATS_URL'] ?? '', first.merchant);
  await drill.loseAndRestore();
  await drill.startCore();

  await waitUntil('the sandbox is open', drill.isOpen);
  expect((await drill.recovery())?.stream).toBe(RecoveryStream.COMPLETE);
  const [missing, ...others] = (await drill.walletaOf())?.missingAccounts ?? [];
  expect(others).toEqual([]);
  expect(missing).toMatchObject({ merchantId: first.merchant.id, walletAccountId: account });
  expect(missing?.payee).toBeUndefined();
  await waitUntil('only it waits', async () => (await drill.held()).join() === first.merchant.id);
  expect(await drill.addAccount(first.merchant, '3002', account)).toBe(account);
  await waitUntil('the merchant is free', async () => (await drill.held()).length === 0);
  await first.pay(after);
  expect(await drill.charges()).toEqual(charged);
  const used = await accountsOf(stack.databaseUrl, first.merchant);
  expect(used.get(storedId('wac', account))).toBe(after.length);
});

async function forgetAccountChanges(natsUrl: string, { id }: TestMerchant): Promise<void> {
  const connection = await connectTo(natsUrl);
  const streams = (await connection.jetstreamManager()).streams;
  const { purged } = await streams.purge('ORDERS', { filter: `orders.accounts.${id}.changed` });
  expect(purged).toBeGreaterThan(0);
  await connection.close();
}
