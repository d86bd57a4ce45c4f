import { describe, expect, test } from '@jest/globals';
import { Migration } from '@mikro-orm/migrations';
import { MikroORM } from '@mikro-orm/postgresql';
import type pg from 'pg';
import { v7 } from 'uuid';
import type { Database } from '../../../src/core/database/database.ts';
import { entities } from '../../../src/core/database/entities.ts';
import { migrateWhenReachable } from '../../../src/main/migrate-when-reachable.ts';
import { connectionRefused } from '../../../src/platform/database/explain-error.ts';
import { openSchema } from '../../../src/platform/database/open-database.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { createTestDatabase } from '../../support/test-database.ts';
import { openCoreDatabase, sharedConnection, sharedTestDatabase } from '../../support/shared-stack.ts';
import { CheckFinding } from '../../../src/gen/gatehouse/v1/diagnostics_service_pb.js';
import { checksOfCore } from './doctor-checks.ts';
import { connectToDatabase, queryOnce } from '../../support/database-connections.ts';
import { keptLog } from '../../support/kept-log.ts';
import { sql } from '../../support/sql.ts';
import { insertAttempt, insertMerchant, insertOrder } from './stored-rows.ts';

const open = (url: string): Promise<Database> => openCoreDatabase('migrations test', url, 2);

/** Uses a new database, which is not migrated unless the options say so, and a connection to it. */
async function withDatabase(
  use: (database: Database, client: pg.Client) => Promise<void>,
  options = { migrated: false },
): Promise<void> {
  const { url, drop } = await createTestDatabase(options);
  const client = await connectToDatabase(url);
  const database = await open(url);
  try {
    await use(database, client);
  } finally {
    await client.end();
    await database.close();
    await drop();
  }
}

async function applied({ pool }: Database): Promise<{ name: string; executed_at: unknown }[]> {
  const { rows } = await pool.query<{ name: string; executed_at: unknown }>(`
    select name, executed_at from core.migrations order by id`);
  return rows;
}

/** Fails with a limit that other statements have, so that it needs no time to prove that it has none. */
class UnlimitedMigration extends Migration {
  override readonly name = 'unlimited';

  override up(): void {
    this.addSql(`do $$ begin
      if current_setting('statement_timeout') <> '0' then
        raise exception 'a migration has a time limit';
      end if;
      if current_setting('idle_in_transaction_session_timeout') <> '1min' then
        raise exception 'a migration whose machine was lost would keep its locks';
      end if;
    end $$`);
  }
}

describe('migrating', () => {
  const empty = sharedTestDatabase({ migrated: false });

  test('gives migrations as much time as they need', async () => {
    await queryOnce(
      empty.url,
      "do $$ begin execute format('alter database %I set statement_timeout = ''10s''', current_database()); end $$",
    );
    const database = await openSchema(
      { schema: 'probe', entities, migrations: [UnlimitedMigration], migrationLock: 1 },
      {
        url: empty.url,
        poolSize: 2,
        applicationName: 'migrations test',
        logger: createLogger({ process: 'test', instance: 'time', level: 'silent' }),
      },
    );
    await database.migrate();
    expect(await database.pendingMigrations()).toEqual([]);
    await database.close();
  });

  test('from three processes at once on an empty database creates one schema, and again changes nothing', async () => {
    const each = await Promise.all([open(empty.url), open(empty.url), open(empty.url)]);
    const pending = await each[0].pendingMigrations();

    await Promise.all(each.map(({ migrate }) => migrate()));
    const once = await applied(each[0]);
    await each[0].migrate();

    expect(pending[0]).toBe('001-core');
    expect(once.map(({ name }) => name)).toEqual(pending);
    expect(await applied(each[0])).toEqual(once);
    for (const database of each) {
      expect(await database.pendingMigrations()).toEqual([]);
      await database.close();
    }
  });

  test('waits for another process that migrates, names its session, and leaves no session in the queue', async () => {
    const log: string[] = [];
    const write = (line: string): void => void log.push(line);
    const holder = await openCoreDatabase('migrations holder', empty.url, 2);
    const options = { url: empty.url, poolSize: 2, applicationName: 'migrations waiter' };
    const logger = createLogger({ process: 'test', instance: 'waiter', level: 'warn' }, { write });
    const own = { schema: 'waited', entities, migrations: [], migrationLock: 2 };
    const waiter = await openSchema(own, { ...options, logger });
    const client = await holder.pool.connect();
    await client.query('select pg_advisory_lock(2)');

    const migrated = waiter.migrate();
    await waitUntil('it says that it waits', () => log.length > 0);
    const { rows: queue } = await client.query(`select 1 from pg_stat_activity
      where application_name = 'migrations waiter' and wait_event_type = 'Lock'`);
    await client.query('select pg_advisory_unlock(2)');
    await migrated;

    expect(log[0]).toContain('another process migrates the database');
    expect(JSON.parse(log[0] ?? '')).toMatchObject({
      schema: 'waited',
      holder: { name: 'migrations holder' },
    });
    expect(queue).toEqual([]);
    client.release();
    await Promise.all([holder.close(), waiter.close()]);
  });

  test('does not wait for another process that migrates when all migrations have run', async () => {
    const { logger, log } = keptLog({ level: 'warn' });
    const own = { schema: 'probe', entities, migrations: [UnlimitedMigration], migrationLock: 3 };
    const holder = await connectToDatabase(empty.url);
    await holder.query('select pg_advisory_lock(3)');
    const options = { url: empty.url, poolSize: 2, applicationName: 'migrated' };
    const database = await openSchema(own, { ...options, logger });
    let isMigrated = false;
    const migrated = database.migrate().then(() => (isMigrated = true));

    const first = await waitUntil(
      'it has migrated, or says that it waits',
      () => (isMigrated && 'migrated') || (log.length > 0 && 'waits'),
    );

    await holder.end();
    await migrated;
    await database.close();
    expect(first).toBe('migrated');
  });

  test('releases its lock and its connection', async () => {
    const database = await open(empty.url);
    await database.migrate();

    // The session that held it is closed without waiting, so the server may still hold the lock.
    await waitUntil('the lock is free', async () => {
      const { rowCount } = await database.pool.query(`
        select 1 from pg_locks l join pg_database d on d.oid = l.database
        where l.locktype = 'advisory' and d.datname = current_database()`);
      return rowCount === 0;
    });
    const { rows: settings } = await database.pool.query('show statement_timeout');
    expect(settings).toEqual([{ statement_timeout: '10s' }]);
    await database.close();
  });

  test('fails with advice while another transaction locks a table, and succeeds when it is repeated', () =>
    withDatabase(async (database, payment) => {
      const { logger, log } = keptLog({ level: 'warn' });
      await database.migrate('030-settled-strays-without-order');
      await payment.query('begin');
      await payment.query('lock table core.orders, core.order_events in row exclusive mode');

      await expect(migrateWhenReachable(database, logger, 1)).rejects.toThrow(
        /changed nothing: run it again when there are few payments/,
      );
      // Those before it are complete, and hold no locks.
      expect((await database.pendingMigrations())[0]).toBe('037-erasure');
      const migrating = migrateWhenReachable(database, logger);
      await waitUntil('it has waited for the lock', () => log.length > 0);
      const [waiting] = await waitUntil('it waits again', async () => {
        const { rows } = await payment.query<{ stops_requests: boolean }>(`
          select exists (select from pg_locks l where l.pid = w.pid and l.granted and l.mode = 'AccessExclusiveLock'
            and l.relation = 'core.merchants'::regclass) as stops_requests
          from pg_locks w where not w.granted and w.relation = 'core.order_events'::regclass`);
        return rows.length > 0 && rows;
      });
      // Every request reads its merchant, within two seconds.
      expect(waiting).toEqual({ stops_requests: false });
      await payment.query('commit');
      await migrating;

      expect(log[0]?.msg).toContain('a migration waits for a lock that a transaction holds');
      expect(await database.pendingMigrations()).toEqual([]);
    }));
});

test.each([
  ['does not answer', 'postgres://gatehouse@127.0.0.1:1/none', 'check GATEHOUSE_DATABASE_URL, and whether'],
  ['refuses the connection', undefined, 'check the user, the password and the database'],
])('a start whose database %s fails with the action', async (_, unanswered, action) => {
  const { url, drop } = await createTestDatabase({ migrated: false });
  const database = await open(unanswered ?? new URL('/missing', url).href);
  await expect(migrateWhenReachable(database, keptLog().logger, 1)).rejects.toThrow(action);
  await database.close();
  await drop();
});

test('a start waits for the primary although all migrations have run', async () => {
  const { url, drop } = await createTestDatabase();
  await queryOnce(
    url,
    "do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$",
  );
  const database = await open(url);

  await expect(migrateWhenReachable(database, keptLog().logger, 1)).rejects.toThrow(
    'PostgreSQL is read-only',
  );
  await database.close();
  await drop();
});

test('the error of a migration names it', () =>
  withDatabase(
    async (database, client) => {
      // For example after a repair by hand.
      await client.query("delete from core.migrations where name = '056-confirmed-payments'");
      await expect(migrateWhenReachable(database, keptLog().logger, 1)).rejects.toMatchObject({
        message: 'the migration 056-confirmed-payments of the schema core failed, and changed nothing',
        cause: { message: expect.stringContaining('already exists') },
      });
    },
    { migrated: true },
  ));

test('doctor says in words that a database has no tables of Gatehouse, and what to do', () =>
  withDatabase(async (database) => {
    const checks = await checksOfCore(database);

    const [first, ...others] = checks.filter(({ finding }) => finding === CheckFinding.ERROR);
    expect(first).toMatchObject({
      name: 'database',
      detail: expect.stringMatching(
        /has no tables of Gatehouse.+restore a backup \(docs\/operating\/backup\.md\)$/,
      ),
      advice:
        'do what the finding says. If it names no remedy, check GATEHOUSE_DATABASE_URL, and that PostgreSQL is running',
    });
    expect(others.length).toBeGreaterThan(0);
    for (const { detail, advice } of others)
      expect({ detail, advice }).toEqual({
        detail: 'a table of Gatehouse is missing in this database',
        advice: 'repair the database first',
      });
  }));

test('doctor says in words why the database refuses its connections, and what to do', async () => {
  const { url, drop } = await createTestDatabase({ migrated: false });
  const database = await open(new URL('/missing', url).href);
  const details = (await checksOfCore(database))
    .filter(({ finding }) => finding === CheckFinding.ERROR)
    .map(({ detail }) => detail);
  await database.close();
  await drop();

  expect(new Set(details)).toEqual(new Set([connectionRefused('core')]));
});

test('a reversal from before reversals had ids keeps the id that its wallet knows', () =>
  withDatabase(
    async (database, client) => {
      await insertDeclined(client);
      await client.query('alter table core.stray_payments drop column reversal_id');
      await client.query(`delete from core.migrations where name = '004-reversals'`);
      await client.query(sql`
        insert into core.stray_payments (merchant_id, id, environment, order_id, payment_attempt_id, payment_option,
          provider_transaction_id, amount, currency, kind, status, detail, tries, maybe_sent, due_at, created_at, updated_at)
        select merchant_id, ${v7()}, environment, order_id, id, payment_option, 't-1', '1', 'ETB', 'LATE',
          'REVERSAL_DUE', '', 1,
          true, now(), now(), now() from core.payment_attempts`);

      await database.migrate();

      const { rows } = await client.query('select reversal_id = id as same from core.stray_payments');
      expect(rows).toEqual([{ same: true }]);
    },
    { migrated: true },
  ));

test('the payments of own accounts that were removed before their payees were kept have an account without a known payee', () =>
  withDatabase(async (database, client) => {
    await database.migrate('052-asked-since');
    await insertDeclined(client, { wallet_account_id: v7() });

    await database.migrate();

    const { rows } = await client.query('select wallet, payee from core.payee_accounts');
    expect(rows).toEqual([{ wallet: 'walleta', payee: 'removed account' }]);
  }));

describe('the schema', () => {
  const database = sharedTestDatabase();
  const client = sharedConnection(() => database.url);
  test.each(['REQUESTED', 'SENT', 'UNKNOWN', 'SUCCEEDED'])(
    'allows a further attempt of an order only when the one that is %s has ended',
    async (status) => {
      const merchant_id = await insertMerchant(client);
      const order_id = await insertOrder(client, { merchant_id });
      const insert = (own: object) => insertAttempt(client, { merchant_id, order_id, ...own });
      await insert({ status });

      for (const other of ['REQUESTED', 'SENT', 'UNKNOWN', 'SUCCEEDED'])
        await expect(insert({ status: other })).rejects.toThrow('one_open');

      await insert({ status: 'TIMED_OUT' });
      await insert(declined);
    },
  );

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
        payment_attempts_failed_of_order: 'the other attempts of an order, a small part of all',
        payment_attempts_own_succeeded: "balances of merchants' own accounts, a small part of all",
        payment_attempts_wallet_account: "attempts at merchants' own accounts, a small part of all",
      },
    ],
  ])('has only indexes of the busy table %s that something needs', async (table, needed) => {
    const { rows } = await client.query<{ name: string }>(sql`
      select indexname as name from pg_indexes where schemaname = 'core' and tablename = ${table}`);

    expect(rows.map(({ name }) => name).filter((name) => !(name in needed))).toEqual([]);
  });

  test.each(['orders', 'payment_attempts'])(
    'lets %s be vacuumed long before a fifth of it is dead',
    async (table) => {
      const { rows } = await client.query<{ options: string[] }>(sql`
        select reloptions as options from pg_class where oid = ('core.' || ${table})::regclass`);

      expect(rows[0]?.options).toContain('autovacuum_vacuum_scale_factor=0.02');
    },
  );

  test('has every column of each entity, with its type and whether it may be null', async () => {
    const orm = await MikroORM.init({ clientUrl: database.url, entities, ensureDatabase: false });
    const tables = [...orm.getMetadata().getAll().values()].map(({ tableName, props }) => ({
      tableName,
      props,
    }));
    await orm.close();
    const mapped = tables.flatMap(({ tableName, props }) =>
      props.map(({ fieldNames: [column = ''], columnTypes: [type = ''], nullable }) => {
        const name = postgresNames.get(type) ?? type;
        return `${tableName}.${column} ${name} ${nullable === true ? 'null' : 'not null'}`;
      }),
    );

    const { rows } = await client.query<{ described: string }>(`
      select concat(c.relname, '.', a.attname, ' ', format_type(a.atttypid, a.atttypmod), ' ',
        case when a.attnotnull then 'not null' else 'null' end) as described
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'core'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped`);

    const actual = new Set(rows.map(({ described }) => described));
    expect(mapped.length).toBeGreaterThan(60);
    expect(mapped.filter((column) => !actual.has(column))).toEqual([]);
  });
});

/** The names of PostgreSQL for the types that the ORM abbreviates. */
const postgresNames = new Map([
  ['timestamptz(3)', 'timestamp(3) with time zone'],
  ['int', 'integer'],
]);

const declined = { status: 'DECLINED', decline_reason: 'wrong_pin' };

async function insertDeclined(client: pg.Client, own: object = {}): Promise<void> {
  const merchant_id = await insertMerchant(client);
  const order_id = await insertOrder(client, { merchant_id });
  await insertAttempt(client, { merchant_id, order_id, ...declined, ...own });
}
