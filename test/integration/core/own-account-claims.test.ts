import { beforeEach, expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import type { PublicId } from '../../../src/contract/public-id.ts';
import { createAttemptIds } from '../../../src/core/payments/changes/attempt-ids.ts';
import {
  MerchantWalletService,
  WalletAccountCheck,
} from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { RecoveryService } from '../../../src/gen/gatehouse/v1/recovery_service_pb.js';
import { deriveKey } from '../../../src/main/derive-key.ts';
import { directPayment } from '../../support/order-requests.ts';
import { storedId } from '../../support/ids.ts';
import { refusalOf } from '../../support/rpc-failure.ts';
import { sharedClient, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { at, paymentEntry, sharedReconciliationDesk, walletA } from './reconciliation-desk.ts';
import type { Entry } from './reconciliation-desk.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedReconciliationDesk(stack);
const owners = sharedClient(stack, MerchantWalletService, 'dashboard');
const worker = sharedClient(stack, MerchantWalletService, 'wallets');
const orders = sharedClient(stack, OrderService, 'writer');
const reader = sharedClient(stack, OrderService, 'reader');
const recoveries = sharedClient(stack, RecoveryService, 'operator');
const payments = sharedClient(stack, PaymentAttemptService, 'wallets');

const environment = Environment.SANDBOX;
const day = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
const noon = new Date(`${day}T12:00:00Z`);
const phones = new Map<string, string>();

beforeEach(async () => {
  await desk.clear();
  await desk.database.query('delete from core.unclaimed_payments');
});

/** Makes an account with this payee the current one of a merchant. Without a payee, it has the operator's. */
async function useAccount(merchantId: string, payeeId: string): Promise<string> {
  const credentials = { client_id: 'own', client_secret: 'canary-of-an-own-account', api_key: 'canary-key' };
  const payee = payeeId === '' ? {} : { 'payee.type': 'accountid', 'payee.id': payeeId };
  const { account } = await owners.addWalletAccount({
    ...{ merchantId, environment, wallet: 'walleta', values: { ...credentials, ...payee } },
  });
  const key = { merchantId, walletAccountId: account?.walletAccountId ?? '' };
  await worker.recordWalletAccountCheck({ ...key, check: WalletAccountCheck.ACCEPTED });
  await owners.promoteWalletAccount(key);
  return key.walletAccountId;
}
const createMerchant = async (): Promise<string> => (await stack.createMerchant()).id;

/** The statement of a payee account is read and compared. */
async function reconcile(payee: string, entries: readonly Entry[]): Promise<void> {
  await desk.operator.startReconciliation({ ...walletA, date: day, payee });
  const { leased } = await desk.wallets.leaseReconciliation({
    ...{ ...walletA, lease: { seconds: 60n }, ownAccounts: true },
  });
  const { leaseId = '', reconciliation } = leased ?? {};
  expect(reconciliation?.payee).toBe(payee);
  const key = { reconciliationId: reconciliation?.reconciliationId ?? '', leaseId };
  const placed = entries.map((entry, position) => ({ ...entry, position }));
  await desk.wallets.recordStatementPage({ ...key, entries: placed });
  await desk.wallets.completeReconciliation(key);
}

/** The reference of an order's first payment, which the wallet repeats even when the order is lost. */
const referenceOf = (merchantId: string, orderNumber: string): string => {
  const key = deriveKey(
    Buffer.from(stack.coreSettings['GATEHOUSE_MASTER_KEY'] ?? '', 'hex'),
    'payment-attempt-id',
  );
  const order = { merchantId: merchantId as PublicId<'mer'>, environment: 'SANDBOX', orderNumber } as const;
  return createAttemptIds(newRandomId, key).next(order, 1, noon);
};
const line = (requestId: string, providerTransactionId = `t-${requestId}`): Entry =>
  paymentEntry({ providerTransactionId, requestId, occurTime: at(noon.toISOString()) });

/** Waits until core knows that the lost order was paid. */
const isKnownAsPaid = (merchantId: string, orderNumber: string) =>
  waitUntil('core knows the payment of the lost order', async () => {
    const key = { case: 'orderNumber', value: orderNumber } as const;
    return (await refusalOf(reader.getOrder({ merchantId, environment, key }))) === 'RECOVERING';
  });
/** Starts the payment of an order, always with the same phone. Returns the attempt's id. */
const pay = async (merchantId: string, orderNumber: string): Promise<string> => {
  const order = `${merchantId} ${orderNumber}`;
  const phone = phones.get(order) ?? `09117${String(phones.size).padStart(5, '0')}`;
  phones.set(order, phone);
  const started = await orders.startDirectPayment(directPayment({ merchantId, orderNumber, phone }));
  return started.paymentAttempt?.paymentAttemptId ?? '';
};
const leases = new Map<string, { readonly account: string; readonly isSent: boolean }>();
/** What `wallets` gets of an attempt; undefined when it is not due. */
async function leaseOf(paymentAttemptId: string) {
  const { attempts } = await payments.leasePaymentAttempts({
    ...{ environment, paymentOptions: ['walleta_ussd'], maxAttempts: 100, lease: { seconds: 60n } },
  });
  for (const { paymentAttempt, walletAccountId: account, sentBefore: isSent } of attempts)
    leases.set(paymentAttempt?.paymentAttemptId ?? '', { account, isSent });
  return leases.get(paymentAttemptId);
}
const unclaimed = async (): Promise<string[]> => {
  const { rows } = await desk.database.query<{ text: string }>(
    "select concat_ws(' | ', wallet, payee, request_id) as text from core.unclaimed_payments where claimed_at is null order by 1",
  );
  return rows.map(({ text }) => text);
};

test('of merchants who share a payee account, the one whose lost order was paid gets the payment, with its own account', async () => {
  const [first, second] = [await createMerchant(), await createMerchant()];
  const account = await useAccount(first, '3001');
  const others = await useAccount(second, '3001');
  const lost = referenceOf(first, 'N-1');
  const known = await pay(second, 'K-1');
  await leaseOf(known);

  await reconcile('accountid 3001', [line(lost), line(known), line('a till of the merchant')]);
  // The known payment belongs to the other merchant's order, which is asked about.
  expect(await unclaimed()).toEqual([`walleta | accountid 3001 | ${lost}`]);
  await isKnownAsPaid(first, 'N-1');

  // Another merchant's order with the same number is another order.
  expect(await leaseOf(await pay(second, 'N-1'))).toEqual({ account: others, isSent: false });
  expect(await pay(first, 'N-1')).toBe(lost);
  expect(await leaseOf(lost)).toEqual({ account, isSent: true });
  expect(await unclaimed()).toEqual([]);
});

test('the payment keeps the payee account that got it, also when the merchant uses another one now', async () => {
  const merchantId = await createMerchant();
  const retired = await useAccount(merchantId, '3001');
  const current = await useAccount(merchantId, '3002');
  const [before, now, operators] = ['R-1', 'R-2', 'R-3'].map((number) => referenceOf(merchantId, number));

  await reconcile('accountid 3001', [line(before!)]);
  await reconcile('accountid 3002', [line(now!)]);
  await reconcile('', [line(operators!)]);
  for (const number of ['R-1', 'R-2', 'R-3']) await isKnownAsPaid(merchantId, number);
  for (const number of ['R-1', 'R-2', 'R-3']) await pay(merchantId, number);

  expect(await leaseOf(before!)).toEqual({ account: retired, isSent: true });
  expect(await leaseOf(now!)).toEqual({ account: current, isSent: true });
  expect(await leaseOf(operators!)).toEqual({ account: '', isSent: true });
});

test("a payment to the operator's payee keeps the merchant's own credentials", async () => {
  const merchantId = await createMerchant();
  const account = await useAccount(merchantId, '');
  const lost = referenceOf(merchantId, 'C-1');

  await reconcile('', [line(lost)]);
  await isKnownAsPaid(merchantId, 'C-1');

  expect(await pay(merchantId, 'C-1')).toBe(lost);
  expect(await leaseOf(lost)).toEqual({ account, isSent: true });
});

test('an order that was paid to an account that its merchant does not have any more is not charged, and continues when the account is added again', async () => {
  const [owner, merchantId] = [await createMerchant(), await createMerchant()];
  await useAccount(owner, '3003');
  const lost = referenceOf(merchantId, 'L-1');

  await reconcile('accountid 3003', [line(lost)]);
  await isKnownAsPaid(merchantId, 'L-1');

  expect(await refusalOf(pay(merchantId, 'L-1'))).toBe('RECOVERING');
  expect(await refusalOf(pay(merchantId, 'L-1'))).toBe('RECOVERING');
  expect(await leaseOf(lost)).toBeUndefined();
  const account = await useAccount(merchantId, '3003');
  expect(await pay(merchantId, 'L-1')).toBe(lost);
  expect(await leaseOf(lost)).toEqual({ account, isSent: true });
});

test('money of an undecided payment at another payee account of its merchant moves the payment there during a recovery', async () => {
  const merchantId = await createMerchant();
  await useAccount(merchantId, '3001');
  const paid = await pay(merchantId, 'M-1');
  await leaseOf(paid);
  const accountOf = async () => {
    const { rows } = await desk.database.query<{ account: string | null }>(
      'select wallet_account_id as account from core.payment_attempts where id = $1',
      [storedId('pat', paid)],
    );
    return rows[0]?.account;
  };

  // Without a restore, every payment has the account with which it was sent.
  const other = await useAccount(merchantId, '3002');
  await reconcile('accountid 3002', [line(paid)]);
  expect(await unclaimed()).toEqual([]);
  await recoveries.beginRecovery({ backupTime: at(noon.toISOString()) });
  await reconcile('accountid 3002', [line(paid)]);
  expect(await unclaimed()).toEqual([`walleta | accountid 3002 | ${paid}`]);
  const { recovery } = await recoveries.getRecovery({});
  for (const { wallet, environment: of } of recovery?.wallets ?? [])
    await recoveries.acceptRecovery({
      subject: { case: 'wallet', value: { wallet, environment: of } },
      reason: 'compared',
    });

  const open = await waitUntil('the recovery has finished', async () => {
    const now = (await recoveries.getRecovery({})).recovery;
    return now?.finishTime === undefined ? undefined : now;
  });
  expect(open.closedEnvironments).toEqual([]);
  expect(await accountOf()).toBe(storedId('wac', other));
  expect(await unclaimed()).toEqual([]);
});

// The last test, because the gateway takes no payments afterwards.
test('a payment that was not sent at the time of the backup may have been sent since, with the account that was current', async () => {
  const [own, ordinary] = [await createMerchant(), await createMerchant()];
  const account = await useAccount(own, '3001');
  const [first, second] = [await pay(own, 'W-1'), await pay(ordinary, 'W-1')];

  await recoveries.beginRecovery({ backupTime: at(noon.toISOString()) });

  const { rows } = await desk.database.query<{ id: string; account: string | null; sent: boolean }>(
    'select id, wallet_account_id as account, maybe_sent as sent from core.payment_attempts where id = any ($1)',
    [[first, second].map((id) => storedId('pat', id))],
  );
  expect(new Map(rows.map((row) => [row.id, [row.account, row.sent]]))).toEqual(
    new Map([
      [storedId('pat', first), [storedId('wac', account), true]],
      [storedId('pat', second), [null, true]],
    ]),
  );
});
