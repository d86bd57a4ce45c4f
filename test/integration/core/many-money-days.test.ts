import type { EntityManager } from '@mikro-orm/postgresql';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import type { StoredId } from '../../../src/contract/public-id.ts';
import type { PaymentOption } from '../../../src/core/domain/order.ts';
import { countUse } from '../../../src/core/merchant-wallets/count-use.sql.ts';
import { createRefundReader } from '../../../src/core/payments/refunds/find-refunds.ts';
import type { RefundFilter } from '../../../src/core/payments/refunds/find-refunds.ts';
import { createListStrayPayments } from '../../../src/core/payments/stray-payments/list-stray-payments.ts';
import type { StrayPaymentFilter } from '../../../src/core/payments/stray-payments/list-stray-payments.ts';
import { readUnsettled } from '../../../src/core/payments/settlements/unsettled.sql.ts';
import type { KnownMoney } from '../../../src/core/reconciliation/compare-entry.ts';
import { findCompletedRefunds, findMissing } from '../../../src/core/reconciliation/known-money.sql.ts';
import type { WalletScope } from '../../../src/core/reconciliation/known-money.sql.ts';
import { readMissingDays } from '../../../src/core/reconciliation/missing-days.sql.ts';
import { readMoneyDays } from '../../../src/core/reconciliation/money-days.sql.ts';
import type { Day } from '../../../src/core/reconciliation/reconciliation-day.ts';
import { openCountedDatabase } from '../../support/counted-database.ts';
import type { CountedDatabase } from '../../support/counted-database.ts';
import { publicId } from '../../support/ids.ts';
import { seedOrders } from '../../support/seed-orders.ts';
import { sql } from '../../support/sql.ts';

// The blocks that PostgreSQL reads, which do not depend on the load of the machine.

const count = 20_000;
const until = new Date('2026-03-10T23:00:00Z');
const environment = 'SANDBOX' as const;
const merchantId = v7();
/** A merchant whose completed refunds are older than 20,000 failed ones. */
const refusedMerchantId = v7();

/** The payment attempt of that merchant that was declined, and of which the wallet reported 20,000 payments. */
const declinedId = v7();

let counted: CountedDatabase;

const refundColumns = `(merchant_id, id, environment, refund_number, order_id, order_number, payment_attempt_id, payment_option,
  provider_transaction_id, amount_minor_units, amount_given, currency, reason, requested_by, status, detail, tries, maybe_sent, created_at,
  updated_at)`;

/**
 * A year of statements and balances of 100 accounts. On one day, each account gets payments of many orders, each with a refund and
 * returned money.
 */
beforeAll(async () => {
  counted = await openCountedDatabase('many money days');
  const { client } = counted;
  await client.query(sql`
    insert into core.merchants (id, name, status, production_activated, session_lifetime_seconds, created_at, updated_at)
    select unnest(${[merchantId, refusedMerchantId]}::uuid[]), 'Shop', 'ACTIVE', false, 1800, now(), now()`);
  await seedOrders(client, { merchantId, environment, count, until, days: 0.9 });
  await seedOrders(client, { merchantId: refusedMerchantId, environment, count: 1, until, days: 0.9 });
  await client.query(`
insert into core.payee_accounts (merchant_id, wallet_account_id, environment, wallet, payee)
select '${merchantId}', gen_random_uuid(), 'SANDBOX', wallet, wallet || ' account ' || n
from unnest(array['walleta', 'nostatement']) wallet, generate_series(1, 100) n;
insert into core.payment_attempts
  (merchant_id, environment, order_id, id, status, payment_option, phone, created_at, updated_at, wallet_account_id)
select o.merchant_id, o.environment, o.id, gen_random_uuid(), 'SUCCEEDED', 'nostatement_ussd', '', o.created_at, o.created_at,
  accounts.ids[1 + right(o.order_number, 1)::int]
from core.orders o,
  (select array_agg(wallet_account_id) as ids from core.payee_accounts where wallet = 'nostatement') accounts;
insert into core.refunds ${refundColumns}
select merchant_id, gen_random_uuid(), environment, id::text, order_id, 'R', id, 'walleta_ussd', id::text, 1, true, 'ETB', '', 'writer',
  'REVERSED', '', 1, true, created_at, created_at from core.payment_attempts;
insert into core.refunds ${refundColumns}
select merchant_id, case when n > 60 then gen_random_uuid() else lpad(n::text, 32, '0')::uuid end, environment, n::text, order_id, 'R', id,
  'walleta_ussd', '', 1, true, 'ETB', '', 'writer', (case when n > 60 then 'REVERSAL_REFUSED' else 'REVERSED' end)::core.refund_status, '',
  1, true, created_at, created_at
from core.payment_attempts, generate_series(1, ${count}) n where merchant_id = '${refusedMerchantId}';
insert into core.stray_payments (merchant_id, id, environment, order_id, payment_attempt_id, payment_option, provider_transaction_id, amount,
  currency, kind, status, detail, tries, maybe_sent, reversal_id, created_at, updated_at)
select merchant_id, id, environment, order_id, id, payment_option, id::text, '1', 'ETB', 'LATE', 'REVERSED', '', 1, true, id, created_at,
  created_at from core.payment_attempts;
insert into core.payment_attempts (merchant_id, environment, order_id, id, status, payment_option, phone, decline_reason, created_at,
  updated_at)
select merchant_id, environment, order_id, '${declinedId}', 'DECLINED', 'strayonly_ussd', '', 'declined', created_at, created_at
from core.payment_attempts where merchant_id = '${refusedMerchantId}';
insert into core.stray_payments (merchant_id, id, environment, order_id, payment_attempt_id, payment_option, provider_transaction_id, amount,
  currency, kind, status, detail, tries, maybe_sent, reversal_id, created_at, updated_at)
select merchant_id, gen_random_uuid(), environment, order_id, id, payment_option, n::text, '1', 'ETB', 'LATE', 'REVERSED', '', 1, true,
  gen_random_uuid(), created_at, created_at
from core.payment_attempts, generate_series(1, ${count}) n where id = '${declinedId}';
insert into core.reconciliations (id, wallet, environment, day, status, scheduled, started_by, tries, entries, other_entries, differences,
  detail, created_at, updated_at)
select gen_random_uuid(), 'walletb/account ' || n, 'SANDBOX', day::date, 'COMPLETED', true, 'core', 1, 0, 0, 0, '', day, day
from generate_series(1, 100) n, generate_series(timestamp '2025-03-11', timestamp '2026-03-10', interval '1 day') day;
insert into core.money_days (environment, wallet, day, merchant_id, currency, reconciliation_id, statement_in, statement_out, completed,
  strays, reversals, refunds)
select environment, wallet, day, '${merchantId}', 'ETB', id, 1, 0, 1, 0, 0, 0 from core.reconciliations;`);
  await client.query(
    'vacuum analyze core.payment_attempts, core.refunds, core.stray_payments, core.reconciliations, core.money_days, core.payee_accounts',
  );
});

afterAll(() => counted.close());

const missingDays = (wallet: string, reconcile: boolean) =>
  readMissingDays(
    counted.database.pool,
    [{ id: wallet, environments: [environment], options: [], currencies: [], reconcile, refunds: 'any' }],
    { wallet, environment, merchantId: undefined, date: undefined },
    new Date('2026-04-01T12:00:00Z'),
  );
type OfDay = (
  em: EntityManager,
  scope: WalletScope,
  day: Day & { readonly readFrom: Date },
) => AsyncGenerator<KnownMoney, undefined>;
/** The first money of a day, as a list. */
const firstOf = (day: string, option: PaymentOption, read: OfDay) =>
  counted.database.fork().transactional(async (em) => {
    const from = new Date(`${day}T00:00:00Z`);
    const { rows } = await counted.client.query<{ id: string }>(`
      select wallet_account_id as id from core.payee_accounts where wallet = 'nostatement'`);
    const scope = { environment, options: [option], isOperators: false, otherAccounts: [] };
    const accounts = rows.map(({ id }) => id);
    const ofDay = { from, until: new Date(from.getTime() + 86_400_000), readFrom: from };
    const money = read(em, { ...scope, accounts }, ofDay);
    const { value: first } = await money.next();
    return first === undefined ? [] : [first];
  });
const firstCompleted = (day: string) => firstOf(day, 'walleta_ussd', findCompletedRefunds);
const firstMissing = (day: string) =>
  firstOf(day, 'nostatement_ussd', (em, scope, ofDay) =>
    findMissing(em, scope, v7() as StoredId<'rec'>, ofDay),
  );
const listRefunds = (own: Partial<RefundFilter>) =>
  createRefundReader(counted.database, []).list({
    ...{ merchantId: publicId('mer', merchantId), environment, orderId: undefined, statuses: [], limit: 51 },
    ...{ createdFrom: undefined, createdTo: undefined, beforeId: undefined, ...own },
  });
const listStrays = (own: Partial<StrayPaymentFilter>) =>
  createListStrayPayments(counted.database)({
    ...{
      merchantId: undefined,
      orderId: undefined,
      environment: undefined,
      statuses: [],
      beforeId: undefined,
      limit: 51,
    },
    ...own,
  });
const anyBalance = { wallet: undefined, merchantId: undefined, date: undefined };
const after = {
  day: '2025-09-01',
  environment,
  wallet: 'walletb/account 3',
  merchant_id: merchantId,
} as const;

async function busyAccount() {
  const { rows } = await counted.client.query<{ id: StoredId<'wac'> }>(`
    select wallet_account_id as id from core.payment_attempts limit 1`);
  return { merchantId: merchantId as StoredId<'mer'>, id: rows[0]!.id, environment, wallet: 'nostatement' };
}

// Of 101 accounts and 30 days, with a few blocks each.
const blocksOfMissingDays = 101 * 30 * 20;

test.each<[string, () => Promise<readonly unknown[]>, number, number]>([
  [
    'days without a balance at a wallet with statements',
    () => missingDays('walleta', true),
    0,
    blocksOfMissingDays,
  ],
  ['days of a wallet without statements', () => missingDays('nostatement', false), 10, blocksOfMissingDays],
  ['a day of which nothing but stray payments is known', () => missingDays('strayonly', false), 1, 30 * 20],
  ['a page of the stray payments of all merchants', () => listStrays({}), 51, 150],
  ['stray payments of one environment without any', () => listStrays({ environment: 'PRODUCTION' }), 0, 50],
  [
    'a page of balances in the middle',
    () =>
      readMoneyDays(counted.database.pool, {
        ...{ ...anyBalance, environment, onlyDifferent: false, onlyCorrected: false, limit: 50 },
        after: { ...after, currency: 'ETB' } as Parameters<typeof readMoneyDays>[1]['after'],
      }),
    50,
    500,
  ],
  ['the refunds of a day without one', () => firstCompleted('2026-02-01'), 0, 50],
  ['the first refund of a day with very many', () => firstCompleted('2026-03-10'), 1, 10_000],
  ['the missing payments of a day without one', () => firstMissing('2026-02-01'), 0, 50],
  ['the first missing payment of a day with very many', () => firstMissing('2026-03-10'), 1, 10_000],
  ['a page of refunds', () => listRefunds({}), 51, 150],
  ['refunds of production without any', () => listRefunds({ environment: 'PRODUCTION' }), 0, 50],
  [
    'refunds that await approval, of which there is none',
    () => listRefunds({ statuses: ['AWAITING_APPROVAL'] }),
    0,
    50,
  ],
  ['open refunds without any', () => listRefunds({ statuses: ['REQUESTED', 'SENT', 'UNKNOWN'] }), 0, 50],
  [
    'a page of completed refunds that are older than many failed ones',
    () => listRefunds({ merchantId: publicId('mer', refusedMerchantId), statuses: ['COMPLETED'] }),
    51,
    150,
  ],
  ['failed refunds without any', () => listRefunds({ statuses: ['FAILED'] }), 0, 50],
  [
    'the money that waits for a person, of which there is none',
    async () => (await readUnsettled(counted.database.pool, { merchantId: undefined, limit: 10 })).items,
    0,
    50,
  ],
  [
    'what needs an own account with many payments',
    async () => [await countUse(counted.database.fork(), await busyAccount())],
    1,
    100,
  ],
])('%s: a few blocks are read, however many rows there are', async (_name, read, found, most) => {
  const { result, blocks } = await counted.counted(read);

  expect(result).toHaveLength(found);
  expect(blocks).toBeLessThan(most);
});
