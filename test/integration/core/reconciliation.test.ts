import { beforeEach, describe, expect, test } from '@jest/globals';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { v7 } from 'uuid';
import { publicId, storedId } from '../../support/ids.ts';
import { CheckSubject } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  DifferenceKind,
  ReconciliationStatus,
  StatementEntryStatus,
  StatementEntryType,
} from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import { failureOf, wrongFields, refusalOf } from '../../support/rpc-failure.ts';
import { checksOfCore } from './doctor-checks.ts';
import { outcomes, transactionOf } from './payment-desk.ts';
import type { Outcome } from './payment-desk.ts';
import { at, completed, paymentEntry, walletA, sharedReconciliationDesk } from './reconciliation-desk.ts';
import type { Entry } from './reconciliation-desk.ts';
import { deleteLeftEntries } from '../../../src/core/reconciliation/statement-entries.sql.ts';
import { sharedCoreDatabase, sharedStack } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import type { LeasedReconciliation } from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';

let merchantId: string;

const day = '2026-03-10';
const noon = at(`${day}T12:00:00Z`);

const stack = sharedStack({ facades: 0 });
const desk = sharedReconciliationDesk(stack);
const database = sharedCoreDatabase('reconciliation', () => stack.databaseUrl, 2);
beforeEach(async () => {
  await desk.clear();
  ({ id: merchantId } = await stack.createMerchant());
});

const { AMOUNT_DIFFERS, MISSING_HERE, MISSING_IN_STATEMENT, STATUS_DIFFERS, UNREADABLE } = DifferenceKind;

/** The result of a statement of the day beside a payment that the wallet has answered with this. */
async function compare(outcome: Outcome, entries: (attemptId: string) => Entry[]) {
  const { attemptId } = await desk.payment(merchantId, outcome);
  await desk.moveTo(merchantId, day);
  return { paymentAttemptId: attemptId, ...(await desk.reconcile(day, entries(attemptId))) };
}
const dateOf = (time: Entry['occurTime']): Date => new Date(Number(time?.seconds ?? 0) * 1_000);
const entryOf = (providerTransactionId: string, own: Entry = {}): Entry =>
  paymentEntry({ providerTransactionId, occurTime: noon, ...own });

/** The id of a stray payment "st-1" of `day`, as if the wallet had confirmed its return at this time. */
async function returnStray(amount: string, returned: string): Promise<string> {
  const { strayPaymentId } = await desk.payment(merchantId, completed('st-1', amount));
  await desk.moveTo(merchantId, day);
  await desk.database.query(sql`
    update core.stray_payments set status = 'REVERSED', due_at = null, updated_at = ${returned}
    where id = ${storedId('stp', strayPaymentId)}`);
  return strayPaymentId;
}

/** Moves payments that payers started, as if they had been reported and confirmed at these times. The id has the time of the report. */
async function moveFromMenu(
  references: readonly string[],
  reported: string,
  confirmed: string,
): Promise<void> {
  const transactions = references.map((reference) => transactionOf(merchantId, reference));
  for (const table of ['payment_attempts', 'stray_payments'])
    await desk.database.query(
      `update core.${table} set created_at = $1, updated_at = $1 where provider_transaction_id = any ($2)`,
      [confirmed, transactions],
    );
  await desk.database.query('set session_replication_role = replica');
  for (const transaction of transactions) {
    const id = v7({ msecs: Date.parse(reported) });
    await desk.database.query(sql`
      with moved as (update core.payer_payments set id = ${id} where provider_transaction_id = ${transaction})
      update core.stray_payments set payer_payment_id = ${id} where provider_transaction_id = ${transaction}`);
  }
  await desk.database.query('reset session_replication_role');
}

describe('compared entries', () => {
  test('a payment that both have is no difference', async () => {
    const { reconciliation, differences } = await compare(completed('c-1'), () => [entryOf('c-1')]);

    expect(differences).toEqual([]);
    const expected = { status: ReconciliationStatus.COMPLETED, entries: 1, differences: 0, date: day };
    expect(reconciliation).toMatchObject(expected);
    expect(reconciliation.dueTime).toBeUndefined();
  });

  test('a payment that the statement does not have is missing in it', async () => {
    const { paymentAttemptId, differences } = await compare(completed('m-1'), () => []);

    expect(differences).toMatchObject([
      {
        ...{ number: 1, kind: MISSING_IN_STATEMENT, providerTransactionId: 'm-1' },
        ...{ ourAmount: '100.50', ourCurrency: 'ETB', ourStatus: 'succeeded', walletAmount: '' },
        ...{ merchantId, paymentAttemptId },
      },
    ]);
    expect(differences[0]?.advice).toMatch(
      /ask the wallet about transaction m-1\. See: gatehouse payment show mer_\w+ pat_\w+$/,
    );
  });

  test('a payment that was recorded after the statement was read is not missing in it', async () => {
    await desk.operator.startReconciliation({ ...walletA, date: new Date().toISOString().slice(0, 10) });
    const leased = key(await desk.lease());
    await desk.payment(merchantId, completed('later'));

    await desk.wallets.completeReconciliation(leased);

    expect((await desk.operator.listDifferences(leased)).differences).toEqual([]);
  });

  test('payments that their payers started before midnight, and that were confirmed after it, are in both statements', async () => {
    const nextDay = '2026-03-11';
    const references = [`order-${merchantId}`, `nothing-${merchantId}`];
    await desk.payments.registerHosted({ merchantId, orderNumber: references[0]! });
    for (const reference of references)
      await desk.payments.confirmFromMenu(
        merchantId,
        await desk.payments.reportFromMenu(merchantId, reference),
        reference,
      );
    await moveFromMenu(references, `${day}T23:30:00Z`, `${nextDay}T01:00:00Z`);
    const statement = references.map((reference) =>
      entryOf(transactionOf(merchantId, reference), { occurTime: at(`${day}T23:30:00Z`) }),
    );
    const since = (from: Date) => statement.filter(({ occurTime }) => dateOf(occurTime) >= from);

    const both = [await desk.reconcileWith(day, since), await desk.reconcileWith(nextDay, since)];

    expect(both.flatMap(({ differences }) => differences)).toEqual([]);
  });

  test("money that a merchant's own account received is not missing, and is known if the statement has it", async () => {
    // The last one has another amount, so it is stray.
    for (const outcome of [completed('o-1'), completed('o-2'), completed('o-3', '7.00')])
      await desk.payment(merchantId, outcome);
    await desk.database.query(sql`update core.payment_attempts set wallet_account_id = gen_random_uuid()
      where merchant_id = ${storedId('mer', merchantId)}`);
    await desk.moveTo(merchantId, day);

    const { differences } = await desk.reconcile(day, [entryOf('o-2', { amount: '100.50' })]);

    expect(differences).toEqual([]);
  });

  test('money that Gatehouse did not request is missing in our records', async () => {
    const { differences } = await desk.reconcile(day, [entryOf('x-1', { amount: '7' })]);

    expect(differences).toMatchObject([
      {
        ...{ kind: MISSING_HERE, providerTransactionId: 'x-1', ourAmount: '' },
        ...{ walletAmount: '7', walletCurrency: 'ETB', walletStatus: 'completed' },
        ...{ merchantId: '', paymentAttemptId: '' },
      },
    ]);
  });

  test('a difference remains in doctor while a newer comparison of its day waits', async () => {
    await desk.reconcile(day, [entryOf('x-1')]);
    await desk.operator.startReconciliation({ ...walletA, date: day });

    const checks = await checksOfCore(database);

    const { facts } = checks.find(({ subject }) => subject === CheckSubject.RECONCILIATION)!;
    expect(facts.value).toMatchObject({ completedCount: 1n, differingCount: 1n, lateCount: 0n });
  });

  test('a charge for a declined attempt differs, and causes another query of the wallet', async () => {
    const { paymentAttemptId, differences } = await compare(outcomes.declined(), (requestId) => [
      entryOf('d-1', { requestId }),
    ]);

    expect(differences).toMatchObject([{ kind: STATUS_DIFFERS, paymentAttemptId, ourStatus: 'declined' }]);
    const { rows } = await desk.database.query(`
      select due_at from core.payment_attempts where due_at is not null and status = 'DECLINED'`);
    expect(rows).toHaveLength(1);
  });

  test('an unreadable entry is a difference, and entries of other kinds are counted', async () => {
    const { reconciliation, differences } = await desk.reconcile(day, [
      { type: StatementEntryType.UNREADABLE, problem: '/amount: expected text' },
      entryOf('payout', { type: StatementEntryType.OTHER }),
    ]);

    expect(differences).toMatchObject([{ kind: UNREADABLE, providerTransactionId: '' }]);
    expect(differences[0]?.advice).toContain(
      'entry 1 of the statement cannot be read (/amount: expected text)',
    );
    expect(reconciliation).toMatchObject({ entries: 2, otherEntries: 1, differences: 1 });
  });

  test('an entry whose time no record can have is compared like one without a time', async () => {
    const { differences } = await desk.reconcile(day, [
      entryOf('y-1', { occurTime: at('0000-12-31T23:59:59Z') }),
      entryOf('y-2', { occurTime: at('+012026-03-10T12:00:00Z') }),
    ]);

    expect(differences.map(({ kind, occurTime }) => [kind, occurTime])).toEqual([
      [MISSING_HERE, undefined],
      [MISSING_HERE, undefined],
    ]);
  });

  test.each([
    ['wallet', { wallet: 'walletb', environment: Environment.SANDBOX }],
    ['environment', { wallet: 'walleta', environment: Environment.PRODUCTION }],
  ])('records of another %s match no entry, and are not missing', async (_name, other) => {
    await desk.payment(merchantId, completed('w-1'));
    await desk.payment(merchantId, completed('w-2', '101.50'));
    await desk.moveTo(merchantId, day);
    await desk.operator.startReconciliation({ ...other, date: day });
    const { leased } = await desk.wallets.leaseReconciliation({ ...other, lease: { seconds: 60n } });
    const entries = [entryOf('w-1'), entryOf('w-2', { amount: '101.5' })];
    const placed = entries.map((entry, position) => ({ ...entry, position }));
    await desk.wallets.recordStatementPage({ ...key(leased), entries: placed });

    const { reconciliation } = await desk.wallets.completeReconciliation(key(leased));

    expect(reconciliation?.status).toBe(ReconciliationStatus.COMPLETED);
    const unknown = { kind: MISSING_HERE, merchantId: '', paymentAttemptId: '' };
    expect((await desk.operator.listDifferences(key(leased))).differences).toMatchObject([unknown, unknown]);
  });
});

describe('stray payments', () => {
  const strayEntry = entryOf('st-1', { amount: '101.5' });
  const reversal = (own: Entry) => entryOf('back', { type: StatementEntryType.REVERSAL, ...own });
  const reversalOf = (originalTransactionId: string) => reversal({ amount: '101.50', originalTransactionId });
  /** Money that an order could not take, and whose reversal is in this state. */
  const findMoney = async (status: string, reversalId: string) => {
    const { strayPaymentId } = await desk.payment(merchantId, completed('st-1', '101.50'));
    const stored = storedId('stp', reversalId === '' ? strayPaymentId : reversalId);
    await desk.database.query(sql`
      update core.stray_payments set status = ${status}::core.stray_payment_status, reversal_id = ${stored},
        due_at = case when ${status} = 'REVERSAL_DUE' then due_at end`);
    await desk.moveTo(merchantId, day);
    return strayPaymentId;
  };
  const differs = (kind: DifferenceKind, own: object) => [{ kind, ...own }];
  const secondTry = publicId('stp', v7());

  test.each<[string, string, readonly Entry[], readonly object[], string?]>([
    ['that was returned is no difference', 'REVERSED', [reversalOf('st-1'), strayEntry], []],
    [
      'that the statement has only as a return under the same number is missing in it',
      'REVERSED',
      [reversal({ amount: '101.5', originalTransactionId: 'st-1', providerTransactionId: 'st-1' })],
      differs(MISSING_IN_STATEMENT, {}),
    ],
    [
      'that the statement has twice, as its return, is missing here',
      'REVERSED',
      [strayEntry, reversalOf('st-1'), strayEntry, reversalOf('st-1')],
      [
        ...differs(MISSING_HERE, { walletAmount: '101.5' }),
        ...differs(MISSING_HERE, { walletAmount: '101.50' }),
      ],
    ],
    [
      'that was returned at the second try is known by the reference of that try',
      'REVERSAL_REFUSED',
      [strayEntry, reversal({ amount: '101.5', originalTransactionId: '', requestId: secondTry })],
      differs(STATUS_DIFFERS, { ourStatus: 'reversal_refused' }),
      secondTry,
    ],
  ])('a stray payment %s', async (_name, status, entries, expected, reversalId = '') => {
    const strayPaymentId = await findMoney(status, reversalId);

    const { differences } = await desk.reconcile(day, entries);

    expect(differences).toHaveLength(expected.length);
    expect(differences).toMatchObject(expected.map((each) => ({ strayPaymentId, ...each })));
  });
});

test('a stray payment that is returned just after midnight may be returned later by the clock of the wallet', async () => {
  const nextDay = '2026-03-11';
  await returnStray('101.50', `${nextDay}T00:07:00Z`);
  const [amount, returned] = ['101.50', `${nextDay}T00:12:00Z`];
  const payment = entryOf('st-1', { amount });
  const back = { type: StatementEntryType.REVERSAL, originalTransactionId: 'st-1', occurTime: at(returned) };

  const both = [
    await desk.reconcile(day, [payment]),
    await desk.reconcile(nextDay, [entryOf('back', { ...back, amount })]),
  ];
  const { days } = await desk.operator.listMoneyDays({ ...walletA, merchantId });

  expect(both.flatMap(({ differences }) => differences)).toEqual([]);
  expect(days.map(({ date, difference }) => [date, difference])).toEqual([
    [nextDay, '0'],
    [day, '0'],
  ]);
});

test('a return that the statement does not have is missing on its own day, although the stray payment is older', async () => {
  const dayOfReturn = '2026-03-12';
  const strayPaymentId = await returnStray('101.50', `${dayOfReturn}T10:00:00Z`);
  const payment = entryOf('st-1', { amount: '101.50' });
  const back = entryOf('back', {
    ...{ type: StatementEntryType.REVERSAL, originalTransactionId: 'st-1', amount: '101.50' },
    occurTime: at(`${dayOfReturn}T10:00:00Z`),
  });
  const readFrom =
    (...entries: Entry[]) =>
    (from: Date) =>
      entries.filter(({ occurTime }) => dateOf(occurTime) >= from);
  const balance = async () => {
    const { days } = await desk.operator.listMoneyDays({ ...walletA, merchantId, date: dayOfReturn });
    return days.map(({ difference }) => difference);
  };

  expect((await desk.reconcile(day, [payment])).differences).toEqual([]);
  const { differences } = await desk.reconcileWith(dayOfReturn, readFrom(payment));
  expect(differences).toMatchObject([{ kind: STATUS_DIFFERS, strayPaymentId, ourStatus: 'reversed' }]);
  expect(await balance()).toEqual(['101.5']);
  const complete = await desk.reconcileWith(dayOfReturn, readFrom(payment, back));
  expect(complete.differences).toEqual([]);
  expect(await balance()).toEqual(['0']);
});

const key = (leased: LeasedReconciliation | undefined) => desk.keyOf(leased);
const startDay = () => desk.operator.startReconciliation({ ...walletA, date: day });
/** A leased reconciliation of the day. */
const begin = async () => {
  await startDay();
  return desk.lease();
};

describe('starting', () => {
  test('a day with an open reconciliation returns that one, and a finished one starts again', async () => {
    const started = await Promise.all(Array.from({ length: 50 }, startDay));
    const { reconciliation } = await desk.reconcile(day, []);
    const again = await startDay();

    const ids = new Set(started.map((each) => each.reconciliation?.reconciliationId));
    expect([...ids]).toEqual([reconciliation.reconciliationId]);
    expect(again.reconciliation?.reconciliationId).not.toBe(reconciliation.reconciliationId);
    const expected = { status: ReconciliationStatus.WAITING, scheduled: false, startedBy: 'operator' };
    expect(again.reconciliation).toMatchObject(expected);
  });

  test('a reconciliation that waits for its next try is due at once, and has the reason without NUL', async () => {
    const leased = key(await begin());
    const { reconciliationId } = leased;
    await desk.wallets.completeReconciliation({ ...leased, error: 'no\0' });
    expect(await desk.lease()).toBeUndefined();

    const again = await startDay();

    expect(again.reconciliation).toMatchObject({ reconciliationId, tries: 1, detail: 'no\uFFFD' });
    expect((await desk.lease())?.reconciliation).toMatchObject({ reconciliationId, tries: 2 });
  });

  test('an invalid or future date is refused, and all errors are reported at once', async () => {
    const issueOf = async (date: string) =>
      (await failureOf(desk.operator.startReconciliation({ ...walletA, date }))).issues['date'];
    for (const date of ['', '2026-02-30', '2026-2-3', 'yesterday'])
      expect(await issueOf(date)).toContain('must be a date');
    expect(await issueOf('2098-01-01')).toContain('must not be in the future');
    expect(await wrongFields(desk.operator.startReconciliation({}))).toBe('date environment wallet');
  });
});

describe('reading a statement', () => {
  const entry = (position: number) => ({ ...entryOf(`p-${position}`), position });
  const periodOf = (leased: LeasedReconciliation | undefined) =>
    [leased?.fromTime, leased?.toTime].map((time) => time && timestampDate(time).toISOString());

  test('a leased statement goes to no other process, and its period exceeds the day by ten minutes because clocks differ', async () => {
    const leased = await begin();
    expect(await desk.lease()).toBeUndefined();
    expect(leased?.reconciliation).toMatchObject({ status: ReconciliationStatus.RUNNING, tries: 1 });
    expect(periodOf(leased)).toEqual(['2026-03-09T23:50:00.000Z', '2026-03-11T00:10:00.000Z']);
  });

  test.each([
    ['payment', '100.50'],
    ['stray payment', '7.00'],
  ])(
    'the period reaches back to the oldest %s that ended on the day, and not beyond now',
    async (_what, amount) => {
      const { attemptId } = await desk.payment(merchantId, completed('long-1', amount));
      await desk.moveTo(merchantId, day);
      await desk.database.query(sql`update core.payment_attempts set created_at = '2026-03-08T20:00:00Z'
        where id = ${storedId('pat', attemptId)}`);
      expect(periodOf(await begin())[0]).toBe('2026-03-08T19:50:00.000Z');

      const today = new Date().toISOString().slice(0, 10);
      await desk.operator.startReconciliation({ ...walletA, date: today });
      const leased = await desk.lease();
      expect(timestampDate(leased!.toTime!).getTime()).toBeLessThanOrEqual(Date.now() + 1_000);
    },
  );

  test('a page that is sent twice counts once', async () => {
    const leased = key(await begin());
    const page = { ...leased, entries: [entry(0), entry(1)] };
    await desk.wallets.recordStatementPage(page);
    const again = await desk.wallets.recordStatementPage(page);
    const { reconciliation } = await desk.wallets.completeReconciliation(leased);
    expect(again.reconciliation?.entries).toBe(2);
    expect(reconciliation).toMatchObject({ entries: 2, differences: 2 });
  });

  test('after an expired lease another process takes over, and the old pages are deleted and refused', async () => {
    const dead = key(await begin());
    await desk.wallets.recordStatementPage({ ...dead, entries: [entry(0), entry(1)] });
    await desk.database.query("update core.reconciliations set due_at = now() where status = 'RUNNING'");
    const heir = await desk.lease();

    expect(heir?.reconciliation).toMatchObject({ tries: 2, entries: 0 });
    const latePage = { ...dead, entries: [entry(2)] };
    expect(await refusalOf(desk.wallets.recordStatementPage(latePage))).toBe('LEASE_LOST');
    expect(await refusalOf(desk.wallets.completeReconciliation(dead))).toBe('LEASE_LOST');
    await desk.wallets.recordStatementPage({ ...key(heir), entries: [entry(0)] });
    const { reconciliation } = await desk.wallets.completeReconciliation(key(heir));
    const expected = { status: ReconciliationStatus.COMPLETED, entries: 1, differences: 1 };
    expect(reconciliation).toMatchObject(expected);
  });

  test('a run whose last try never ends fails when its lease expires', async () => {
    const leased = key(await begin());
    await desk.database.query(`
      update core.reconciliations set tries = 7, due_at = now() where status = 'RUNNING'`);

    expect(await desk.lease()).toBeUndefined();
    expect(await desk.reader.getReconciliation(leased)).toMatchObject({
      reconciliation: { status: ReconciliationStatus.FAILED, detail: expect.stringContaining('did not end') },
    });
  });

  test('a statement with more entries than are compared at once is compared completely', async () => {
    const leased = key(await begin());
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

  test('a lease and a comparison that wait delay no events, because their transactions have no id', async () => {
    /** The transaction id of the session that waits for this table. */
    const waiting = async <T>(table: string, call: () => Promise<T>): Promise<[string | null, T]> => {
      await desk.database.query(`begin; lock table core.${table} in access exclusive mode`);
      const called = call();
      const session = await waitUntil('a session waits for the table', async () => {
        const { rows } = await database.pool.query<{ xid: string | null }>(sql`
          select backend_xid::text as xid from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'
          and query like '%' || ${`core.${table} `} || '%'`);
        return rows[0];
      });
      await desk.database.query('rollback');
      return [session.xid, await called];
    };
    await startDay();

    const [leaseXid, leased] = await waiting('stray_payments', () => desk.lease());
    await desk.wallets.recordStatementPage({ ...key(leased), entries: [entry(0)] });
    const [comparisonXid, { reconciliation }] = await waiting('refunds', () =>
      desk.wallets.completeReconciliation(key(leased)),
    );

    expect([leaseXid, comparisonXid]).toEqual([null, null]);
    expect(reconciliation?.status).toBe(ReconciliationStatus.COMPLETED);
  });

  test('a statement that cannot be compared is tried again later, with the reason', async () => {
    const { reconciliationId, leaseId } = key(await begin());
    const own = { ...entry(0), providerTransactionId: 'not-kept' };
    await desk.wallets.recordStatementPage({ reconciliationId, leaseId, entries: [own] });
    await desk.database.query(`alter table core.reconciliation_differences add constraint not_kept check
      (provider_transaction_id <> 'not-kept')`);

    const failure = await failureOf(desk.wallets.completeReconciliation({ reconciliationId, leaseId }));
    await desk.database.query('alter table core.reconciliation_differences drop constraint not_kept');

    expect(failure.code).toBe('Internal');
    const { reconciliation } = await desk.reader.getReconciliation({ reconciliationId });
    expect(reconciliation).toMatchObject({ status: ReconciliationStatus.WAITING, tries: 1, differences: 0 });
    expect(reconciliation?.detail).toContain('core could not compare the statement');
    expect(await desk.lease()).toBeUndefined();
  });

  test('entries that were left behind are deleted, except those of a statement that is being read', async () => {
    const leased = key(await begin());
    await desk.wallets.recordStatementPage({ ...leased, entries: [entry(0)] });
    const left = async (): Promise<number> => {
      await deleteLeftEntries(database.pool);
      return (await desk.database.query('select from core.statement_entries')).rows.length;
    };

    const reading = await left();
    await desk.database.query("update core.reconciliations set status = 'COMPLETED', due_at = null");

    expect([reading, await left()]).toEqual([1, 0]);
  });

  test('an entry without type, transaction id or status is refused', async () => {
    const leased = key(await begin());
    const { PAYMENT: type } = StatementEntryType;
    const { COMPLETED: status } = StatementEntryStatus;
    const wrong = [{ providerTransactionId: 'a' }, { type, status }, { type, providerTransactionId: 'a' }];
    for (const own of wrong)
      expect(await wrongFields(desk.wallets.recordStatementPage({ ...leased, entries: [own] }))).toBe(
        'entries',
      );
  });
});

describe('refunds', () => {
  const refundEntry = (own: Entry): Entry =>
    entryOf('rev-1', { type: StatementEntryType.REVERSAL, originalTransactionId: 'p-1', ...own });

  type RefundEnd = 'done' | 'refused' | 'pending' | 'not sent';
  /** A payment of 100.50 whose refunds of 40.00 ended in these ways, as the wallet told us. */
  async function refundsOf(...ends: readonly RefundEnd[]): Promise<string[]> {
    const { orderNumber } = await desk.payment(merchantId, completed('p-1'));
    const ended = {
      done: { case: 'done', value: {} },
      refused: { case: 'refused', value: { reason: 'account_state', definite: true } },
      pending: { case: 'pending', value: { detail: 'lost' } },
    } as const;
    const refundIds: string[] = [];
    for (const [index, end] of ends.entries()) {
      const asked = { refundNumber: `R-${index}`, amount: '40' };
      const { refundId } = await desk.payments.refund(merchantId, orderNumber, asked);
      refundIds.push(refundId);
      if (end === 'not sent') continue;
      const [leased] = await desk.payments.leaseRefunds(1);
      await desk.payments.recordRefund(leased!, ended[end]);
    }
    await desk.moveTo(merchantId, day);
    return refundIds;
  }

  test('that both have are no difference, whether the wallet repeats our id or not', async () => {
    const [first = ''] = await refundsOf('done', 'done');
    const { differences } = await desk.reconcile(day, [
      entryOf('p-1'),
      refundEntry({ providerTransactionId: 'rev-2', amount: '40.00' }),
      refundEntry({ amount: '40', requestId: first }),
    ]);

    expect(differences).toEqual([]);
  });

  test('of one amount, more than core compares at once, each have one entry', async () => {
    await refundsOf('done');
    await desk.database.query(`
      insert into core.refunds select (jsonb_populate_record(r, jsonb_build_object('id', uuidv7(), 'refund_number', 'X' || n))).*
      from core.refunds r, generate_series(1, 600) n`);
    const entries = Array.from({ length: 602 }, (_, index) =>
      refundEntry({ providerTransactionId: `rev-${index}`, amount: '40' }),
    );

    const { differences } = await desk.reconcile(day, [entryOf('p-1'), ...entries]);

    expect(differences).toMatchObject([
      { kind: STATUS_DIFFERS, refundId: '', providerTransactionId: 'rev-601' },
    ]);
  });

  test('of one amount on two days each have their entry, although the wallet does not repeat our id', async () => {
    const [, later = ''] = await refundsOf('done', 'done');
    const nextDay = '2026-03-11';
    await desk.database.query(sql`
      update core.refunds set updated_at = ${`${nextDay}T12:00:00Z`} where id = ${storedId('rfd', later)}`);
    const back = (date: string): Entry => refundEntry({ amount: '40', occurTime: at(`${date}T12:00:00Z`) });

    const both = [
      await desk.reconcile(day, [entryOf('p-1'), back(day)]),
      await desk.reconcile(nextDay, [back(nextDay)]),
    ];

    expect(both.flatMap(({ differences }) => differences)).toEqual([]);
  });

  test('of one amount that were requested on one day, and confirmed on two, each have their entry', async () => {
    const [earlier = '', later = ''] = await refundsOf('done', 'done');
    const nextDay = '2026-03-11';
    const moved = [
      [earlier, `${day}T11:00:00Z`, `${day}T16:00:00Z`],
      [later, `${day}T12:00:00Z`, `${nextDay}T18:00:00Z`],
    ] as const;
    for (const [id, asked, ended] of moved)
      await desk.database.query(sql`
        update core.refunds set asked_since = ${asked}, updated_at = ${ended} where id = ${storedId('rfd', id)}`);

    // The statement begins ten minutes before the later request.
    const { differences } = await desk.reconcile(nextDay, [
      refundEntry({ amount: '40', occurTime: at(`${day}T12:00:01Z`) }),
    ]);

    expect(differences).toEqual([]);
  });

  test('that the statement names are not taken for a reversal of the same amount that nobody requested here', async () => {
    const [refundId = ''] = await refundsOf('done');
    const { reconciliation, differences } = await desk.reconcile(day, [
      entryOf('p-1'),
      refundEntry({ providerTransactionId: 'by-hand', amount: '40' }),
      refundEntry({ providerTransactionId: 'ours', amount: '40', requestId: refundId }),
    ]);

    expect(reconciliation.differences).toBe(1);
    expect(differences).toMatchObject([
      { kind: STATUS_DIFFERS, refundId: '', providerTransactionId: 'by-hand' },
    ]);
  });

  test('that the wallet carries out before midnight and confirms after it are in both statements', async () => {
    const [refundId = ''] = await refundsOf('done');
    const nextDay = '2026-03-11';
    await desk.database.query(sql`
      update core.refunds set asked_since = ${`${day}T23:30:00Z`}, updated_at = ${`${nextDay}T00:20:00Z`}
      where id = ${storedId('rfd', refundId)}`);
    const statement = [
      entryOf('p-1'),
      refundEntry({ amount: '40', requestId: refundId, occurTime: at(`${day}T23:30:01Z`) }),
    ];
    const since = (from: Date) => statement.filter(({ occurTime }) => dateOf(occurTime) >= from);

    const both = [await desk.reconcileWith(day, since), await desk.reconcileWith(nextDay, since)];

    expect(both.flatMap(({ differences }) => differences)).toEqual([]);
  });

  test('that the statement has twice, lacks, or has with another amount or outcome are differences', async () => {
    const [done = '', refused = '', pending = ''] = await refundsOf('done', 'refused', 'pending');
    const { differences } = await desk.reconcile(day, [
      entryOf('p-1'),
      refundEntry({ providerTransactionId: 'rev-1', amount: '39', requestId: done }),
      refundEntry({ providerTransactionId: 'rev-2', amount: '40', requestId: refused }),
      refundEntry({ providerTransactionId: 'rev-3', amount: '40', requestId: pending }),
      refundEntry({ providerTransactionId: 'rev-4', amount: '40' }),
    ]);

    expect(differences).toMatchObject([
      { kind: AMOUNT_DIFFERS, refundId: done, walletAmount: '39', ourAmount: '40.00' },
      { kind: STATUS_DIFFERS, refundId: refused, ourStatus: 'reversal_refused' },
      { kind: STATUS_DIFFERS, refundId: pending, ourStatus: 'reversal_due' },
      { kind: STATUS_DIFFERS, refundId: '', providerTransactionId: 'rev-4' },
    ]);
    expect(differences[3]?.advice).toContain('no refund here asked for that');
    const due = await desk.database.query(sql`
      select 1 from core.refunds where due_at <= now() and id = ${storedId('rfd', pending)}`);
    expect(due.rowCount).toBe(1);
  });

  test('that a restored gateway may have sent in the lost time are undecided, not returned without a request', async () => {
    const [rebuilt = ''] = await refundsOf('not sent');
    // As a recovery marks the open refunds of the backup, and those that it rebuilds.
    await desk.database.query('update core.refunds set maybe_sent = true, asked_since = now()');

    const { differences } = await desk.reconcile(day, [entryOf('p-1'), refundEntry({ amount: '40' })]);

    expect(differences).toMatchObject([
      { kind: STATUS_DIFFERS, refundId: rebuilt, ourStatus: 'reversal_due' },
    ]);
    expect(differences[0]?.advice).toContain('undecided here');
  });

  test('that both have are no difference if the statement marks the payment too', async () => {
    await refundsOf('done');
    await desk.database.query('update core.refunds set amount_minor_units = 10050');

    const { differences } = await desk.reconcile(day, [
      entryOf('p-1', { status: StatementEntryStatus.REVERSED }),
      refundEntry({ amount: '100.5' }),
    ]);

    expect(differences).toEqual([]);
  });

  test('that the statement does not have are missing in it, unless operators settled them or it does not reach back', async () => {
    const [refundId = ''] = await refundsOf('done');
    const { differences } = await desk.reconcile(day, [entryOf('p-1')]);
    await desk.database.query("update core.refunds set asked_since = '2026-03-02'");
    const unreached = await desk.reconcile(day, [entryOf('p-1')]);
    await desk.database.query(
      'update core.refunds set asked_since = now(), settlement_id = gen_random_uuid()',
    );

    expect(differences).toMatchObject([
      { kind: MISSING_IN_STATEMENT, refundId, ourAmount: '40.00', ourStatus: 'reversed' },
    ]);
    expect(unreached.differences).toEqual([]);
    expect((await desk.reconcile(day, [entryOf('p-1')])).differences).toEqual([]);
  });

  const notAsked = { kind: STATUS_DIFFERS, refundId: '' };
  test.each<[string, readonly RefundEnd[], Entry, readonly object[]]>([
    ['is that of a COMPLETED one first', ['pending', 'done'], {}, []],
    ['is not that of one that was never sent', ['not sent'], {}, [notAsked]],
    [
      'in another currency is that of none',
      ['done'],
      { currency: 'USD' },
      [notAsked, { kind: MISSING_IN_STATEMENT, ourAmount: '40.00' }],
    ],
  ])('an entry of 40.00 %s', async (_name, ends, own, expected) => {
    await refundsOf(...ends);

    const { differences } = await desk.reconcile(day, [
      entryOf('p-1'),
      refundEntry({ amount: '40', ...own }),
    ]);

    expect(differences).toHaveLength(expected.length);
    expect(differences).toMatchObject(expected);
  });

  test('a reversed payment is a difference although its reversal in the statement is only pending', async () => {
    await refundsOf();

    const { differences } = await desk.reconcile(day, [
      entryOf('p-1', { status: StatementEntryStatus.REVERSED }),
      refundEntry({ amount: '100.5', status: StatementEntryStatus.PENDING }),
    ]);

    expect(differences).toMatchObject([notAsked]);
  });
});

describe('reading reconciliations', () => {
  test('reconciliations are listed newest first, in pages, on request for one wallet', async () => {
    for (const date of ['2026-03-01', '2026-03-02', '2026-03-03'])
      await desk.operator.startReconciliation({ ...walletA, date });
    await desk.operator.startReconciliation({ ...walletA, wallet: 'walletb', date: '2026-03-04' });

    const first = await desk.reader.listReconciliations({ wallet: 'walleta', pageSize: 2 });
    const pageToken = first.nextPageToken;
    const second = await desk.reader.listReconciliations({ wallet: 'walleta', pageSize: 2, pageToken });

    expect(first.reconciliations.map(({ date }) => date)).toEqual(['2026-03-03', '2026-03-02']);
    expect(second.reconciliations.map(({ date }) => date)).toEqual(['2026-03-01']);
    expect(second.nextPageToken).toBe('');
    expect((await desk.reader.listReconciliations({})).reconciliations).toHaveLength(4);
  });

  test('an unknown reconciliation is not found', async () => {
    const reconciliationId = 'rec_01m7xjbb99evv8hx2dqm5r8qgn';

    const { getReconciliation, listDifferences } = desk.reader;
    expect(await refusalOf(getReconciliation({ reconciliationId }))).toBe('RECONCILIATION_NOT_FOUND');
    expect(await refusalOf(listDifferences({ reconciliationId }))).toBe('RECONCILIATION_NOT_FOUND');
  });
});
