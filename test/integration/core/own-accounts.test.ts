import { beforeEach, expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { rememberPayees } from '../../../src/core/merchant-wallets/remember-payees.ts';
import { keepBalances } from '../../../src/core/reconciliation/keep-balances.ts';
import { readMissingDays } from '../../../src/core/reconciliation/missing-days.sql.ts';
import { scheduleReconciliations } from '../../../src/core/reconciliation/schedule-reconciliations.ts';
import {
  DifferenceKind,
  MissingMoneyDayReason,
  ReconciliationStatus,
} from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import {
  MerchantWalletService,
  WalletAccountCheck,
} from '../../../src/gen/gatehouse/v1/merchant_wallet_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { sharedClient, sharedCoreDatabase, sharedStack } from '../../support/shared-stack.ts';
import { wrongFields, refusalOf } from '../../support/rpc-failure.ts';
import { at, completed, paymentEntry, sharedReconciliationDesk, walletA } from './reconciliation-desk.ts';
import type { Entry } from './reconciliation-desk.ts';
import type { PublicId } from '../../../src/contract/public-id.ts';
import { createAttemptIds } from '../../../src/core/payments/changes/attempt-ids.ts';
import { OrderService } from '../../../src/gen/gatehouse/v1/order_service_pb.js';
import { PaymentAttemptService } from '../../../src/gen/gatehouse/v1/payment_attempt_service_pb.js';
import { RecoveryService } from '../../../src/gen/gatehouse/v1/recovery_service_pb.js';
import { deriveKey } from '../../../src/main/derive-key.ts';
import { directPayment, orderNamed } from '../../support/order-requests.ts';
import { storedId } from '../../support/ids.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { outcomes, sharedPaymentDesk } from './payment-desk.ts';

const environment = Environment.SANDBOX;
const stack = sharedStack({ facades: 0 });
const desk = sharedReconciliationDesk(stack);
const money = sharedPaymentDesk(stack);
const database = sharedCoreDatabase('own accounts', () => stack.databaseUrl, 4);
const owners = sharedClient(stack, MerchantWalletService, 'dashboard');
const worker = sharedClient(stack, MerchantWalletService, 'wallets');

const day = new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10);
const payee = 'accountid 3001';
const credentials = { client_id: 'own', client_secret: 'canary-of-an-own-account', api_key: 'canary-key' };
let merchantId: string;
let ordinaryId: string;
beforeEach(async () => {
  await desk.clear();
  for (const table of ['money_days', 'payee_accounts', 'wallet_accounts', 'unclaimed_payments'])
    await desk.database.query(`delete from core.${table}`);
  ({ id: merchantId } = await stack.createMerchant());
  ({ id: ordinaryId } = await stack.createMerchant());
});

async function addAccount(owner: string, payeeId: string, own: object = {}) {
  const ownPayee = payeeId === '' ? {} : { 'payee.type': 'accountid', 'payee.id': payeeId };
  const { account } = await owners.addWalletAccount({
    ...{ merchantId: owner, environment, wallet: 'walleta', values: { ...credentials, ...ownPayee, ...own } },
  });
  return { merchantId: owner, walletAccountId: account?.walletAccountId ?? '' };
}

/** Makes an account with this payee the current one of a merchant. Without a payee, it has the operator's. */
async function useAccount(...added: Parameters<typeof addAccount>): Promise<string> {
  const key = await addAccount(...added);
  await worker.recordWalletAccountCheck({ ...key, check: WalletAccountCheck.ACCEPTED });
  await owners.promoteWalletAccount(key);
  return key.walletAccountId;
}
const line = (providerTransactionId: string, own: Entry = {}): Entry =>
  paymentEntry({ providerTransactionId, occurTime: at(`${day}T12:00:00Z`), ...own });

/** Leases a reconciliation as a worker that reads merchants' own accounts. */
const leaseOwn = async () =>
  (await desk.wallets.leaseReconciliation({ ...walletA, lease: { seconds: 60n }, ownAccounts: true })).leased;
/** The statement of a payee account is read and compared. */
async function reconcile(of: string, entries: readonly Entry[]) {
  await desk.operator.startReconciliation({ ...walletA, date: day, payee: of });
  const leased = await leaseOwn();
  const { leaseId = '', reconciliation } = leased ?? {};
  expect(reconciliation?.payee).toBe(of);
  const key = { reconciliationId: reconciliation?.reconciliationId ?? '', leaseId };
  const placed = entries.map((entry, position) => ({ ...entry, position }));
  await desk.wallets.recordStatementPage({ ...key, entries: placed });
  await desk.wallets.completeReconciliation(key);
  const { differences } = await desk.operator.listDifferences(key);
  return { leased, differences };
}
const balances = async () => {
  const { days } = await desk.reader.listMoneyDays({ date: day });
  return days
    .map((each) =>
      [each.wallet, each.payee, each.merchantId === '' ? 'none' : each.merchantId]
        .concat([each.statementIn, each.completed, each.difference])
        .join(' | '),
    )
    .toSorted();
};

test('each payee account has its own balance, and no payment is in two of them or in none', async () => {
  await desk.payment(ordinaryId, completed('d-1'));
  await useAccount(merchantId, '3001');
  await desk.payment(merchantId, completed('d-2'));
  // Other credentials, and the same payee.
  await useAccount(merchantId, '3001', { client_id: 'rotated' });
  await desk.payment(merchantId, completed('d-3'));
  // Credentials of its own, and the operator's payee.
  await useAccount(merchantId, '');
  await desk.payment(merchantId, completed('d-4'));
  for (const id of [merchantId, ordinaryId]) await desk.moveTo(id, day);

  const operators = await reconcile('', [line('d-1'), line('d-4')]);
  const own = await reconcile(payee, [line('d-2'), line('d-3')]);

  expect([...operators.differences, ...own.differences]).toEqual([]);
  expect(operators.leased?.walletAccountId).toBe('');
  expect(await balances()).toEqual(
    [
      `walleta |  | ${ordinaryId} | 100.5 | 100.5 | 0`,
      `walleta |  | ${merchantId} | 100.5 | 100.5 | 0`,
      `walleta | ${payee} | ${merchantId} | 201 | 201 | 0`,
    ].toSorted(),
  );

  // One entry is missing, one has another amount, and one is an additional entry of the operator's account.
  const wrong = await reconcile(payee, [line('d-3', { amount: '90' }), line('d-1')]);
  expect(wrong.differences).toMatchObject([
    { kind: DifferenceKind.AMOUNT_DIFFERS, providerTransactionId: 'd-3', payee, merchantId },
    { kind: DifferenceKind.OTHER_ACCOUNT, providerTransactionId: 'd-1', payee, merchantId: ordinaryId },
    { kind: DifferenceKind.MISSING_IN_STATEMENT, providerTransactionId: 'd-2', payee, merchantId },
  ]);
  const { days: corrected } = await desk.reader.listMoneyDays({ date: day, onlyCorrected: true });
  expect(
    Object.fromEntries(corrected.map((each) => [each.merchantId, [each.payee, each.difference]])),
  ).toEqual({ [merchantId]: [payee, '-111'], [ordinaryId]: [payee, '100.5'] });
});

test("a worker without own accounts gets the operator's statement only, and one with own accounts also gets the credentials", async () => {
  const first = await useAccount(merchantId, '3001');
  const latest = await useAccount(merchantId, '3001', { client_id: 'rotated' });
  await owners.removeWalletAccount({ merchantId, walletAccountId: first });
  await desk.operator.startReconciliation({ ...walletA, date: day, payee });

  expect(await desk.lease()).toBeUndefined();
  const leased = await leaseOwn();
  expect(leased).toMatchObject({ merchantId, walletAccountId: latest, reconciliation: { payee } });
});

test('the first merchant that named a payee reads its statement, and other merchants that name it have the next tries', async () => {
  await useAccount(merchantId, '3001');
  const rotated = await useAccount(merchantId, '3001', { client_id: 'rotated' });
  const others = await useAccount(ordinaryId, '3001', { client_id: 'of another' });
  await desk.operator.startReconciliation({ ...walletA, date: day, payee });
  const failing = async () => {
    const leased = await leaseOwn();
    const { leaseId = '', reconciliation } = leased ?? {};
    await desk.wallets.completeReconciliation({
      ...{ reconciliationId: reconciliation?.reconciliationId ?? '', leaseId, error: 'HTTP 403' },
    });
    await desk.database.query('update core.reconciliations set due_at = now()');
    return leased?.walletAccountId;
  };

  expect([await failing(), await failing(), await failing()]).toEqual([rotated, others, rotated]);
  // Without an account for new payments, the latest that was one comes before one that never was.
  await addAccount(merchantId, '3001', { client_id: 'next' });
  await owners.retireWalletAccount({ merchantId, walletAccountId: rotated });
  expect(await failing()).toBe(rotated);
});

test('an account that was removed fails the reading, and its days are listed with that reason', async () => {
  const walletAccountId = await useAccount(merchantId, '3001');
  await desk.payment(merchantId, completed('r-1'));
  await desk.moveTo(merchantId, day);
  await desk.operator.startReconciliation({ ...walletA, date: day, payee });
  await desk.database.query('update core.payment_attempts set due_at = null');
  await owners.retireWalletAccount({ merchantId, walletAccountId });
  await owners.removeWalletAccount({ merchantId, walletAccountId });

  const leased = await leaseOwn();

  expect(leased).toBeUndefined();
  const { reconciliations } = await desk.reader.listReconciliations({ wallet: 'walleta' });
  expect(reconciliations[0]).toMatchObject({ payee, status: ReconciliationStatus.WAITING, tries: 1 });
  expect(reconciliations[0]?.detail).toContain('was removed');
  const { missing } = await desk.reader.listMoneyDays({ date: day, merchantId });
  expect(missing).toMatchObject([{ payee, reason: MissingMoneyDayReason.ACCOUNT_REMOVED }]);
  expect(await wrongFields(desk.operator.startReconciliation({ ...walletA, date: day, payee }))).toBe(
    'payee',
  );
});

test('a refund that is not sent waits longer than a minute at an own account, and is due when its credentials are accepted', async () => {
  const refundOf = async (orderNumber: string) => {
    const payment = await money.startDirect({ merchantId, orderNumber });
    await money.settle(payment, outcomes.completed(`t-${orderNumber}`));
    return (await money.refund(merchantId, orderNumber, { refundNumber: `R-${orderNumber}` })).refundId;
  };
  const walletAccountId = await useAccount(merchantId, '3001');
  const [unsent, sent] = [await refundOf('U-1'), await refundOf('U-2')];
  await useAccount(merchantId, '3002');
  const unsentElsewhere = await refundOf('U-3');
  const all = [unsent, sent, unsentElsewhere].map((id) => storedId('rfd', id));
  await money.query(sql`update core.refunds set tries = 7 where id = any(${all})`);
  const dueRefunds = async () => (await money.leaseRefunds()).map(({ refund }) => refund?.refundId);

  for (const leased of await money.leaseRefunds()) {
    const notSent = leased.refund?.refundId !== sent;
    await money.recordRefund(leased, { case: 'pending', value: { detail: 'no token', notSent } });
  }

  const { rows } = await desk.database.query(sql`select count(*)::int as waiting from core.refunds
    where id = any(${all}) and due_at > now() + interval '30 minutes'`);
  expect(rows).toEqual([{ waiting: 3 }]);
  await worker.recordWalletAccountCheck({ merchantId, walletAccountId, check: WalletAccountCheck.REFUSED });
  expect(await dueRefunds()).toEqual([]);
  await worker.recordWalletAccountCheck({ merchantId, walletAccountId, check: WalletAccountCheck.ACCEPTED });
  expect(await dueRefunds()).toEqual([unsent]);
});

test.each([
  ['payment', '100.50'],
  ['stray payment', '99.00'],
])(
  'core compares the days of an own account with a %s, and lists those that are missing',
  async (_name, amount) => {
    await useAccount(merchantId, '3001');
    await desk.payment(merchantId, completed('s-1', amount));
    await desk.moveTo(merchantId, '2026-03-10');
    const wallet = { options: [], currencies: [], refunds: 'any', environments: ['SANDBOX'] } as const;
    const partsAt = (time: string, reconciled: boolean) => ({
      ...{ database, newId: newRandomId, onDue: () => {}, balanceMinutes: 60 },
      ...{ now: () => new Date(time), machineNow: () => new Date(time) },
      wallets: [{ ...wallet, id: 'walleta', reconcile: reconciled }],
    });
    const runs = async (): Promise<string[]> => {
      const { rows } = await desk.database.query<{ text: string }>(`
        select concat_ws(' ', wallet, day) as text from core.reconciliations order by wallet, day`);
      return rows.map(({ text }) => text);
    };
    const missing = async (reconciled: boolean): Promise<string[]> => {
      const any = { wallet: undefined, environment: undefined, merchantId: undefined, date: undefined };
      const time = '2026-03-11T12:00:00Z';
      const found = await readMissingDays(
        database.pool,
        partsAt(time, reconciled).wallets,
        any,
        new Date(time),
      );
      return found.map((each) => [each.day, each.wallet, each.payee, each.has_statement].join(' '));
    };

    expect(await missing(true)).toEqual([`2026-03-10 walleta ${payee} true`]);
    expect(await missing(false)).toEqual([`2026-03-10 walleta ${payee} false`]);
    await scheduleReconciliations(partsAt('2026-03-11T12:00:00Z', false));
    await keepBalances(partsAt('2026-03-10T11:59:59Z', true));
    expect(await runs()).toEqual([]);
    await keepBalances(partsAt('2026-03-10T14:00:00Z', true));
    expect(await runs()).toContain(`walleta/${payee} 2026-03-10`);
    await desk.database.query('delete from core.reconciliations');
    await scheduleReconciliations(partsAt('2026-03-11T12:00:00Z', true));
    await scheduleReconciliations(partsAt('2026-03-11T12:00:00Z', true));
    expect((await runs()).filter((run) => run.includes(payee))).toEqual([`walleta/${payee} 2026-03-10`]);
  },
);

test('an account that a core of the previous release added gets its payee', async () => {
  await useAccount(merchantId, '3001');
  await desk.database.query('delete from core.payee_accounts');
  const form = { fields: [], issues: () => [], payee: () => payee };

  expect(await rememberPayees(database.pool, new Map())).toBe(0);
  expect(await rememberPayees(database.pool, new Map([['walleta', form]]))).toBe(1);
  expect(await rememberPayees(database.pool, new Map([['walleta', form]]))).toBe(0);
  const { rows } = await desk.database.query('select wallet, payee from core.payee_accounts');
  expect(rows).toEqual([{ wallet: 'walleta', payee }]);
});
const orders = sharedClient(stack, OrderService, 'writer');
const reader = sharedClient(stack, OrderService, 'reader');
const recoveries = sharedClient(stack, RecoveryService, 'operator');
const payments = sharedClient(stack, PaymentAttemptService, 'wallets');

const noon = new Date(`${day}T12:00:00Z`);
const phones = new Map<string, string>();

/** The reference of an order's first payment, which the wallet repeats even when the order is lost. */
const referenceOf = (merchantId: string, orderNumber: string): string => {
  const key = deriveKey(
    Buffer.from(stack.coreSettings['GATEHOUSE_MASTER_KEY'] ?? '', 'hex'),
    'payment-attempt-id',
  );
  const order = { merchantId: merchantId as PublicId<'mer'>, environment: 'SANDBOX', orderNumber } as const;
  return createAttemptIds(newRandomId, key).next(order, 1, noon);
};
const claim = (requestId: string): Entry => line(`t-${requestId}`, { requestId });

/** Waits until core knows that the lost order was paid. */
const isKnownAsPaid = (merchantId: string, orderNumber: string) =>
  waitUntil('core knows the payment of the lost order', async () => {
    return (await refusalOf(reader.getOrder(orderNamed(merchantId, orderNumber)))) === 'RECOVERING';
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
/** Leases the due attempts. Returns the lease of this one; undefined when it is not due. */
async function leaseOf(paymentAttemptId: string) {
  const { attempts } = await payments.leasePaymentAttempts({
    ...{ environment, paymentOptions: ['walleta_ussd'], maxAttempts: 100, lease: { seconds: 60n } },
  });
  for (const { paymentAttempt, walletAccountId: account, sentBefore: isSent } of attempts)
    leases.set(paymentAttempt?.paymentAttemptId ?? '', { account, isSent });
  return leases.get(paymentAttemptId);
}
const unclaimed = async (): Promise<string[]> => {
  const { rows } = await desk.database.query<{ text: string }>(`
    select concat_ws(' | ', wallet, payee, request_id) as text from core.unclaimed_payments
    where claimed_at is null order by 1`);
  return rows.map(({ text }) => text);
};

test('of merchants who share a payee account, the one whose lost order was paid gets the payment, with its own account', async () => {
  const [first, second] = [merchantId, ordinaryId];
  const account = await useAccount(first, '3001');
  const others = await useAccount(second, '3001');
  const lost = referenceOf(first, 'N-1');
  const known = await pay(second, 'K-1');
  await leaseOf(known);

  await reconcile('accountid 3001', [claim(lost), claim(known), claim('a till of the merchant')]);
  // The known payment belongs to the other merchant's order, which is asked about.
  expect(await unclaimed()).toEqual([`walleta | accountid 3001 | ${lost}`]);
  await isKnownAsPaid(first, 'N-1');

  // Another merchant's order with the same number is another order.
  expect(await leaseOf(await pay(second, 'N-1'))).toEqual({ account: others, isSent: false });
  expect(await pay(first, 'N-1')).toBe(lost);
  expect(await leaseOf(lost)).toEqual({ account, isSent: true });
  expect(await unclaimed()).toEqual([]);
});

test('the payment keeps the payee account that got it, even when the merchant uses another one now', async () => {
  const retired = await useAccount(merchantId, '3001');
  const current = await useAccount(merchantId, '3002');
  const [before, now, operators] = ['R-1', 'R-2', 'R-3'].map((number) => referenceOf(merchantId, number));

  await reconcile('accountid 3001', [claim(before!)]);
  await reconcile('accountid 3002', [claim(now!)]);
  await reconcile('', [claim(operators!)]);
  for (const number of ['R-1', 'R-2', 'R-3']) await isKnownAsPaid(merchantId, number);
  for (const number of ['R-1', 'R-2', 'R-3']) await pay(merchantId, number);

  expect(await leaseOf(before!)).toEqual({ account: retired, isSent: true });
  expect(await leaseOf(now!)).toEqual({ account: current, isSent: true });
  expect(await leaseOf(operators!)).toEqual({ account: '', isSent: true });
});

test("a payment to the operator's payee keeps the merchant's own credentials", async () => {
  const account = await useAccount(merchantId, '');
  const lost = referenceOf(merchantId, 'C-1');

  await reconcile('', [claim(lost)]);
  await isKnownAsPaid(merchantId, 'C-1');

  expect(await pay(merchantId, 'C-1')).toBe(lost);
  expect(await leaseOf(lost)).toEqual({ account, isSent: true });
});

test('an order that was paid to an account that its merchant does not have any more is not charged, and continues when the account is added again', async () => {
  await useAccount(ordinaryId, '3003');
  const lost = referenceOf(merchantId, 'L-1');

  await reconcile('accountid 3003', [claim(lost)]);
  await isKnownAsPaid(merchantId, 'L-1');

  expect(await refusalOf(pay(merchantId, 'L-1'))).toBe('RECOVERING');
  expect(await refusalOf(pay(merchantId, 'L-1'))).toBe('RECOVERING');
  expect(await leaseOf(lost)).toBeUndefined();
  const account = await useAccount(merchantId, '3003');
  expect(await pay(merchantId, 'L-1')).toBe(lost);
  expect(await leaseOf(lost)).toEqual({ account, isSent: true });
});

test('money of an undecided payment at another payee account of its merchant moves the payment there during a recovery', async () => {
  await useAccount(merchantId, '3001');
  const paid = await pay(merchantId, 'M-1');
  await leaseOf(paid);
  const accountOf = async () => {
    const { rows } = await desk.database.query<{ account: string | null }>(sql`
      select wallet_account_id as account from core.payment_attempts where id = ${storedId('pat', paid)}`);
    return rows[0]?.account;
  };

  // Without a restore, every payment has the account with which it was sent.
  const other = await useAccount(merchantId, '3002');
  await reconcile('accountid 3002', [claim(paid)]);
  expect(await unclaimed()).toEqual([]);
  await recoveries.beginRecovery({ backupTime: at(noon.toISOString()) });
  await reconcile('accountid 3002', [claim(paid)]);
  expect(await unclaimed()).toEqual([`walleta | accountid 3002 | ${paid}`]);
  const { recovery } = await recoveries.getRecovery({});
  const accept = (wallet: string, of: Environment) =>
    recoveries.acceptRecovery({
      subject: { case: 'wallet', value: { wallet, environment: of } },
      reason: 'compared',
    });
  expect(await wrongFields(accept('walleta\0', environment))).toBe('wallet.wallet');
  for (const { wallet, environment: of } of recovery?.wallets ?? []) await accept(wallet, of);

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
  await desk.payment(ordinaryId, completed('w-0', '7.00'));
  const account = await useAccount(merchantId, '3001');
  const [first, second] = [await pay(merchantId, 'W-1'), await pay(ordinaryId, 'W-1')];

  await recoveries.beginRecovery({ backupTime: at(noon.toISOString()) });

  const { rows } = await desk.database.query<{ id: string; account: string | null; sent: boolean }>(sql`
    select id, wallet_account_id as account, maybe_sent as sent from core.payment_attempts
    where id = any (${[first, second].map((id) => storedId('pat', id))})`);
  expect(new Map(rows.map((row) => [row.id, [row.account, row.sent]]))).toEqual(
    new Map([
      [storedId('pat', first), [storedId('wac', account), true]],
      [storedId('pat', second), [null, true]],
    ]),
  );
  const returns = await desk.database.query(`
    select s.maybe_sent as sent, s.asked_since = r.lost_until as since from core.stray_payments s, core.recoveries r
    where r.finished_at is null`);
  expect(returns.rows).toEqual([{ sent: true, since: true }]);
});
