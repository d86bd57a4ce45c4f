import { beforeEach, expect, test, describe } from '@jest/globals';
import {
  MissingMoneyDayReason,
  StatementEntryType,
} from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import type { MoneyDay } from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import { storedId } from '../../support/ids.ts';
import { sharedStack, sharedCoreDatabase } from '../../support/shared-stack.ts';
import { wrongFields } from '../../support/rpc-failure.ts';
import { sql } from '../../support/sql.ts';
import { at, completed, paymentEntry, sharedReconciliationDesk, walletA } from './reconciliation-desk.ts';
import type { Entry } from './reconciliation-desk.ts';
import { transactionOf } from './payment-desk.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { newRandomId, noMerchantId } from '../../../src/contract/public-id.ts';
import { readMissingDays } from '../../../src/core/reconciliation/missing-days.sql.ts';
import { keepBalances } from '../../../src/core/reconciliation/keep-balances.ts';
import { scheduleReconciliations } from '../../../src/core/reconciliation/schedule-reconciliations.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedReconciliationDesk(stack);
const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
const day = daysAgo(3);
const dayBefore = daysAgo(4);

let merchantId: string;
let otherId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
  ({ id: otherId } = await stack.createMerchant());
});

const inStatement = (providerTransactionId: string, own: Entry = {}): Entry =>
  paymentEntry({ providerTransactionId, occurTime: at(`${day}T12:00:00Z`), ...own });
const returned = (originalTransactionId: string, amount: string): Entry =>
  inStatement(`${originalTransactionId}-back`, {
    ...{ type: StatementEntryType.REVERSAL, originalTransactionId, amount },
  });

test('the statement of a day equals payments and stray payments minus returned money, for each merchant', async () => {
  await desk.payment(merchantId, completed('b-1'));
  const refunded = await desk.payment(merchantId, completed('b-2'));
  const stray = await desk.payment(merchantId, completed('b-3', '99.00'));
  await desk.payment(otherId, completed('b-4'));
  await desk.database.query(sql`update core.stray_payments set status = 'REVERSED', due_at = null
    where id = ${storedId('stp', stray.strayPaymentId)}`);
  await desk.database.query(sql`
    insert into core.refunds (merchant_id, id, environment, refund_number, order_id, order_number, payment_attempt_id, payment_option,
      provider_transaction_id, amount_minor_units, amount_given, currency, reason, requested_by, status, detail, tries, maybe_sent, created_at, updated_at)
    select merchant_id, gen_random_uuid(), environment, 'R', order_id, 'R', id, payment_option, provider_transaction_id, 4050, true, 'ETB', '', 'writer',
      'REVERSED', '', 1, true, now(), now() from core.payment_attempts
    where id = ${storedId('pat', refunded.attemptId)}`);
  for (const id of [merchantId, otherId]) await desk.moveTo(id, day);
  const whole = [
    inStatement('b-1'),
    inStatement('b-2'),
    inStatement('b-3', { amount: '99' }),
    inStatement('b-4'),
    returned('b-2', '40.5'),
    returned('b-3', '99.00'),
    inStatement('b-0', { occurTime: at(`${dayBefore}T12:00:00Z`) }),
  ];
  // A comparison before the end of the day is provisional, so other sums later are no correction.
  await desk.reconcile(day, whole.slice(1));
  await desk.database.query('update core.reconciliations set created_at = day');
  const { reconciliation, differences } = await desk.reconcile(day, whole);
  expect(differences).toEqual([]);
  const { days } = await desk.reader.listMoneyDays({ date: day });
  expect(new Map(days.map((each) => [each.merchantId, each]))).toMatchObject(
    new Map([
      [
        merchantId,
        {
          wallet: 'walleta',
          date: day,
          ...{ currency: 'ETB', statementIn: '300', statementOut: '139.5', completed: '201', strays: '99' },
          ...{ reversals: '99', refunds: '40.5', difference: '0' },
          reconciliationId: reconciliation.reconciliationId,
        },
      ],
      [otherId, { statementIn: '100.5', completed: '100.5', difference: '0' }],
    ]),
  );
  expect(days).toHaveLength(2);

  // One entry is missing, one amount differs, and one payment belongs to no order.
  const changed = await desk.reconcile(day, [
    ...whole.slice(1, 3),
    inStatement('b-4', { amount: '90' }),
    returned('b-3', '99.00'),
    inStatement('b-9', { amount: '7' }),
  ]);
  expect(changed.differences.length).toBeGreaterThanOrEqual(3);
  const { days: unbalanced } = await desk.reader.listMoneyDays({ onlyDifferent: true });
  expect(Object.fromEntries(unbalanced.map((each) => [each.merchantId, each.difference]))).toEqual({
    // b-1 and the refund are missing in the statement.
    [merchantId]: '-60',
    [otherId]: '-10.5',
    '': '7',
  });
  await desk.database.query(`
    insert into core.money_days (environment, wallet, day, merchant_id, currency, reconciliation_id, statement_in, statement_out,
      completed, strays, reversals, refunds)
    select 'SANDBOX', 'walleta', (now() at time zone 'UTC')::date - days, gen_random_uuid(), 'ETB', gen_random_uuid(), money, 0, 0, 0, 0, 0
    from (values (0, 1), (31, 1), (3, 0)) d(days, money)`);
  const metrics = await (await fetch(`${stack.connectUrl}/metrics`)).text();
  // The running day, older days, and those without a difference do not count.
  expect(metrics).toMatch(/^gatehouse_money_days_unbalanced\{environment="sandbox",wallet="walleta"\} 3$/m);
  expect(metrics).toMatch(/^gatehouse_money_days_missing\{environment="sandbox",wallet="walleta"\} 0$/m);
  expect(await wrongFields(desk.reader.listMoneyDays({ date: '2026-02-31' }))).toBe('date');

  // The statement is complete now. Each earlier result stays stored.
  const last = await desk.reconcile(day, whole);
  const byMerchant = async (filter: object) => {
    const { days: found } = await desk.reader.listMoneyDays({ date: day, ...filter });
    return Object.fromEntries(
      found.map(({ merchantId: id, difference, corrections }) => [
        id,
        [
          difference,
          ...corrections.map((each) => [each.difference, each.statementIn, each.reconciliationId]),
        ],
      ]),
    );
  };
  const [first, second] = [changed, last].map((each) => each.reconciliation.reconciliationId);
  const corrected = {
    [merchantId]: ['0', ['-60', '199.5', second], ['0', '300', first]],
    [otherId]: ['0', ['-10.5', '90', second], ['0', '100.5', first]],
    '': ['0', ['7', '7', second], ['0', '0', first]],
  };
  expect(await byMerchant({ onlyCorrected: true })).toEqual(corrected);
  await desk.reconcile(day, whole);
  expect(await byMerchant({})).toEqual(corrected);
  await expect(desk.database.query('delete from core.money_day_corrections')).rejects.toThrow('append-only');
});

test('a stray payment without a merchant, and money that no record explains, have one balance', async () => {
  const reference = `nothing-${merchantId}`;
  const reported = await desk.payments.reportFromMenu(merchantId, reference);
  await desk.payments.confirmFromMenu(merchantId, reported, reference);
  await desk.moveTo(noMerchantId, dayBefore);
  const onDayBefore = (id: string, amount: string) =>
    inStatement(id, { amount, occurTime: at(`${dayBefore}T12:00:00Z`) });

  await desk.reconcile(dayBefore, [
    onDayBefore(transactionOf(merchantId, reference), '100.5'),
    onDayBefore('of-another-system', '7'),
  ]);

  const { days } = await desk.reader.listMoneyDays({ date: dayBefore });
  expect(days).toMatchObject([
    { merchantId: '', currency: 'ETB', statementIn: '107.5', strays: '100.5', difference: '7' },
  ]);
});

test('a day whose statement the wallet refuses is listed with its answer, until the statement is read', async () => {
  await desk.payment(merchantId, completed('m-1'));
  const missedDay = daysAgo(5);
  await desk.moveTo(merchantId, missedDay);
  const missingOf = async (merchant: string) =>
    (await desk.reader.listMoneyDays({ date: missedDay, merchantId: merchant })).missing;
  expect(await missingOf(merchantId)).toMatchObject([{ reason: MissingMoneyDayReason.WAITING, detail: '' }]);

  await desk.operator.startReconciliation({ ...walletA, date: missedDay });
  const key = desk.keyOf(await desk.lease());
  const { reconciliationId } = key;
  await desk.wallets.completeReconciliation({ ...key, error: 'HTTP 403: no access' });
  const refused = { wallet: 'walleta', date: missedDay, detail: 'HTTP 403: no access', reconciliationId };
  const { UNREADABLE: reason } = MissingMoneyDayReason;
  expect(await missingOf(merchantId)).toMatchObject([{ ...refused, reason }]);
  expect(await missingOf(otherId)).toEqual([]);
  expect((await desk.reader.listMoneyDays({ date: missedDay, onlyDifferent: true })).missing).toEqual([]);

  await desk.reconcile(missedDay, [inStatement('m-1', { occurTime: at(`${missedDay}T12:00:00Z`) })]);
  expect(await missingOf(merchantId)).toEqual([]);
});

test('balances come in pages, and a token continues only its own list', async () => {
  await desk.database.query(`
    insert into core.money_days (environment, wallet, day, merchant_id, currency, reconciliation_id, statement_in, statement_out,
      completed, strays, reversals, refunds)
    select environment::core.environment, 'walleta', day::date, gen_random_uuid(), currency, gen_random_uuid(), 1, 0, 1, 0, 0, 0
    from unnest(array['SANDBOX', 'PRODUCTION']) environment, unnest(array['ETB', 'USD']) currency,
      unnest(array['2020-02-01', '2020-02-02']) day, generate_series(1, 3)`);
  const nameOf = ({ date, merchantId: id, currency }: MoneyDay) => `${date} ${id} ${currency}`;
  const { days } = await desk.reader.listMoneyDays({ pageSize: 500 });
  const all = days.filter(({ date }) => date < '2020-03-01').map(nameOf);
  const paged: string[] = [];
  let pageToken = '';
  do {
    const page = await desk.reader.listMoneyDays({ pageSize: 5, pageToken });
    paged.push(...page.days.map(nameOf));
    ({ nextPageToken: pageToken } = page);
  } while (pageToken !== '');

  expect(all).toHaveLength(24);
  expect(paged.slice(-24)).toEqual(all);
  const inProduction = { date: '2020-02-01', environment: Environment.PRODUCTION };
  expect((await desk.reader.listMoneyDays(inProduction)).days).toHaveLength(6);
  const { nextPageToken } = await desk.reader.listMoneyDays({ pageSize: 1, date: '2020-02-01' });
  const other = desk.reader.listMoneyDays({ pageSize: 1, pageToken: nextPageToken });
  expect(await wrongFields(other)).toBe('page_token');
});

let rings = 0;
const database = sharedCoreDatabase('schedule', () => stack.databaseUrl, 4);
beforeEach(async () => {
  await desk.clear();
  // The payments of earlier tests are on none of the days of this file, and not before them.
  await desk.database.query("update core.payment_attempts set updated_at = '2026-06-01'");
  await desk.database.query('delete from core.money_days');
  rings = 0;
});

const wallet = { options: [], currencies: [], reconcile: true, refunds: 'any' } as const;
const partsAt = (time: string) => ({
  database,
  wallets: [
    { ...wallet, id: 'walleta', environments: ['SANDBOX', 'PRODUCTION'] as const },
    { ...wallet, id: 'walletb', environments: ['SANDBOX'] as const },
    { ...wallet, id: 'nostatement', environments: ['SANDBOX'] as const, reconcile: false },
  ],
  newId: newRandomId,
  now: () => new Date(time),
  machineNow: () => new Date(time),
  onDue: () => (rings += 1),
});
const scheduleAt = (time: string): Promise<number> => scheduleReconciliations(partsAt(time));
const keepAt = (time: string): Promise<number> => keepBalances({ ...partsAt(time), balanceMinutes: 60 });

async function scheduled(): Promise<string[]> {
  const { rows } = await desk.database.query<{ text: string }>(`
    select concat_ws(' ', wallet, environment, day) as text from core.reconciliations where scheduled
    order by day`);
  return rows.map(({ text }) => text);
}

/** A payment through wallet A's sandbox at noon of that day. */
async function payOn(date: string): Promise<void> {
  const { id: merchantId } = await stack.createMerchant();
  await desk.payment(merchantId, completed(`on-${date}`));
  await desk.moveTo(merchantId, date);
}

describe('every past day', () => {
  test('is compared once for each wallet and environment that was ever paid through, from an hour after midnight UTC', async () => {
    await payOn('2026-03-10');

    // The wallet has recorded it after an hour.
    const early = await scheduleAt('2026-03-11T00:59:59Z');
    const first = await scheduleAt('2026-03-11T01:00:00Z');
    const again = await scheduleAt('2026-03-11T13:00:00Z');

    expect([early, first, again, rings]).toEqual([0, 1, 0, 1]);
    expect(await scheduled()).toEqual(['walleta SANDBOX 2026-03-10']);
  });

  test('is compared up to seven days later, but not before the first payment', async () => {
    await payOn('2026-03-02');
    expect(await scheduleAt('2026-03-05T12:00:00Z')).toBe(3);

    const missed = await scheduleAt('2026-03-20T12:00:00Z');

    expect(missed).toBe(7);
    const days = (await scheduled()).map((text) => text.slice(-2));
    expect(days.join(' ')).toBe('02 03 04 13 14 15 16 17 18 19');
  });

  test('is not compared before it ends, although a clock is days ahead', async () => {
    await payOn('2026-03-10');
    const ahead = () => new Date('2026-03-15T12:00:00Z');
    const parts = { ...partsAt('2026-03-10T12:30:00Z'), balanceMinutes: 60 };

    for (const wrong of [{ now: ahead }, { machineNow: ahead }]) {
      await scheduleReconciliations({ ...parts, ...wrong });
      await keepBalances({ ...parts, ...wrong });
    }
    const before = await scheduled();
    await scheduleAt('2026-03-11T01:00:00Z');

    expect([before, await kept()]).toEqual([[], []]);
    expect(await scheduled()).toEqual(['walleta SANDBOX 2026-03-10']);
  });

  test('is compared automatically although an operator did so before', async () => {
    await payOn('2026-03-10');
    await desk.reconcile('2026-03-10', []);

    expect(await scheduleAt('2026-03-11T12:00:00Z')).toBe(1);
  });

  test('is scheduled once by ten cores at the same moment', async () => {
    await payOn('2026-03-10');

    const made = await Promise.all(Array.from({ length: 10 }, () => scheduleAt('2026-03-11T12:00:00Z')));

    expect(made.toSorted()).toEqual([...Array<number>(9).fill(0), 1]);
  });
});

/** The runs that compute balances, by day, with their status. */
async function kept(): Promise<string[]> {
  const { rows } = await desk.database.query<{ text: string }>(`
    select concat_ws(' ', wallet, environment, day, status) as text from core.reconciliations
    where not scheduled and started_by = 'core' order by id`);
  return rows.map(({ text }) => text);
}

/** Ends the waiting runs as if the statement had been read at this time, with this difference. */
async function complete(time: string, difference: number): Promise<void> {
  const { rows } = await desk.database.query<{ id: string }>(sql`update core.reconciliations
    set status = 'COMPLETED', due_at = null, created_at = ${time} where status = 'WAITING' returning id`);
  for (const { id } of rows)
    await desk.database.query(sql`
      insert into core.money_days (environment, wallet, day, merchant_id, currency, reconciliation_id, statement_in, statement_out,
        completed, strays, reversals, refunds)
      select environment, wallet, day, '00000000-0000-0000-0000-000000000000', 'ETB', id, ${difference}, 0, 0, 0, 0, 0
      from core.reconciliations where id = ${id}
      on conflict (environment, wallet, day, merchant_id, currency) do update set statement_in = excluded.statement_in`);
}

describe('the balance of a running day', () => {
  test('is compared every hour from an hour after the first payment, and each run replaces the previous one', async () => {
    // Noon.
    await payOn('2026-03-10');

    expect(await keepAt('2026-03-10T12:59:00Z')).toBe(0);
    const made = await Promise.all(Array.from({ length: 5 }, () => keepAt('2026-03-10T13:00:00Z')));
    expect(made.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(await keepAt('2026-03-10T13:30:00Z')).toBe(0);
    await complete('2026-03-10T13:00:00Z', 0);
    expect(await keepAt('2026-03-10T13:59:00Z')).toBe(0);
    expect(await keepAt('2026-03-10T14:01:00Z')).toBe(1);
    expect(await keepAt('2026-03-10T14:01:30Z')).toBe(0);
    expect(await kept()).toHaveLength(2);
    await complete('2026-03-10T14:01:00Z', 0);
    expect(await keepAt('2026-03-10T14:02:00Z')).toBe(0);
    expect(await kept()).toEqual(['walleta SANDBOX 2026-03-10 COMPLETED']);
    expect(rings).toBe(2);
  });

  const firstRun = '(select id from core.reconciliations order by id limit 1)';
  test.each([
    [
      'corrected it',
      `insert into core.money_day_corrections (environment, wallet, day, merchant_id, currency, reconciliation_id, corrected_at,
         statement_in, statement_out, completed, strays, reversals, refunds)
       select environment, wallet, day, merchant_id, currency, ${firstRun}, now(), 0, 0, 0, 0, 0, 0 from core.money_days`,
    ],
    [
      'still has entries of the statement',
      `insert into core.statement_entries (reconciliation_id, position, type, provider_transaction_id, amount, currency, request_id,
         original_transaction_id, problem)
       values (${firstRun}, 0, 'PAYMENT', 't', '1', 'ETB', '', '', '')`,
    ],
    [
      'goes on',
      `update core.reconciliations set status = 'WAITING', due_at = now() + interval '1 hour' where id = ${firstRun}`,
    ],
  ])('keeps each run that %s', async (_what, change) => {
    await payOn('2026-03-10');
    for (const time of ['2026-03-10T13:00:00Z', '2026-03-10T14:01:00Z']) {
      await keepAt(time);
      await complete(time, 0);
    }
    await desk.database.query(change);

    await keepAt('2026-03-10T14:02:00Z');

    expect(await kept()).toHaveLength(2);
  });

  test('is not compared without an interval, nor after the day has ended and balances', async () => {
    await payOn('2026-03-10');

    expect(await keepBalances({ ...partsAt('2026-03-10T14:00:00Z'), balanceMinutes: 0 })).toBe(0);
    expect(await keepAt('2026-03-10T14:00:00Z')).toBe(1);
    await complete('2026-03-10T14:00:00Z', 0);
    expect(await keepAt('2026-03-12T14:00:00Z')).toBe(0);
  });

  describe('of a statement that reaches back three days', () => {
    const withReach = (time: string) => {
      const parts = partsAt(time);
      const statement = { reachMs: 72 * 3_600_000, listsReversals: false };
      return { ...parts, wallets: parts.wallets.map((each) => ({ ...each, statement })), balanceMinutes: 60 };
    };

    test('is compared again only while the statement contains the day', async () => {
      await payOn('2026-03-10');
      await scheduleAt('2026-03-11T01:00:00Z');
      await complete('2026-03-11T01:00:00Z', 1);

      expect(await keepBalances(withReach('2026-03-12T02:00:00Z'))).toBe(1);
      await complete('2026-03-12T02:00:00Z', 1);
      expect(await keepBalances(withReach('2026-03-13T03:00:00Z'))).toBe(0);
      expect(await keepAt('2026-03-13T03:00:00Z')).toBe(1);
      expect(await scheduled()).toEqual(['walleta SANDBOX 2026-03-10']);
    });

    test('is compared again after a failure only while the statement contains the day', async () => {
      const fail = () =>
        desk.database.query(`update core.reconciliations
          set status = 'FAILED', due_at = null, updated_at = '2026-03-11T02:00:00Z'`);
      await payOn('2026-03-10');
      await scheduleAt('2026-03-11T01:00:00Z');
      await fail();

      await scheduleReconciliations(withReach('2026-03-12T00:30:00Z'));
      const inReach = await kept();
      await fail();
      await scheduleReconciliations(withReach('2026-03-13T00:30:00Z'));
      const outOfReach = await kept();
      await scheduleAt('2026-03-13T00:30:00Z');

      expect(inReach).toEqual(['walleta SANDBOX 2026-03-10 WAITING']);
      expect(outOfReach).toEqual(['walleta SANDBOX 2026-03-10 FAILED']);
      expect(await kept()).toContain('walleta SANDBOX 2026-03-10 WAITING');
    });
  });

  test('is compared again three days later although it balances, because an entry may come late', async () => {
    await payOn('2026-03-10');
    await keepAt('2026-03-10T14:00:00Z');
    await complete('2026-03-10T14:00:00Z', 0);

    expect(await keepAt('2026-03-13T13:59:00Z')).toBe(0);
    expect(await keepAt('2026-03-13T14:01:00Z')).toBe(1);
    await complete('2026-03-13T14:01:00Z', 0);
    expect(await keepAt('2026-03-16T14:02:00Z')).toBe(1);
    await complete('2026-03-16T14:02:00Z', 0);
    expect(await keepAt('2026-03-19T14:03:00Z')).toBe(0);
  });

  test('is compared again every day for a week while it has a difference', async () => {
    await payOn('2026-03-10');
    await keepAt('2026-03-10T14:00:00Z');
    await complete('2026-03-10T14:00:00Z', 5);

    expect(await keepAt('2026-03-11T13:59:00Z')).toBe(0);
    expect(await keepAt('2026-03-11T14:01:00Z')).toBe(1);
    await complete('2026-03-11T14:01:00Z', 5);
    expect(await keepAt('2026-03-17T23:59:00Z')).toBe(1);
    await complete('2026-03-17T23:59:00Z', 5);
    expect(await keepAt('2026-03-18T23:59:30Z')).toBe(0);
  });
});

/** Ends the waiting run of wallet A's day as if all tries had failed at this time. */
const fail = (time: string) =>
  desk.database.query(sql`
    update core.reconciliations set status = 'FAILED', due_at = null, detail = 'HTTP 403', updated_at = ${time}
    where status = 'WAITING' and wallet = 'walleta' and day = '2026-03-10'`);

describe('a day whose statement cannot be read', () => {
  const runs = async (): Promise<number> => {
    const { rows } = await desk.database.query<{ n: number }>(`
      select count(*)::int as n from core.reconciliations where wallet = 'walleta' and day = '2026-03-10'`);
    return rows[0]?.n ?? 0;
  };

  test('is compared again an hour after the last try, by one of several cores, until it is a week old', async () => {
    await payOn('2026-03-10');
    await scheduleAt('2026-03-11T01:00:00Z');
    await scheduleAt('2026-03-11T09:00:00Z');
    expect(await runs()).toBe(1);

    await fail('2026-03-11T11:00:00Z');
    await scheduleAt('2026-03-11T11:59:59Z');
    expect(await runs()).toBe(1);
    await Promise.all(Array.from({ length: 5 }, () => scheduleAt('2026-03-11T12:00:00Z')));
    expect(await runs()).toBe(2);
    await scheduleAt('2026-03-11T23:00:00Z');
    expect(await runs()).toBe(2);

    await fail('2026-03-17T20:00:00Z');
    await scheduleAt('2026-03-18T01:00:00Z');
    expect(await runs()).toBe(2);
    await scheduleAt('2026-03-18T00:59:59Z');
    expect(await runs()).toBe(3);
  });

  test('is not compared again after another run has read it', async () => {
    await payOn('2026-03-10');
    await scheduleAt('2026-03-11T01:00:00Z');
    await fail('2026-03-11T11:00:00Z');
    await scheduleAt('2026-03-11T12:00:00Z');
    await complete('2026-03-11T12:00:00Z', 0);

    await scheduleAt('2026-03-12T12:00:00Z');
    expect(await runs()).toBe(2);
  });

  test('while it runs is left to the schedule of running days', async () => {
    await payOn('2026-03-10');
    await keepAt('2026-03-10T14:00:00Z');
    await fail('2026-03-10T15:00:00Z');

    await scheduleAt('2026-03-11T00:59:59Z');
    expect(await runs()).toBe(1);
    await scheduleAt('2026-03-11T01:00:00Z');
    expect(await runs()).toBe(2);
  });
});

describe('a day without a final balance', () => {
  const missingAt = async (time: string, filter: { readonly date?: string } = {}): Promise<string[]> => {
    const { wallets } = partsAt(time);
    const any = { wallet: undefined, environment: undefined, merchantId: undefined, date: undefined };
    const found = await readMissingDays(database.pool, wallets, { ...any, ...filter }, new Date(time));
    return found.map(({ day, wallet: id, status, detail, has_statement: has }) =>
      [day, id, has ? '' : 'no statement', status ?? '', detail ?? ''].filter(Boolean).join(' '),
    );
  };

  test('is listed from an hour after its end until a comparison that began after it, for 30 days', async () => {
    await payOn('2026-03-10');

    expect(await missingAt('2026-03-11T00:59:59Z')).toEqual([]);
    expect(await missingAt('2026-03-11T01:00:00Z')).toEqual(['2026-03-10 walleta']);
    await scheduleAt('2026-03-11T01:00:00Z');
    expect(await missingAt('2026-03-11T02:00:00Z')).toEqual(['2026-03-10 walleta WAITING']);
    await fail('2026-03-11T11:00:00Z');
    expect(await missingAt('2026-03-11T12:00:00Z')).toEqual(['2026-03-10 walleta FAILED HTTP 403']);
    expect(await missingAt('2026-04-09T00:59:59Z')).toHaveLength(1);
    expect(await missingAt('2026-04-10T01:00:00Z')).toEqual([]);
    expect(await missingAt('2026-05-01T00:00:00Z', { date: '2026-03-10' })).toHaveLength(1);
    expect(await missingAt('2026-03-11T12:00:00Z', { date: '2026-03-11' })).toEqual([]);
    await scheduleAt('2026-03-11T12:00:00Z');
    await complete('2026-03-11T12:00:00Z', 5);
    expect(await missingAt('2026-03-11T13:00:00Z')).toEqual([]);
  });

  test('may have a provisional balance from before its end', async () => {
    await payOn('2026-03-10');
    await keepAt('2026-03-10T14:00:00Z');
    await complete('2026-03-10T14:00:00Z', 0);

    expect(await missingAt('2026-03-11T02:00:00Z')).toEqual(['2026-03-10 walleta COMPLETED']);
  });

  test('of a wallet without statements is listed as such, and a day without money is not', async () => {
    await payOn('2026-03-10');
    await desk.database.query(`update core.payment_attempts set payment_option = 'nostatement_ussd'
      where updated_at = '2026-03-10T12:00:00Z'`);

    expect(await missingAt('2026-03-12T12:00:00Z')).toEqual(['2026-03-10 nostatement no statement']);
    await desk.database.query(`update core.payment_attempts set wallet_account_id = gen_random_uuid()
      where updated_at = '2026-03-10T12:00:00Z'`);
    expect(await missingAt('2026-03-12T12:00:00Z')).toEqual([]);
  });
});
