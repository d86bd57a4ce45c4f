import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newRandomId } from '../../../src/contract/public-id.ts';
import { createIndexTask } from '../../../src/core/database/large-indexes.ts';
import { createErasureRequests } from '../../../src/core/erasure/erasure-requests.ts';
import { findNamedOrder } from '../../../src/core/payments/payer-payments/find-named-order.sql.ts';
import { connectToDatabase } from '../../support/database-connections.ts';
import { publicId } from '../../support/ids.ts';
import { sharedConnection, sharedCoreDatabase, sharedTestDatabase } from '../../support/shared-stack.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { sql } from '../../support/sql.ts';
import { insertMerchant, insertOrder, insertPayerPayment } from './stored-rows.ts';

const stop = new AbortController().signal;
const files = sharedTestDatabase();
const database = sharedCoreDatabase('large indexes', () => files.url, 4);
const client = sharedConnection(() => files.url);

const names = [
  'api_keys_unrevoked',
  'erasures_due_merchant_turn',
  'erasures_due_turn',
  'money_days_newest',
  'orders_mixed_capitals',
  'payer_payments_digits',
  'payment_attempts_failed_of_order',
  'payment_attempts_own_succeeded',
  'reconciliations_day',
  'refunds_awaiting_approval',
  'refunds_completed',
  'refunds_failed',
  'refunds_open',
  'refunds_reversed',
  'refunds_undecided',
  'stray_payments_newest',
  'stray_payments_open',
  'stray_payments_open_of_order',
];
const drop = async (): Promise<void> => {
  for (const name of names) await client.query(`drop index if exists core.${name}`);
};
async function validIndexes(): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(sql`
    select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
    where c.relname = any(${names}) and i.indisvalid order by 1`);
  return rows.map(({ name }) => name);
}

const createMerchant = () => insertMerchant(client);
const register = (merchantId: string, orderNumber: string) =>
  insertOrder(client, { merchant_id: merchantId, order_number: orderNumber });

describe('the large indexes', () => {
  beforeEach(drop);

  test('are created once, and again when one was interrupted', async () => {
    await createIndexTask(database)(stop);
    expect(await validIndexes()).toEqual(names);

    await client.query(`
      update pg_index set indisvalid = false where indexrelid = 'core.orders_mixed_capitals'::regclass`);
    await createIndexTask(database)(stop);

    expect(await validIndexes()).toEqual(names);
  });

  test('wait for an older transaction without blocking writers, and stop with the process', async () => {
    const merchantId = await createMerchant();
    const older = await connectToDatabase(files.url);
    await older.query('begin isolation level repeatable read');
    await older.query('select from core.orders limit 1');
    const leaving = new AbortController();

    const creating = createIndexTask(database)(leaving.signal);
    await waitUntil('the index waits for the transaction', async () => {
      const { rows } = await client.query(`select from pg_stat_activity
        where query like 'create index concurrently%' and wait_event_type = 'Lock'`);
      return rows.length > 0;
    });
    await client.query("set lock_timeout = '1s'");
    await register(merchantId, 'WRITTEN-1');
    await client.query('reset lock_timeout');
    leaving.abort();
    await creating;
    const interrupted = await validIndexes();
    await older.query('commit');
    await older.end();
    await createIndexTask(database)(stop);

    expect(interrupted).toEqual([]);
    expect(await validIndexes()).toEqual(names);
  });

  test('are created by one process at a time', async () => {
    const other = await connectToDatabase(files.url);
    await other.query('select pg_advisory_lock(7142011)');

    await createIndexTask(database)(stop);
    const meanwhile = await validIndexes();
    await other.end();

    expect(meanwhile).toEqual([]);
  });
});

describe('the reference of a payer-started payment', () => {
  beforeAll(() => createIndexTask(database)(stop));

  const named = async (reference: string): Promise<string | undefined> =>
    (await findNamedOrder(database.fork(), 'SANDBOX', reference, null))?.orderNumber;

  test('matches an order with mixed capitals, whatever capitals the payer types', async () => {
    await register(await createMerchant(), 'Mixed-7a');

    expect(
      await Promise.all(['Mixed-7a', 'MIXED-7A', 'mixed-7a', 'mIXED-7A', 'mixed-7b'].map(named)),
    ).toEqual([...Array.from({ length: 4 }, () => 'Mixed-7a'), undefined]);
  });

  test('matches none when another merchant has the number in other capitals, mixed or not', async () => {
    await register(await createMerchant(), 'Inv-7');
    await register(await createMerchant(), 'INV-7');

    expect(await Promise.all(['Inv-7', 'INV-7', 'inv-7'].map(named))).toEqual(Array(3).fill(undefined));
  });

  test('matches the exact one of several orders of a merchant, and no other', async () => {
    const merchantId = await createMerchant();
    for (const number of ['two-A', 'Two-a', 'TWO-a']) await register(merchantId, number);

    expect(await Promise.all(['Two-a', 'TWO-a', 'two-a'].map(named))).toEqual(['Two-a', 'TWO-a', undefined]);
  });

  test('matches none when two merchants have the number, however many spellings one of them has', async () => {
    const many = await createMerchant();
    for (let spelling = 0; spelling < 32; spelling += 1)
      await register(
        many,
        Array.from('hides', (letter, index) =>
          (spelling >> index) % 2 === 1 ? letter.toUpperCase() : letter,
        ).join(''),
      );
    await register(await createMerchant(), 'hides');

    expect(await Promise.all(['hides', 'HIDES', 'hIdEs'].map(named))).toEqual(Array(3).fill(undefined));
  });

  test('matches the order of the only merchant of an account, whatever others have', async () => {
    const [own, other] = [await createMerchant(), await createMerchant()];
    await register(own, 'Shared-1');
    await register(other, 'SHARED-1');

    const found = await findNamedOrder(database.fork(), 'SANDBOX', 'shared-1', publicId('mer', own));

    expect(found).toMatchObject({ merchantId: publicId('mer', own), orderNumber: 'Shared-1' });
  });

  test('with mixed capitals is found only as typed before the index exists', async () => {
    await register(await createMerchant(), 'Early-1');
    await drop();

    const before = await Promise.all(['Early-1', 'EARLY-1'].map(named));
    await createIndexTask(database)(stop);

    expect(before).toEqual(['Early-1', undefined]);
    expect(await named('EARLY-1')).toBe('Early-1');
  });
});

describe('the search for a phone number in payer-started payments', () => {
  const requests = () =>
    createErasureRequests({
      database,
      phoneKey: Buffer.alloc(32),
      newId: newRandomId,
      now: () => new Date(),
    });
  const pay = (own: object): Promise<string> => insertPayerPayment(client, { reference: '', ...own });
  const counted = async (phone: string): Promise<number> =>
    (await requests().count(phone, undefined)).payerPaymentCount;

  test('finds the number in each text and in each form, and nothing else, with the index and without', async () => {
    await pay({ reference: '0911000001' });
    await pay({ detail: 'MSISDN +251911000001 refused' });
    await pay({ callback_notes: ['first', 'from 251911000001, 3 times'] });
    await pay({ reference: '00251911000001999' });
    await pay({ reference: '911000 001', detail: '91100', callback_notes: ['0001'] });
    await pay({ reference: '0911000002' });
    await pay({ detail: 'from 6834002' });

    const counts = () =>
      Promise.all(['+251911000001', '+6834002', '+251911000009'].map((phone) => counted(phone)));
    await drop();
    const without = await counts();
    await createIndexTask(database)(stop);
    const withIndex = await counts();

    expect(without).toEqual([4, 1, 0]);
    expect(withIndex).toEqual(without);
  });

  test('reads a few pages of many payments', async () => {
    await client.query(`
      insert into core.payer_payments (id, environment, wallet, payment_option, provider_transaction_id, reference, payee, amount,
        currency, status, created_at, updated_at)
      select gen_random_uuid(), 'SANDBOX', 'mpesa', 'mpesa_ussd', 'many-' || n, '09' || (20000000 + n), '', '1', 'ETB', 'NO_PAYMENT',
        now(), now()
      from generate_series(1, 20000) n`);
    await client.query('vacuum analyze core.payer_payments');
    const readBlocks = async (): Promise<number> => {
      await Promise.all(
        Array.from({ length: 4 }, () => database.pool.query('select pg_stat_force_next_flush()')),
      );
      const { rows } = await client.query<{ count: number }>(`
        select (heap_blks_read + heap_blks_hit)::int as count from pg_statio_user_tables
        where relname = 'payer_payments'`);
      return rows[0]?.count ?? 0;
    };
    const before = await readBlocks();

    expect(await counted('+251920000007')).toBe(1);

    expect((await readBlocks()) - before).toBeLessThan(20);
  });
});
