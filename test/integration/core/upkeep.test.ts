import { describe, expect, test } from '@jest/globals';
import { sharedTestDatabase, sharedConnection } from '../../support/shared-stack.ts';

const database = sharedTestDatabase();
const client = sharedConnection(() => database.url);

describe('the busy tables', () => {
  test.each([
    [
      'orders',
      {
        orders_pkey: 'changes',
        orders_order_number: 'verify',
        orders_sweep: 'the sweep',
        orders_phone: 'customers, found by their phone',
        orders_links: 'payment links, a small part of all orders',
        orders_mixed_capitals: 'order numbers of capitals and small letters, a small part of all orders',
      },
    ],
    ['order_events', { order_events_pkey: 'no event twice', order_events_commit_order: 'the relay' }],
    [
      'payment_attempts',
      {
        payment_attempts_pkey: 'changes',
        payment_attempts_one_open: 'no second charge',
        payment_attempts_due: 'what is due to be asked of a wallet',
        payment_attempts_phone: 'the limit on prompts',
        payment_attempts_transaction: 'money counted once; statements',
        payment_attempts_succeeded: 'statements',
        payment_attempts_paid: 'the phones that have paid a merchant before',
        payment_attempts_reference: 'confirmations that name our own request; the few without a success',
        payment_attempts_own_succeeded: "balances of merchants' own accounts, a small part of all",
        payment_attempts_wallet_account: "attempts at merchants' own accounts, a small part of all",
      },
    ],
  ])('%s has only indexes that something needs', async (table, needed) => {
    const { rows } = await client.query<{ name: string }>(
      `select indexname as name from pg_indexes where schemaname = 'core' and tablename = $1`,
      [table],
    );

    expect(rows.map(({ name }) => name).filter((name) => !(name in needed))).toEqual([]);
  });

  test.each(['orders', 'payment_attempts'])(
    '%s is vacuumed long before a fifth of it is dead',
    async (table) => {
      const { rows } = await client.query<{ options: string[] }>(
        `select reloptions as options from pg_class where oid = ('core.' || $1)::regclass`,
        [table],
      );

      expect(rows[0]?.options).toContain('autovacuum_vacuum_scale_factor=0.02');
    },
  );
});
