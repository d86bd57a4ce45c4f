import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  MerchantWalletService,
  WalletAccountCheck,
} from '../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment, OrderStatus } from '../../src/gen/gatehouse/v1/order_pb.js';
import {
  DifferenceKind,
  ReconciliationService,
  ReconciliationStatus,
} from '../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import { StrayPaymentStatus } from '../../src/gen/gatehouse/v1/stray_payment_service_pb.js';
import {
  WalletBreakerState,
  WalletStatusService,
} from '../../src/gen/gatehouse/v1/wallet_status_service_pb.js';
import { sharedPaymentDesk } from '../integration/core/payment-desk.ts';
import type { Payment } from '../integration/core/payment-desk.ts';
import { openWalletSide } from '../integration/wallets/wallet-processes.ts';
import type { WalletSide } from '../integration/wallets/wallet-processes.ts';
import type { GatehouseProcess } from '../support/gatehouse-process.ts';
import { storedId } from '../support/ids.ts';
import { sharedClient, sharedStack } from '../support/shared-stack.ts';
import { waitUntil } from '../support/wait-until.ts';
import { addAccount } from './own-account.ts';

// Several merchants at one wallet: one with the operator's account, the others with their own.

const stack = sharedStack({ facades: 0 });
const desk = sharedPaymentDesk(stack);
const owners = sharedClient(stack, MerchantWalletService, 'dashboard');
const worker = sharedClient(stack, MerchantWalletService, 'wallets');
const reconciliations = sharedClient(stack, ReconciliationService, 'operator');
const statuses = sharedClient(stack, WalletStatusService, 'operator');

const environment = Environment.SANDBOX;
const secrets = ['canary-secret-of-the-first-set', 'canary-secret-of-the-second'] as const;
const apiKeys = ['canary-api-key-of-the-first-set', 'canary-api-key-of-the-second'] as const;
const ownClients = [0, 1].map((index) => ({
  client_id: `own-client-${index}`,
  client_secret: secrets[index]!,
  api_key: apiKeys[index]!,
}));

let side: WalletSide;
const wallets: GatehouseProcess[] = [];
let payers = 0;
/** A payer of its own for each payment, which succeeds. */
const newPayer = (): string => `251901${String(++payers).padStart(6, '0')}`;
/** A payer whose last two digits choose the outcome at the simulated wallet. */
const oddPayer = (outcome: string): string => `2519000000${outcome}`;

beforeAll(async () => {
  side = openWalletSide(stack, { ownProcesses: ['wallets'] });
  const { WALLETA_CLIENT_SECRET: client_secret, WALLETA_API_KEY: api_key } = side.walletVariables();
  await side.startSimulator({
    GATEHOUSE_SIMULATOR_CREDENTIALS: JSON.stringify({
      walleta: { client_id: 'walleta', client_secret, api_key, other_clients: ownClients },
    }),
  });
  wallets.push(await side.startWallets());
});
afterAll(async () => {
  await side.stop();
});

const useAccount = async (merchantId: string, set: number, payee: string): Promise<void> => {
  const values = { ...ownClients[set], 'payee.type': 'accountid', 'payee.id': payee };
  const { walletAccountId, check } = await addAccount(stack, { id: merchantId }, 'walleta', values);
  expect(check).toBe(WalletAccountCheck.ACCEPTED);
  await owners.promoteWalletAccount({ merchantId, walletAccountId });
};

let orders = 0;
const pay = (merchantId: string, phone = newPayer(), amount = '10.00') =>
  desk.startDirect({ merchantId, orderNumber: `O-${++orders}`, phone: `+${phone}`, amount });
const endOf = ({ merchantId, orderId }: Payment): Promise<string> =>
  waitUntil('the order has ended', async () => {
    const key = { case: 'orderId', value: orderId } as const;
    const { order } = await desk.orders.getOrder({ merchantId, environment, key });
    const status = order?.status ?? OrderStatus.PENDING;
    return status === OrderStatus.PENDING ? undefined : OrderStatus[status];
  });

async function balanceOf(account: string): Promise<number> {
  const response = await fetch(`${side.simulatorUrl()}/simulator/accounts?wallet=walleta`);
  const { accounts } = (await response.json()) as {
    accounts: { account: string; currency: string; balance: string }[];
  };
  return Number(accounts.find((each) => each.account === account && each.currency === 'ETB')?.balance ?? '0');
}

test('money goes to the account of each merchant, and reversals are paid from the same account', async () => {
  const { id: ordinary } = await stack.createMerchant();
  const { id: own } = await stack.createMerchant();
  await useAccount(own, 0, '3001');
  const before = await balanceOf('accountid@2999');

  const payments = [await pay(ordinary), await pay(own), await pay(own, newPayer(), '2.50')];

  expect(await Promise.all(payments.map(endOf))).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED']);
  expect(await balanceOf('accountid@2999')).toBe(before + 10);
  expect(await balanceOf('accountid@3001')).toBe(12.5);
  // The wallet takes another amount than the order's, which is reversed.
  await pay(own, oddPayer('19'));
  await waitUntil('the wrong amount is back with the payer', async () => {
    const [stray] = await desk.strays(own);
    return stray?.status === StrayPaymentStatus.REVERSED;
  });
  expect(await balanceOf('accountid@3001')).toBe(12.5);
  expect(await balanceOf('accountid@2999')).toBe(before + 10);
});

test('a rotation under load fails no payment, and each goes to one of the two accounts', async () => {
  const { id: merchantId } = await stack.createMerchant();
  const payees = ['3002', '3003'] as const;
  await useAccount(merchantId, 0, payees[0]);
  const begun: Payment[] = [];

  for (let round = 0; round < 4; round += 1) {
    for (let count = 0; count < 5; count += 1)
      begun.push(
        await pay(merchantId, count === 0 ? oddPayer(['08', '12', '14', '17'][round]!) : newPayer()),
      );
    await useAccount(merchantId, (round + 1) % 2, payees[(round + 1) % 2]!);
  }

  const ends = await Promise.all(begun.map(endOf));
  expect(ends).toEqual(ends.map(() => 'COMPLETED'));
  const [first, second] = await Promise.all(payees.map((payee) => balanceOf(`accountid@${payee}`)));
  expect(first! + second!).toBe(10 * begun.length);
  expect(Math.min(first!, second!)).toBeGreaterThan(0);
});

test("a broken account stops neither others' payments nor its own merchant's after it is retired", async () => {
  const { id: broken } = await stack.createMerchant();
  const { id: ordinary } = await stack.createMerchant();
  const values = { ...ownClients[0]!, client_secret: 'no-longer-valid-secret' };
  const { walletAccountId } = await addAccount(stack, { id: broken }, 'walleta', values);
  const account = { merchantId: broken, walletAccountId };
  // As if the provider had accepted the credentials and revoked them since.
  await worker.recordWalletAccountCheck({ ...account, check: WalletAccountCheck.ACCEPTED });
  await owners.promoteWalletAccount(account);

  const stuck: Payment[] = [];
  for (let count = 0; count < 12; count += 1) stuck.push(await pay(broken));
  await waitUntil('every payment of the broken account was tried', async () => {
    const [row] = await desk.query<{ tried: number }>(
      'select count(*)::int as tried from core.payment_attempts where merchant_id = $1 and leases > 0 and leased_until is null',
      [storedId('mer', broken)],
    );
    return row?.tried === stuck.length;
  });

  expect(await endOf(await pay(ordinary))).toBe('COMPLETED');
  const { statuses: reported } = await statuses.listWalletStatuses({ environment });
  const breakers = reported
    .filter(({ status }) => status?.wallet === 'walleta')
    .map(({ status }) => status?.breaker);
  expect(breakers).toEqual([WalletBreakerState.CLOSED]);
  // No request has reached the wallet, so the operator's account can send them.
  await owners.retireWalletAccount(account);
  const ends = await Promise.all(stuck.map(endOf));
  expect(ends).toEqual(ends.map(() => 'COMPLETED'));
});

test("the balance of an own account shows a payment that its statement lacks, and the operator's balance stays even", async () => {
  const { id: ordinary } = await stack.createMerchant();
  const { id: own } = await stack.createMerchant();
  await useAccount(own, 0, '3005');
  // The statement lacks the third payment, and has another amount for the fourth.
  const payments = [
    await pay(ordinary),
    await pay(own),
    await pay(own, oddPayer('24')),
    await pay(own, oddPayer('25')),
  ];
  expect(await Promise.all(payments.map(endOf))).toEqual(payments.map(() => 'COMPLETED'));
  const date = new Date().toISOString().slice(0, 10);
  const reconcile = async (payee: string) => {
    const started = await reconciliations.startReconciliation({
      wallet: 'walleta',
      environment,
      date,
      payee,
    });
    const reconciliationId = started.reconciliation?.reconciliationId ?? '';
    await waitUntil('the statement is compared', async () => {
      const { reconciliation } = await reconciliations.getReconciliation({ reconciliationId });
      return reconciliation?.status === ReconciliationStatus.COMPLETED;
    });
    const { differences } = await reconciliations.listDifferences({ reconciliationId, pageSize: 500 });
    return differences.filter(({ merchantId }) => merchantId === own || merchantId === ordinary);
  };

  const differences = [...(await reconcile('')), ...(await reconcile('accountid 3005'))];

  expect(differences.map(({ kind, payee }) => [DifferenceKind[kind], payee])).toEqual([
    ['AMOUNT_DIFFERS', 'accountid 3005'],
    ['MISSING_IN_STATEMENT', 'accountid 3005'],
  ]);
  const { days } = await reconciliations.listMoneyDays({ date, pageSize: 500 });
  const balanceOfMerchant = (id: string) =>
    days
      .filter(({ merchantId }) => merchantId === id)
      .map((each) => [each.payee, each.statementIn, each.completed, each.difference]);
  expect(balanceOfMerchant(ordinary)).toEqual([['', '10', '10', '0']]);
  expect(balanceOfMerchant(own)).toEqual([['accountid 3005', '21', '30', '-9']]);
});

test('neither the database nor a log contains a secret of an own account', async () => {
  const dumps = await Promise.all(
    [
      ...['wallet_accounts', 'wallet_exchanges', 'audit_entries', 'payment_attempts', 'stray_payments'],
      ...['payee_accounts', 'reconciliations', 'reconciliation_differences'],
    ].map((table) => desk.query(`select to_jsonb(t)::text as row from core.${table} t`)),
  );
  const exchanges = await desk.query<{ payload: Buffer }>('select payload from core.wallet_exchanges');
  const everything = [
    JSON.stringify(dumps),
    ...exchanges.map(({ payload }) => payload.toString('latin1')),
    ...[...wallets, ...stack.cores].map(({ log }) => JSON.stringify(log)),
  ].join('\n');

  expect(everything).toContain('own-client-0');
  for (const secret of [...secrets, ...apiKeys]) expect(everything).not.toContain(secret);
});
