import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { v7 } from 'uuid';
import { publicId, storedId } from '../../support/ids.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  DifferenceKind,
  ReconciliationStatus,
  StatementEntryStatus,
  StatementEntryType,
  Wallet,
} from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import { failureOf } from '../../support/rpc-failure.ts';
import { startStack } from '../../support/stack.ts';
import type { Stack } from '../../support/stack.ts';
import { at, openReconciliationDesk, paymentEntry, walletA } from './reconciliation-desk.ts';
import type { ReconciliationDesk } from './reconciliation-desk.ts';

let stack: Stack;
let desk: ReconciliationDesk;
let merchantId: string;

const day = '2026-03-10';
const noon = at(`${day}T12:00:00Z`);

beforeAll(async () => {
  stack = await startStack({ facades: 0 });
  desk = await openReconciliationDesk(stack);
});
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});
afterAll(async () => {
  await desk.close();
  await stack.stop();
});

const completed = (providerTransactionId: string, amount = '100.50') => ({
  case: 'completed' as const,
  value: { providerTransactionId, amount, currency: 'ETB' },
});
const declined = { case: 'declined' as const, value: { reason: 'wrong_pin' } };

describe('what is compared', () => {
  test('a payment that both have, with the same amount however it is written, is no difference', async () => {
    await desk.payment(merchantId, completed('c-1'));
    await desk.moveTo(merchantId, day);

    const { reconciliation, differences } = await desk.reconcile(day, [
      paymentEntry({ providerTransactionId: 'c-1', amount: '0100.5000', occurTime: noon }),
    ]);

    expect(differences).toEqual([]);
    expect(reconciliation).toMatchObject({
      status: ReconciliationStatus.COMPLETED,
      entries: 1,
      differences: 0,
      date: day,
    });
    expect(reconciliation.dueTime).toBeUndefined();
  });

  test('a payment that the statement does not have is missing in it', async () => {
    const { paymentAttemptId } = await desk.payment(merchantId, completed('m-1'));
    await desk.moveTo(merchantId, day);

    const { differences } = await desk.reconcile(day, []);

    expect(differences).toMatchObject([
      {
        number: 1,
        kind: DifferenceKind.MISSING_IN_STATEMENT,
        providerTransactionId: 'm-1',
        ourAmount: '100.50',
        ourCurrency: 'ETB',
        ourStatus: 'succeeded',
        walletAmount: '',
        merchantId,
        paymentAttemptId,
      },
    ]);
    expect(differences[0]?.advice).toContain('ask it for transaction m-1');
  });

  test('money that nobody asked for is missing here', async () => {
    const { differences } = await desk.reconcile(day, [
      paymentEntry({ providerTransactionId: 'x-1', amount: '7', occurTime: noon }),
    ]);

    expect(differences).toMatchObject([
      {
        kind: DifferenceKind.MISSING_HERE,
        providerTransactionId: 'x-1',
        walletAmount: '7',
        walletCurrency: 'ETB',
        walletStatus: 'completed',
        ourAmount: '',
        merchantId: '',
        paymentAttemptId: '',
      },
    ]);
  });

  test.each([
    ['another amount', { amount: '100.51' }],
    ['an amount that a float would take for the same', { amount: '100.500000000001' }],
    ['another currency', { currency: 'USD' }],
    ['an amount that is none', { amount: '1e2' }],
  ])('%s differs', async (_name, own) => {
    const { paymentAttemptId } = await desk.payment(merchantId, completed('a-1'));
    await desk.moveTo(merchantId, day);

    const { differences } = await desk.reconcile(day, [
      paymentEntry({ providerTransactionId: 'a-1', occurTime: noon, ...own }),
    ]);

    expect(differences).toMatchObject([
      { kind: DifferenceKind.AMOUNT_DIFFERS, paymentAttemptId, ourAmount: '100.50', ...walletSide(own) },
    ]);
  });

  test.each([
    ['pending', StatementEntryStatus.PENDING],
    ['failed', StatementEntryStatus.FAILED],
    ['reversed', StatementEntryStatus.REVERSED],
  ])('a payment that we have as paid and the statement as %s differs', async (walletStatus, status) => {
    await desk.payment(merchantId, completed('s-1'));
    await desk.moveTo(merchantId, day);

    const { differences } = await desk.reconcile(day, [
      paymentEntry({ providerTransactionId: 's-1', status, occurTime: noon }),
    ]);

    expect(differences).toMatchObject([
      { kind: DifferenceKind.STATUS_DIFFERS, ourStatus: 'succeeded', walletStatus },
    ]);
  });

  test('a charge for an attempt that we have as declined differs, and has the wallet asked again', async () => {
    const { paymentAttemptId } = await desk.payment(merchantId, declined);
    await desk.moveTo(merchantId, day);

    const { differences } = await desk.reconcile(day, [
      paymentEntry({ providerTransactionId: 'd-1', requestId: paymentAttemptId, occurTime: noon }),
    ]);

    expect(differences).toMatchObject([
      { kind: DifferenceKind.STATUS_DIFFERS, paymentAttemptId, ourStatus: 'declined' },
    ]);
    const { rows } = await desk.database.query(
      'select due_at from core.payment_attempts where due_at is not null and status = $1',
      ['DECLINED'],
    );
    expect(rows).toHaveLength(1);
  });

  test('a second charge for an attempt that is paid is money we know nothing of', async () => {
    const { paymentAttemptId } = await desk.payment(merchantId, completed('t-1'));
    await desk.moveTo(merchantId, day);

    const { differences } = await desk.reconcile(day, [
      paymentEntry({ providerTransactionId: 't-1', occurTime: noon }),
      paymentEntry({ providerTransactionId: 't-2', requestId: paymentAttemptId, occurTime: noon }),
    ]);

    expect(differences).toMatchObject([
      { kind: DifferenceKind.MISSING_HERE, providerTransactionId: 't-2', paymentAttemptId },
    ]);
    expect(differences[0]?.advice).toContain('second charge');
  });

  test('payments that failed or are not decided, and that we never had as paid, are nobody’s difference', async () => {
    const { differences } = await desk.reconcile(day, [
      paymentEntry({ providerTransactionId: 'f-1', status: StatementEntryStatus.FAILED, occurTime: noon }),
      paymentEntry({ providerTransactionId: 'f-2', status: StatementEntryStatus.PENDING, occurTime: noon }),
      paymentEntry({ providerTransactionId: 'f-3', status: StatementEntryStatus.OTHER, occurTime: noon }),
    ]);

    expect(differences).toEqual([]);
  });

  test('an entry that cannot be read is a difference, and what is no payment is counted', async () => {
    const { reconciliation, differences } = await desk.reconcile(day, [
      { type: StatementEntryType.UNREADABLE, problem: '/amount: expected text' },
      paymentEntry({ type: StatementEntryType.OTHER, providerTransactionId: 'payout', occurTime: noon }),
    ]);

    expect(differences).toMatchObject([{ kind: DifferenceKind.UNREADABLE, providerTransactionId: '' }]);
    expect(differences[0]?.advice).toContain(
      'entry 1 of the statement cannot be read (/amount: expected text)',
    );
    expect(reconciliation).toMatchObject({ entries: 2, otherEntries: 1, differences: 1 });
  });

  test('each day has its own: what stands just outside of it, on either side, is left to the others', async () => {
    await desk.payment(merchantId, completed('o-1'));
    await desk.moveTo(merchantId, '2026-03-09');

    const { differences } = await desk.reconcile(day, [
      paymentEntry({ providerTransactionId: 'before', occurTime: at('2026-03-09T23:59:59.999Z') }),
      paymentEntry({ providerTransactionId: 'after', occurTime: at('2026-03-11T00:00:00Z') }),
    ]);

    expect(differences).toEqual([]);
  });

  test('other wallets and environments are left alone', async () => {
    await desk.payment(merchantId, completed('w-1'));
    await desk.moveTo(merchantId, day);
    const other = { wallet: Wallet.WALLETB, environment: Environment.SANDBOX };
    await desk.operator.startReconciliation({ ...other, date: day });

    const { leased } = await desk.wallets.leaseReconciliation({ ...other, lease: { seconds: 60n } });
    const { reconciliation } = await desk.wallets.completeReconciliation({
      reconciliationId: leased?.reconciliation?.reconciliationId ?? '',
      leaseId: leased?.leaseId ?? '',
    });

    expect(reconciliation).toMatchObject({ status: ReconciliationStatus.COMPLETED, differences: 0 });
  });
});

const walletSide = ({ amount = '100.5', currency = 'ETB' }: { amount?: string; currency?: string }) => ({
  walletAmount: amount,
  walletCurrency: currency,
});

describe('stray payments', () => {
  const reversal = (own: Parameters<typeof paymentEntry>[0]) =>
    paymentEntry({
      type: StatementEntryType.REVERSAL,
      providerTransactionId: 'back',
      occurTime: noon,
      ...own,
    });
  const strayEntry = paymentEntry({ providerTransactionId: 'st-1', amount: '101.5', occurTime: noon });
  const setStatus = (status: string) =>
    desk.database.query(
      `update core.stray_payments set status = $1::core.stray_payment_status, due_at = null where status = 'REVERSAL_DUE'`,
      [status],
    );

  test('one whose way back is under way is known, and its amount is compared', async () => {
    const { strayPaymentId } = await desk.payment(merchantId, completed('st-1', '101.50'));
    await desk.moveTo(merchantId, day);

    const { differences } = await desk.reconcile(day, [strayEntry]);
    const { differences: other } = await desk.reconcile(day, [{ ...strayEntry, amount: '9' }]);

    expect(differences).toEqual([]);
    expect(other).toMatchObject([{ kind: DifferenceKind.AMOUNT_DIFFERS, strayPaymentId }]);
  });

  test('one that the statement does not have is missing in it', async () => {
    const { strayPaymentId } = await desk.payment(merchantId, completed('st-1', '101.50'));
    await desk.moveTo(merchantId, day);

    const { differences } = await desk.reconcile(day, []);

    expect(differences).toMatchObject([{ kind: DifferenceKind.MISSING_IN_STATEMENT, strayPaymentId }]);
  });

  test('one that went back, with its reversal on the statement, is no difference', async () => {
    await desk.payment(merchantId, completed('st-1', '101.50'));
    await setStatus('REVERSED');
    await desk.moveTo(merchantId, day);

    const { differences } = await desk.reconcile(day, [
      reversal({ amount: '101.50', originalTransactionId: 'st-1' }),
      strayEntry,
    ]);

    expect(differences).toEqual([]);
  });

  test('one that went back at the second try is known by the name that the wallet repeats of it', async () => {
    const { strayPaymentId } = await desk.payment(merchantId, completed('st-1', '101.50'));
    const reversalId = publicId('stp', v7());
    await desk.database.query(
      `update core.stray_payments set reversal_id = $1, status = 'REVERSAL_REFUSED', due_at = null where id = $2`,
      [storedId('stp', reversalId), storedId('stp', strayPaymentId)],
    );
    await desk.moveTo(merchantId, day);

    const { differences } = await desk.reconcile(day, [
      strayEntry,
      reversal({ amount: '101.5', originalTransactionId: '', requestId: reversalId }),
    ]);

    expect(differences).toMatchObject([
      { kind: DifferenceKind.STATUS_DIFFERS, strayPaymentId, ourStatus: 'reversal_refused' },
    ]);
  });

  test('one that the wallet said went back, without a word of that on the statement, differs', async () => {
    await desk.payment(merchantId, completed('st-1', '101.50'));
    await setStatus('REVERSED');
    await desk.moveTo(merchantId, day);

    const { differences } = await desk.reconcile(day, [strayEntry]);

    expect(differences).toMatchObject([
      { kind: DifferenceKind.STATUS_DIFFERS, ourStatus: 'reversed', walletStatus: 'completed' },
    ]);
  });

  test('one whose reversal was refused, and that went back all the same, differs', async () => {
    await desk.payment(merchantId, completed('st-1', '101.50'));
    await setStatus('REVERSAL_REFUSED');
    await desk.moveTo(merchantId, day);

    const { differences } = await desk.reconcile(day, [
      strayEntry,
      reversal({ amount: '101.5', originalTransactionId: 'st-1' }),
    ]);

    expect(differences).toMatchObject([
      { kind: DifferenceKind.STATUS_DIFFERS, ourStatus: 'reversal_refused' },
    ]);
  });

  test('a reversal of a payment whose order is COMPLETED differs', async () => {
    const { paymentAttemptId } = await desk.payment(merchantId, completed('ok-1'));
    await desk.moveTo(merchantId, day);

    const { differences } = await desk.reconcile(day, [
      paymentEntry({ providerTransactionId: 'ok-1', occurTime: noon }),
      reversal({ originalTransactionId: 'ok-1' }),
    ]);

    expect(differences).toMatchObject([{ kind: DifferenceKind.STATUS_DIFFERS, paymentAttemptId }]);
  });

  test('a reversal of something we never had is missing here', async () => {
    const { differences } = await desk.reconcile(day, [reversal({ originalTransactionId: 'nobody' })]);

    expect(differences).toMatchObject([{ kind: DifferenceKind.MISSING_HERE, providerTransactionId: 'back' }]);
  });
});

describe('starting', () => {
  test('a day that is under way already gives the same one; one that is over is done again', async () => {
    const first = await desk.operator.startReconciliation({ ...walletA, date: day });
    const second = await desk.operator.startReconciliation({ ...walletA, date: day });
    const { reconciliation } = await desk.reconcile(day, []);
    const third = await desk.operator.startReconciliation({ ...walletA, date: day });

    expect(second.reconciliation?.reconciliationId).toBe(first.reconciliation?.reconciliationId);
    expect(reconciliation.reconciliationId).toBe(first.reconciliation?.reconciliationId);
    expect(third.reconciliation?.reconciliationId).not.toBe(first.reconciliation?.reconciliationId);
    expect(third.reconciliation).toMatchObject({
      status: ReconciliationStatus.WAITING,
      scheduled: false,
      startedBy: 'operator',
    });
  });

  test('fifty at once start one', async () => {
    const started = await Promise.all(
      Array.from({ length: 50 }, () => desk.operator.startReconciliation({ ...walletA, date: day })),
    );

    expect(new Set(started.map(({ reconciliation }) => reconciliation?.reconciliationId)).size).toBe(1);
  });

  test('one that waits for its next try is due at once', async () => {
    await desk.operator.startReconciliation({ ...walletA, date: day });
    const leased = await desk.lease();
    const { reconciliationId = '' } = leased?.reconciliation ?? {};
    await desk.wallets.completeReconciliation({
      reconciliationId,
      leaseId: leased?.leaseId ?? '',
      error: 'no',
    });
    expect(await desk.lease()).toBeUndefined();

    const again = await desk.operator.startReconciliation({ ...walletA, date: day });

    expect(again.reconciliation).toMatchObject({ reconciliationId, tries: 1, detail: 'no' });
    expect((await desk.lease())?.reconciliation).toMatchObject({ reconciliationId, tries: 2 });
  });

  test.each([
    ['', 'must be a date'],
    ['2026-02-30', 'must be a date'],
    ['2026-2-3', 'must be a date'],
    ['yesterday', 'must be a date'],
    ['2098-01-01', 'must not be in the future'],
  ])('the date %j is refused', async (date, issue) => {
    const failure = await failureOf(desk.operator.startReconciliation({ ...walletA, date }));

    expect(failure).toMatchObject({
      reason: 'INVALID_FIELDS',
      issues: { date: expect.stringContaining(issue) },
    });
  });

  test('all that is wrong is told at once', async () => {
    const failure = await failureOf(desk.operator.startReconciliation({}));

    expect(Object.keys(failure.issues)).toEqual(['wallet', 'environment', 'date']);
  });
});

describe('reading a statement', () => {
  const key = (leased: Awaited<ReturnType<ReconciliationDesk['lease']>>) => ({
    reconciliationId: leased?.reconciliation?.reconciliationId ?? '',
    leaseId: leased?.leaseId ?? '',
  });
  const entry = (position: number) => ({
    ...paymentEntry({ providerTransactionId: `p-${position}`, occurTime: noon }),
    position,
  });
  const lapse = () =>
    desk.database.query("update core.reconciliations set due_at = now() where status = 'RUNNING'");

  test('nobody else gets what somebody has; the period is the day, with ten minutes for clocks that differ', async () => {
    await desk.operator.startReconciliation({ ...walletA, date: day });

    const leased = await desk.lease();

    expect(await desk.lease()).toBeUndefined();
    expect(leased?.reconciliation).toMatchObject({ status: ReconciliationStatus.RUNNING, tries: 1 });
    expect(timestampDate(leased!.fromTime!).toISOString()).toBe('2026-03-09T23:50:00.000Z');
    expect(timestampDate(leased!.toTime!).toISOString()).toBe('2026-03-11T00:10:00.000Z');
  });

  test('the period reaches back to the beginning of the oldest payment that ended on the day', async () => {
    const { paymentAttemptId } = await desk.payment(merchantId, completed('long-1'));
    await desk.moveTo(merchantId, day);
    await desk.database.query(
      "update core.payment_attempts set created_at = '2026-03-08T20:00:00Z' where provider_transaction_id = 'long-1'",
    );
    await desk.operator.startReconciliation({ ...walletA, date: day });

    const leased = await desk.lease();

    expect(paymentAttemptId).not.toBe('');
    expect(timestampDate(leased!.fromTime!).toISOString()).toBe('2026-03-08T19:50:00.000Z');
  });

  test('of a day that has not ended, what there is so far is read', async () => {
    const today = new Date().toISOString().slice(0, 10);
    await desk.operator.startReconciliation({ ...walletA, date: today });

    const leased = await desk.lease();

    expect(timestampDate(leased!.toTime!).getTime()).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  test('a page that is sent twice counts once', async () => {
    await desk.operator.startReconciliation({ ...walletA, date: day });
    const leased = key(await desk.lease());

    await desk.wallets.recordStatementPage({ ...leased, entries: [entry(0), entry(1)] });
    const again = await desk.wallets.recordStatementPage({ ...leased, entries: [entry(0), entry(1)] });
    const { reconciliation } = await desk.wallets.completeReconciliation(leased);

    expect(again.reconciliation?.entries).toBe(2);
    expect(reconciliation).toMatchObject({ entries: 2, differences: 2 });
  });

  test('after an expired lease another process takes over, and the old pages are deleted and refused', async () => {
    await desk.operator.startReconciliation({ ...walletA, date: day });
    const dead = key(await desk.lease());
    await desk.wallets.recordStatementPage({ ...dead, entries: [entry(0), entry(1)] });
    await lapse();

    const heir = await desk.lease();

    expect(heir?.reconciliation).toMatchObject({ tries: 2, entries: 0 });
    const late = [
      await failureOf(desk.wallets.recordStatementPage({ ...dead, entries: [entry(2)] })),
      await failureOf(desk.wallets.completeReconciliation(dead)),
    ];
    expect(late).toMatchObject([{ reason: 'LEASE_LOST' }, { reason: 'LEASE_LOST' }]);
    await desk.wallets.recordStatementPage({ ...key(heir), entries: [entry(0)] });
    const { reconciliation } = await desk.wallets.completeReconciliation(key(heir));
    expect(reconciliation).toMatchObject({
      status: ReconciliationStatus.COMPLETED,
      entries: 1,
      differences: 1,
    });
  });

  test('a statement that cannot be read is tried again later, and given up after the seventh time', async () => {
    await desk.operator.startReconciliation({ ...walletA, date: day });
    const seen: (string | undefined)[] = [];

    for (let tries = 1; tries <= 7; tries += 1) {
      const leased = key(await desk.lease());
      await desk.wallets.recordStatementPage({ ...leased, entries: [entry(0)] });
      const { reconciliation } = await desk.wallets.completeReconciliation({ ...leased, error: 'it hangs' });
      seen.push(ReconciliationStatus[reconciliation?.status ?? 0]);
      expect(reconciliation).toMatchObject({ detail: 'it hangs', differences: 0 });
      expect(await desk.lease()).toBeUndefined();
      await desk.database.query(
        "update core.reconciliations set due_at = now() where status = 'WAITING' and due_at > now()",
      );
    }

    expect(seen).toEqual([...Array.from({ length: 6 }, () => 'WAITING'), 'FAILED']);
    expect(await desk.lease()).toBeUndefined();
  });

  test('a statement of more entries than are compared at once is compared whole', async () => {
    await desk.operator.startReconciliation({ ...walletA, date: day });
    const leased = key(await desk.lease());
    const entries = Array.from({ length: 1_000 }, (_, index) => entry(index));
    await desk.wallets.recordStatementPage({ ...leased, entries });
    await desk.wallets.recordStatementPage({ ...leased, entries: [entry(1_000)] });

    const { reconciliation } = await desk.wallets.completeReconciliation(leased);

    expect(reconciliation).toMatchObject({ entries: 1_001, differences: 1_001 });
    const last = await desk.reader.listDifferences({ ...leased, pageSize: 500, afterNumber: 1_000 });
    expect(last.differences).toMatchObject([{ number: 1_001, providerTransactionId: 'p-1000' }]);
    const { rows } = await desk.database.query('select from core.statement_entries');
    expect(rows).toEqual([]);
  });

  test.each([
    ['no type', { providerTransactionId: 'a' }],
    ['no transaction id', { type: StatementEntryType.PAYMENT, status: StatementEntryStatus.COMPLETED }],
    ['no status', { type: StatementEntryType.PAYMENT, providerTransactionId: 'a' }],
  ])('an entry with %s is refused', async (_name, own) => {
    await desk.operator.startReconciliation({ ...walletA, date: day });
    const leased = key(await desk.lease());

    const failure = await failureOf(desk.wallets.recordStatementPage({ ...leased, entries: [own] }));

    expect(failure).toMatchObject({ reason: 'INVALID_FIELDS', issues: { entries: expect.any(String) } });
  });
});

describe('looking', () => {
  test('they are listed newest first, a page at a time, of one wallet when that is asked for', async () => {
    for (const date of ['2026-03-01', '2026-03-02', '2026-03-03'])
      await desk.operator.startReconciliation({ ...walletA, date });
    await desk.operator.startReconciliation({ ...walletA, wallet: Wallet.WALLETB, date: '2026-03-04' });

    const first = await desk.reader.listReconciliations({ wallet: Wallet.WALLETA, pageSize: 2 });
    const pageToken = first.nextPageToken;
    const second = await desk.reader.listReconciliations({ wallet: Wallet.WALLETA, pageSize: 2, pageToken });

    expect(first.reconciliations.map(({ date }) => date)).toEqual(['2026-03-03', '2026-03-02']);
    expect(second.reconciliations.map(({ date }) => date)).toEqual(['2026-03-01']);
    expect(second.nextPageToken).toBe('');
    expect((await desk.reader.listReconciliations({})).reconciliations).toHaveLength(4);
  });

  test('one that is not there is not found', async () => {
    const reconciliationId = 'rec_01m7xjbb99evv8hx2dqm5r8qgn';

    const failures = [
      await failureOf(desk.reader.getReconciliation({ reconciliationId })),
      await failureOf(desk.reader.listDifferences({ reconciliationId })),
    ];

    expect(failures.map(({ reason }) => reason)).toEqual([
      'RECONCILIATION_NOT_FOUND',
      'RECONCILIATION_NOT_FOUND',
    ]);
  });
});
