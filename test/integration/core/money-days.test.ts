import { beforeEach, expect, test } from '@jest/globals';
import {
  MissingMoneyDayReason,
  StatementEntryStatus,
  StatementEntryType,
} from '../../../src/gen/gatehouse/v1/reconciliation_service_pb.js';
import { storedId } from '../../support/ids.ts';
import { sharedStack } from '../../support/shared-stack.ts';
import { wrongFields } from '../../support/rpc-failure.ts';
import { at, paymentEntry, sharedReconciliationDesk, walletA } from './reconciliation-desk.ts';
import type { Entry } from './reconciliation-desk.ts';

const stack = sharedStack({ facades: 0 });
const desk = sharedReconciliationDesk(stack);
const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
const day = daysAgo(3);

let merchantId: string;
let otherId: string;
beforeEach(async () => {
  ({ id: merchantId } = await stack.createMerchant());
  ({ id: otherId } = await stack.createMerchant());
});

const paid = (providerTransactionId: string, amount = '100.50') => ({
  case: 'completed' as const,
  value: { providerTransactionId, amount, currency: 'ETB' },
});
const inStatement = (providerTransactionId: string, own: Entry = {}): Entry =>
  paymentEntry({ providerTransactionId, occurTime: at(`${day}T12:00:00Z`), ...own });
const returned = (originalTransactionId: string, amount: string): Entry => ({
  type: StatementEntryType.REVERSAL,
  status: StatementEntryStatus.COMPLETED,
  providerTransactionId: `${originalTransactionId}-back`,
  originalTransactionId,
  amount,
  currency: 'ETB',
  occurTime: at(`${day}T13:00:00Z`),
});

test('the statement of a day equals payments and stray payments minus returned money, for each merchant', async () => {
  await desk.payment(merchantId, paid('b-1'));
  const refunded = await desk.payment(merchantId, paid('b-2'));
  const stray = await desk.payment(merchantId, paid('b-3', '99.00'));
  await desk.payment(otherId, paid('b-4'));
  await desk.database.query(
    `update core.stray_payments set status = 'REVERSED', due_at = null where id = $1`,
    [storedId('stp', stray.strayPaymentId)],
  );
  await desk.database.query(
    `insert into core.refunds (merchant_id, id, environment, refund_number, order_id, order_number, payment_attempt_id, payment_option,
       provider_transaction_id, amount_minor_units, amount_given, currency, reason, requested_by, status, detail, tries, maybe_sent, created_at, updated_at)
     select merchant_id, gen_random_uuid(), environment, 'R', order_id, 'R', id, payment_option, provider_transaction_id, 4050, true, 'ETB', '', 'writer',
       'REVERSED', '', 1, true, now(), now() from core.payment_attempts where id = $1`,
    [storedId('pat', refunded.paymentAttemptId)],
  );
  for (const id of [merchantId, otherId]) await desk.moveTo(id, day);
  const whole = [
    inStatement('b-1'),
    inStatement('b-2'),
    inStatement('b-3', { amount: '99' }),
    inStatement('b-4'),
    returned('b-2', '40.5'),
    returned('b-3', '99.00'),
    inStatement('b-0', { occurTime: at(`${daysAgo(4)}T12:00:00Z`) }),
  ];
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
  const page = await fetch(`${stack.connectUrl}/metrics`);
  expect(await page.text()).toContain(
    'gatehouse_money_days_unbalanced{environment="sandbox",wallet="walleta"}',
  );
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

test('a day whose statement the wallet refuses is listed with its answer, until the statement is read', async () => {
  const { paymentAttemptId } = await desk.payment(merchantId, paid('m-1'));
  const missedDay = daysAgo(5);
  await desk.moveTo(merchantId, missedDay);
  const missingOf = async (merchant: string) =>
    (await desk.reader.listMoneyDays({ date: missedDay, merchantId: merchant })).missing;
  expect(paymentAttemptId).not.toBe('');
  expect(await missingOf(merchantId)).toMatchObject([{ reason: MissingMoneyDayReason.WAITING, detail: '' }]);

  await desk.operator.startReconciliation({ ...walletA, date: missedDay });
  const { leaseId = '', reconciliation } = (await desk.lease()) ?? {};
  const reconciliationId = reconciliation?.reconciliationId ?? '';
  await desk.wallets.completeReconciliation({ reconciliationId, leaseId, error: 'HTTP 403: no access' });
  const refused = { wallet: 'walleta', date: missedDay, detail: 'HTTP 403: no access', reconciliationId };
  expect(await missingOf(merchantId)).toMatchObject([
    { ...refused, reason: MissingMoneyDayReason.UNREADABLE },
  ]);
  expect(await missingOf(otherId)).toEqual([]);
  expect((await desk.reader.listMoneyDays({ date: missedDay, onlyDifferent: true })).missing).toEqual([]);

  await desk.reconcile(missedDay, [inStatement('m-1', { occurTime: at(`${missedDay}T12:00:00Z`) })]);
  expect(await missingOf(merchantId)).toEqual([]);
});

test('balances come in pages, and a token continues only its own list', async () => {
  const before = '2020-02-01';
  await desk.database.query(
    `insert into core.money_days (environment, wallet, day, merchant_id, currency, reconciliation_id, statement_in, statement_out,
       completed, strays, reversals, refunds)
     select environment::core.environment, 'walleta', day::date, gen_random_uuid(), currency, gen_random_uuid(), 1, 0, 1, 0, 0, 0
     from unnest(array['SANDBOX', 'PRODUCTION']) environment, unnest(array['ETB', 'USD']) currency,
       unnest(array['2020-02-01', '2020-02-02']) day, generate_series(1, 3)`,
  );
  const all = (await desk.reader.listMoneyDays({ pageSize: 500 })).days.filter(
    ({ date }) => date < '2020-03-01',
  );
  const paged: string[] = [];
  let pageToken = '';
  do {
    const page = await desk.reader.listMoneyDays({ pageSize: 5, pageToken });
    paged.push(...page.days.map(({ date, merchantId: id, currency }) => `${date} ${id} ${currency}`));
    ({ nextPageToken: pageToken } = page);
  } while (pageToken !== '');

  expect(all).toHaveLength(24);
  expect(paged.slice(-24)).toEqual(
    all.map(({ date, merchantId: id, currency }) => `${date} ${id} ${currency}`),
  );
  const { nextPageToken } = await desk.reader.listMoneyDays({ pageSize: 1, date: before });
  expect(await wrongFields(desk.reader.listMoneyDays({ pageSize: 1, pageToken: nextPageToken }))).toBe(
    'page_token',
  );
});
