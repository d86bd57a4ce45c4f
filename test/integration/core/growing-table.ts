import { randomUUID } from 'node:crypto';
import { createFindOrder } from '../../../src/core/payments/search/find-order.ts';
import { createLeaseAttempts } from '../../../src/core/payments/attempts/lease-attempts.ts';
import { createPhoneLimit } from '../../../src/core/payments/phones/phone-limit.ts';
import { publicId } from '../../support/ids.ts';
import { openCountedDatabase } from '../../support/counted-database.ts';
import { openOrderChanges } from './order-changes.ts';

export type GrowingTable = Awaited<ReturnType<typeof openGrowingTable>>;

/** Deterministic ids of twenty shops. */
const shop = (number: number): string => `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`;

const insertOld = `
with made as (
  select n, ('00000000-0000-7000-8000-' || lpad((n % 20)::text, 12, '0'))::uuid as merchant_id, uuidv7() as id, uuidv7() as attempt_id,
    now() - interval '1 day' as at
  from generate_series($1::int, $2::int) n
), orders as (
  insert into core.orders (
    merchant_id, environment, id, order_number, status, payment_type, amount_text, amount_minor_units,
    deducted_minor_units, currency, customer_phone, customer_phone_e164, reason, business_name, return_url, webhook_url,
    last_event_sequence, attempt_count, latest_attempt_id, created_at, updated_at, expires_at, sweep_at)
  select merchant_id, 'SANDBOX', id, 'old-' || n,
    (case when n % 10 = 0 then 'PENDING' when n % 2 = 0 then 'EXPIRED' else 'COMPLETED' end)::core.order_status,
    'API', '100.50', 10050, case when n % 2 = 0 then 0 else 10050 end, 'ETB', '0911223344',
    '+251911223344', 'Two pairs of shoes', '', 'https://shop.example/return', '', 2, n % 2, case when n % 2 = 1 then attempt_id end,
    at, at, at, case when n % 10 = 0 then now() + interval '1 day' end
  from made
), attempts as (
  insert into core.payment_attempts (
    merchant_id, environment, order_id, id, status, payment_option, phone, created_at, updated_at,
    provider_transaction_id)
  select merchant_id, 'SANDBOX', id, attempt_id, 'SUCCEEDED', 'walleta_ussd', '+2519' || lpad((n % 50000)::text, 8, '0'),
    at, at, 'old-' || n
  from made where n % 2 = 1
)
insert into core.order_events (merchant_id, environment, order_id, sequence, id, type, occurred_at, payload)
select merchant_id, 'SANDBOX', id, sequence, uuidv7(), 'CREATED', at, '' from made, generate_series(1, 2) sequence`;

const insertDue = `
with made as (
  select n, $3::uuid as merchant_id, uuidv7() as id, uuidv7() as attempt_id from generate_series($1::int, $2::int) n
), orders as (
  insert into core.orders (
    merchant_id, environment, id, order_number, status, payment_type, amount_text, amount_minor_units,
    deducted_minor_units, currency, customer_phone, customer_phone_e164, reason, business_name, return_url, webhook_url,
    last_event_sequence, attempt_count, latest_attempt_id, created_at, updated_at, expires_at, sweep_at)
  select merchant_id, 'SANDBOX', id, 'due-' || n, 'PENDING', 'API', '100.50', 10050, 0, 'ETB', '0911223344',
    '+251911223344', 'Two pairs of shoes', '', 'https://shop.example/return', '', 1 + n % 2, n % 2,
    case when n % 2 = 1 then attempt_id end, now(), now(),
    now() + case when n % 2 = 1 then interval '1 hour' else interval '0' end,
    now() + case when n % 2 = 1 then interval '1 hour' else interval '0' end
  from made
)
insert into core.payment_attempts (
  merchant_id, environment, order_id, id, status, payment_option, phone, created_at, updated_at, due_at, prompt_until)
select merchant_id, 'SANDBOX', id, attempt_id, 'REQUESTED', 'walleta_ussd', '+2517' || lpad(n::text, 8, '0'),
  now(), now(), now(), now() + interval '3 minutes'
from made where n % 2 = 1`;

/**
 * The transactions in which a table grows, more than the values that PostgreSQL keeps for a column (100). With fewer, the sample
 * of `analyze` decides by chance whether the planner looks up the ends of an index, which costs 20 blocks.
 */
const growthTransactions = 200;

/** Core's own code on a table that grows, and the number of blocks that PostgreSQL reads for it. */
export async function openGrowingTable() {
  const { database, client, counted, close } = await openCountedDatabase('growing table');
  const phoneLimit = createPhoneLimit({ random: Math.random, promptsPerTenMinutes: 5 });
  const changes = openOrderChanges(database, undefined, 5);
  let orders = 0;
  let due = 0;
  return {
    database,
    changes,
    findOrder: createFindOrder(database),
    lease: createLeaseAttempts({ database, changes, newLeaseId: randomUUID, wallets: [] }),
    phoneLimit,
    /** The shop that the calls are about. The other orders belong to other shops. */
    merchantId: publicId('mer', shop(1)),
    /** Adds old orders up to this number, nearly all of them ended, with their payments and events. */
    growTo: async (wanted: number, { analyzed = true } = {}) => {
      const each = Math.ceil((wanted - orders) / growthTransactions);
      for (; orders < wanted; orders = Math.min(wanted, orders + each))
        await client.query({
          name: 'insert-old',
          text: insertOld,
          values: [orders + 1, Math.min(wanted, orders + each)],
        });
      if (analyzed)
        await client.query('vacuum analyze core.orders, core.payment_attempts, core.order_events');
    },
    /** Adds orders that have something due now: the end of their session, or a query about their payment. */
    makeDue: async (count: number) => {
      await client.query(insertDue, [due + 1, due + count, shop(1)]);
      due += count;
    },
    /** The number of blocks that are read during the work. */
    blocksOf: async (work: () => Promise<unknown>) => (await counted(work)).blocks,
    close,
  };
}
