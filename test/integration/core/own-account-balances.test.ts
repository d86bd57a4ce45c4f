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
import { wrongFields } from '../../support/rpc-failure.ts';
import { at, paymentEntry, sharedReconciliationDesk, walletA } from './reconciliation-desk.ts';
import type { Entry } from './reconciliation-desk.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedReconciliationDesk(stack);
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
  await desk.database.query('delete from core.money_days');
  await desk.database.query('delete from core.payee_accounts');
  await desk.database.query('delete from core.wallet_accounts');
  ({ id: merchantId } = await stack.createMerchant());
  ({ id: ordinaryId } = await stack.createMerchant());
});

/** Makes an account with these values the current one. */
async function useAccount(values: Readonly<Record<string, string>>, owner = merchantId): Promise<string> {
  const { account } = await owners.addWalletAccount({
    ...{ merchantId: owner, environment: Environment.SANDBOX, wallet: 'walleta', values },
  });
  const key = { merchantId: owner, walletAccountId: account?.walletAccountId ?? '' };
  await worker.recordWalletAccountCheck({ ...key, check: WalletAccountCheck.ACCEPTED });
  await owners.promoteWalletAccount(key);
  return key.walletAccountId;
}
const ownPayee = { ...credentials, 'payee.type': 'accountid', 'payee.id': '3001' };
const paid = (providerTransactionId: string, amount = '100.50') => ({
  case: 'completed' as const,
  value: { providerTransactionId, amount, currency: 'ETB' },
});
const line = (providerTransactionId: string, own: Entry = {}): Entry =>
  paymentEntry({ providerTransactionId, occurTime: at(`${day}T12:00:00Z`), ...own });

async function reconcile(of: string, entries: readonly Entry[]) {
  await desk.operator.startReconciliation({ ...walletA, date: day, payee: of });
  const { leased } = await desk.wallets.leaseReconciliation({
    ...{ ...walletA, lease: { seconds: 60n }, ownAccounts: true },
  });
  const { leaseId = '', reconciliation } = leased ?? {};
  const key = { reconciliationId: reconciliation?.reconciliationId ?? '', leaseId };
  await desk.wallets.recordStatementPage({
    ...key,
    entries: entries.map((entry, position) => ({ ...entry, position })),
  });
  const completed = await desk.wallets.completeReconciliation(key);
  const { differences } = await desk.operator.listDifferences(key);
  return { leased, reconciliation: completed.reconciliation, differences };
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
  await desk.payment(ordinaryId, paid('d-1'));
  await useAccount(ownPayee);
  await desk.payment(merchantId, paid('d-2'));
  // Other credentials, and the same payee.
  await useAccount({ ...ownPayee, client_id: 'rotated' });
  await desk.payment(merchantId, paid('d-3'));
  // Credentials of its own, and the operator's payee.
  await useAccount(credentials);
  await desk.payment(merchantId, paid('d-4'));
  for (const id of [merchantId, ordinaryId]) await desk.moveTo(id, day);

  const operators = await reconcile('', [line('d-1'), line('d-4')]);
  const own = await reconcile(payee, [line('d-2'), line('d-3')]);

  expect([...operators.differences, ...own.differences]).toEqual([]);
  expect([operators.leased?.walletAccountId, own.reconciliation?.payee]).toEqual(['', payee]);
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
  await useAccount(ownPayee);
  const latest = await useAccount({ ...ownPayee, client_id: 'rotated' });
  await desk.operator.startReconciliation({ ...walletA, date: day, payee });

  expect(await desk.lease()).toBeUndefined();
  const { leased } = await desk.wallets.leaseReconciliation({
    ...{ ...walletA, lease: { seconds: 60n }, ownAccounts: true },
  });
  expect(leased).toMatchObject({ merchantId, walletAccountId: latest, reconciliation: { payee } });
});

test('the first merchant that named a payee reads its statement, and other merchants that name it have the next tries', async () => {
  await useAccount(ownPayee);
  const rotated = await useAccount({ ...ownPayee, client_id: 'rotated' });
  const others = await useAccount({ ...ownPayee, client_id: 'of another' }, ordinaryId);
  await desk.operator.startReconciliation({ ...walletA, date: day, payee });
  const failing = async () => {
    const { leased } = await desk.wallets.leaseReconciliation({
      ...{ ...walletA, lease: { seconds: 60n }, ownAccounts: true },
    });
    const { leaseId = '', reconciliation } = leased ?? {};
    await desk.wallets.completeReconciliation({
      ...{ reconciliationId: reconciliation?.reconciliationId ?? '', leaseId, error: 'HTTP 403' },
    });
    await desk.database.query('update core.reconciliations set due_at = now()');
    return leased?.walletAccountId;
  };

  expect([await failing(), await failing(), await failing()]).toEqual([rotated, others, rotated]);
});

test('an account that was removed fails the reading, and its days are listed with that reason', async () => {
  const walletAccountId = await useAccount(ownPayee);
  await desk.payment(merchantId, paid('r-1'));
  await desk.moveTo(merchantId, day);
  await desk.operator.startReconciliation({ ...walletA, date: day, payee });
  await desk.database.query('update core.payment_attempts set due_at = null');
  await owners.retireWalletAccount({ merchantId, walletAccountId });
  await owners.removeWalletAccount({ merchantId, walletAccountId });

  const { leased } = await desk.wallets.leaseReconciliation({
    ...{ ...walletA, lease: { seconds: 60n }, ownAccounts: true },
  });

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

test('core compares the days of an own account from its first attempt on, and lists those that are missing', async () => {
  await useAccount(ownPayee);
  await desk.payment(merchantId, paid('s-1'));
  await desk.moveTo(merchantId, '2026-03-10');
  const wallet = { options: [], currencies: [], refunds: 'any', environments: ['SANDBOX'] } as const;
  const partsAt = (time: string, reconciled: boolean) => ({
    ...{ database, newId: newRandomId, now: () => new Date(time), onDue: () => {}, balanceMinutes: 60 },
    wallets: [{ ...wallet, id: 'walleta', reconcile: reconciled }],
  });
  const runs = async (): Promise<string[]> => {
    const { rows } = await desk.database.query<{ text: string }>(
      "select concat_ws(' ', wallet, day) as text from core.reconciliations order by wallet, day",
    );
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
});

test('an account that a core of the previous release added gets its payee', async () => {
  await useAccount(ownPayee);
  await desk.database.query('delete from core.payee_accounts');
  const form = { fields: [], issues: () => [], payee: () => payee };

  expect(await rememberPayees(database.pool, new Map())).toBe(0);
  expect(await rememberPayees(database.pool, new Map([['walleta', form]]))).toBe(1);
  expect(await rememberPayees(database.pool, new Map([['walleta', form]]))).toBe(0);
  const { rows } = await desk.database.query('select wallet, payee from core.payee_accounts');
  expect(rows).toEqual([{ wallet: 'walleta', payee }]);
});
