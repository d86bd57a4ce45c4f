import { beforeEach, expect, test } from '@jest/globals';
import { v7 } from 'uuid';
import { RecoveryRow } from '../../../src/core/database/recovery-entities.ts';
import { beginRecovery } from '../../../src/core/recovery/begin-recovery.ts';
import { findHolds } from '../../../src/core/recovery/holds.sql.ts';
import { checkWallets } from '../../../src/core/recovery/check-wallets.ts';
import { keepLostAccounts } from '../../../src/core/recovery/lost-accounts.sql.ts';
import { createRecoverySteps } from '../../../src/core/recovery/run-recovery.ts';
import { createRecoveryStore } from '../../../src/core/recovery/recovery-store.ts';
import { newRandomId, publicId } from '../../../src/contract/public-id.ts';
import type { StoredId } from '../../../src/contract/public-id.ts';
import type { StreamState } from '../../../src/core/domain/recovery.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import type { StoredMessage, StoredStream } from '../../../src/platform/nats/stored-events.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { sharedConnection, sharedCoreDatabase, sharedTestDatabase } from '../../support/shared-stack.ts';
import { sql } from '../../support/sql.ts';
import { buildWallet } from '../../unit/domain/build-order.ts';
import { eventOf, streamOf } from './stored-events.ts';

const testDatabase = sharedTestDatabase();
const database = sharedCoreDatabase('recovery statements', () => testDatabase.url, 4);
const connection = sharedConnection(() => testDatabase.url);

const wallet = buildWallet('any');
const lostFrom = new Date('2026-03-10T10:00:00Z');
const lostUntil = new Date('2026-03-10T12:00:00Z');
const settledAt = new Date('2026-03-10T12:04:00Z');
const day = '2026-03-10';

beforeEach(async () => {
  await connection.query('truncate core.recoveries, core.reconciliations, core.merchants cascade');
  await connection.query(`insert into core.database_life (lineage, home, seen_at)
    values (gen_random_uuid(), '', now()) on conflict do nothing`);
});

async function addMerchant(): Promise<string> {
  const id = v7();
  await connection.query(sql`
    insert into core.merchants (id, name, status, production_activated, session_lifetime_seconds, created_at, updated_at)
    values (${id}, 'Shop', 'ACTIVE', false, 1800, now(), now())`);
  return id;
}

/** An own account at the wallet, of the backup. Without a payee, as a core of release 0.1.0 adds it. */
async function addAccount(
  payee: string | undefined,
  state = 'CURRENT',
  merchant = '',
  {
    addedAt = lostFrom,
    check = 'ACCEPTED',
    id = v7({ msecs: addedAt.getTime() }),
  }: { addedAt?: Date; check?: string; id?: string } = {},
): Promise<string> {
  const merchantId = merchant === '' ? await addMerchant() : merchant;
  await connection.query(sql`
    insert into core.wallet_accounts (merchant_id, id, environment, wallet, state, open_values, endings, key_name,
      sealed_secrets, check_result, created_at)
    values (${merchantId}, ${id}, 'SANDBOX', 'walleta', ${state}, '{}', '{}', '', '', ${check}, now())`);
  if (payee !== undefined)
    await connection.query(sql`
      insert into core.payee_accounts values (${merchantId}, ${id}, 'SANDBOX', 'walleta', ${payee})`);
  return id;
}
const removeAccount = (id: string) =>
  connection.query(sql`delete from core.wallet_accounts where id = ${id}`);

const begin = (stream: StreamState) =>
  database.fork().transactional(async (em) => {
    const id = v7();
    await beginRecovery(em, [wallet], { id, cause: 'OPERATOR', lostFrom, lostUntil });
    (await em.findOneOrFail(RecoveryRow, { id })).stream = stream;
  });

/** One step. Returns the statements that it started to read. */
async function step(): Promise<string[]> {
  const em = database.fork();
  const started: string[] = [];
  await checkWallets(
    em,
    await em.findOneOrFail(RecoveryRow, { finishedAt: null }),
    settledAt,
    (key, date, by) => {
      started.push([key.wallet, key.payee, date, by].join(' | '));
      return Promise.resolve();
    },
  );
  return started;
}

/** The steps of a core whose broker gives this stream, or does not answer. Adds the days whose statements it started to read. */
const recoverySteps = ({
  days = [],
  stream,
  isNewDatabase = false,
  settleMs = 0,
  claimed = [],
}: {
  days?: string[];
  /** Gets each environment whose lost payments are claimed, with whether it takes payments then. */
  claimed?: [string, boolean | undefined][];
  stream?: StoredStream;
  isNewDatabase?: boolean;
  settleMs?: number;
}) =>
  createRecoverySteps({
    database,
    bus: {
      storedStream: () =>
        stream === undefined
          ? Promise.reject(new Error('the broker does not answer'))
          : Promise.resolve(stream),
    },
    wallets: [wallet],
    isNewDatabase,
    hasMasterKey: () => Promise.resolve(true),
    startReconciliation: (_key, date) => Promise.resolve(days.push(date)),
    claimAll: async (environment) => {
      const { rows } = await connection.query<{ takes: boolean }>(sql`
        select core.takes_payments(${environment}) as takes`);
      return claimed.push([environment, rows[0]?.takes]);
    },
    newUuid: v7,
    onRecovering: () => Promise.resolve(),
    onChange: () => undefined,
    logger: createLogger({ process: 'test', instance: 'test', level: 'silent' }),
    settleMs,
    ...{ streamWaitMs: -1, streamPauseMs: 0 },
  });

interface Reading {
  readonly status: 'COMPLETED' | 'FAILED' | 'WAITING';
  readonly until?: Date;
  readonly createdAt?: Date;
  readonly tries?: number;
  readonly detail?: string;
}

/** The result of reading a statement. */
const read = (name: string, { status, until, createdAt = settledAt, tries = 1, detail = '' }: Reading) =>
  connection.query(sql`
    insert into core.reconciliations (id, wallet, environment, day, status, scheduled, started_by, due_at, period_to, tries,
      entries, other_entries, differences, detail, created_at, updated_at)
    values (${v7()}, ${name}, 'SANDBOX', ${day}, ${status}::core.reconciliation_status, false, 'recovery',
      case when ${status} = 'WAITING' then now() end, ${until}, ${tries}, 0, 0, 0, ${detail}, ${createdAt},
      ${createdAt})`);
const completed: Reading = { status: 'COMPLETED', until: settledAt };

/** The merchants that must wait. */
async function held(): Promise<string[]> {
  const em = database.fork();
  const recovery = await em.findOneOrFail(RecoveryRow, { finishedAt: null });
  return (await findHolds(em, recovery)).map(({ merchantId }) => merchantId).toSorted();
}

const store = () =>
  createRecoveryStore({ database, wallets: [wallet], newId: newRandomId, newUuid: v7, settleMs: 240_000 });
const accounts = { type: 'accounts', despiteUnaccepted: false } as const;
const by = { actor: 'operator', requestId: '' };
const shown = async () => {
  const check = (await store().latest())?.wallets[0];
  return {
    state: check?.state,
    obstacle: check?.obstacle,
    unread: check?.unread.map(({ payee, state, detail }) => [payee, state, detail].join(' | ')),
  };
};
const allRead = { state: 'READ', obstacle: '', unread: [] };
/** Only the question about own accounts is open. */
const unanswered = { state: 'WAITING', obstacle: 'own_accounts', unread: [] };

test('facades read the ended orders of all merchants again', async () => {
  const versions = async () => {
    const { rows } = await connection.query<{ id: string; version: string }>(`
      select id::text as id, ended_orders_version::text as version from core.merchants`);
    return new Map(rows.map(({ id, version }) => [id, version]));
  };
  await addMerchant();
  await addMerchant();
  const before = await versions();
  await begin('COMPLETE');
  const after = await versions();
  expect([...after.keys()].toSorted()).toEqual([...before.keys()].toSorted());
  for (const [id, version] of after) expect(version).not.toBe(before.get(id));
});

test('the statement of each payee account is requested once, however many merchants share it', async () => {
  await addAccount('accountid 3001');
  await addAccount('accountid 3001', 'RETIRED');
  const unread = await addMerchant();
  await addAccount('accountid 3002', 'CURRENT', unread);
  // Credentials of its own with the operator's payee.
  await addAccount('');
  await removeAccount(await addAccount('accountid 3003'));
  await begin('COMPLETE');

  expect(await step()).toEqual(
    ['', 'accountid 3001', 'accountid 3002'].map((payee) => `walleta | ${payee} | ${day} | recovery`),
  );

  await read('walleta', completed);
  await read('walleta/accountid 3001', completed);
  // The first ends before the last prompts have ended, and the second began before the restore.
  await read('walleta/accountid 3002', { status: 'COMPLETED', until: lostUntil });
  await read('walleta/accountid 3002', { ...completed, createdAt: lostFrom });
  expect(await step()).toEqual([`walleta | accountid 3002 | ${day} | recovery`]);
  // Only its merchant waits.
  expect(await shown()).toEqual({ state: 'READ', obstacle: '', unread: ['accountid 3002 | READING | '] });
  expect(await held()).toEqual([unread]);

  await read('walleta/accountid 3002', completed);
  expect(await step()).toEqual([]);
  expect(await shown()).toEqual(allRead);
  expect(await held()).toEqual([]);
});

test('without a complete stream an operator is needed when all statements are read, and accounts that are added meanwhile are read too', async () => {
  await addAccount('accountid 3001');
  await begin('LOST');
  await read('walleta', completed);
  await read('walleta/accountid 3001', completed);

  expect(await step()).toEqual([]);
  expect(await shown()).toEqual(unanswered);
  await addAccount('accountid 3002');
  expect(await step()).toEqual([`walleta | accountid 3002 | ${day} | recovery`]);
  expect(await shown()).toMatchObject({ obstacle: 'own_accounts', unread: ['accountid 3002 | READING | '] });
  await read('walleta/accountid 3002', completed);
  await step();
  expect(await shown()).toEqual(unanswered);

  const subject = { type: 'wallet', environment: 'SANDBOX', wallet: 'walleta' } as const;
  await store().accept(subject, 'nothing was added', by);
  await step();
  expect(await shown()).toMatchObject({ state: 'ACCEPTED' });
});

test('without a complete stream one answer for the accounts of the lost time is enough for all wallets', async () => {
  // At another wallet: the first account at this one may have been added in the lost time.
  const id = await addAccount('accountid 3001');
  await connection.query(sql`update core.wallet_accounts set wallet = 'walletb' where id = ${id}`);
  await connection.query(sql`
    update core.payee_accounts set wallet = 'walletb' where wallet_account_id = ${id}`);
  await begin('LOST');
  await read('walleta', completed);
  await step();
  expect(await shown()).toEqual(unanswered);

  const accept = () => store().accept(accounts, 'asked all merchants', by);
  expect(await accept()).toMatchObject({ ok: true, value: { accountsAcceptedBy: 'operator' } });
  expect(await accept()).toEqual({ ok: false, error: 'not_waiting' });
  await step();
  expect(await shown()).toEqual(allRead);
});

test('a gateway whose merchants have never had accounts waits for no answer, and can get one', async () => {
  await begin('LOST');
  // Made-up credentials that a merchant adds during the recovery are no account of the lost time.
  await addAccount('accountid 3001', 'NEXT', '', { addedAt: settledAt, check: 'REFUSED' });
  await read('walleta', completed);
  await step();
  expect(await shown()).toEqual(allRead);
  expect((await store().latest())?.accountsAcceptedBy).toBe('');
  const knowing = { ...accounts, despiteUnaccepted: true };
  expect(await store().accept(knowing, 'there were none', by)).toMatchObject({ ok: true });
});

test('the answer about accounts waits until the provider has accepted those that were added again, unless the operator insists', async () => {
  await addAccount('accountid 3001');
  await begin('LOST');
  const merchantId = await addMerchant();
  const isNew = { addedAt: settledAt, check: 'WAITING' };
  const added = await addAccount('accountid 3002', 'NEXT', merchantId, isNew);
  const accept = (despiteUnaccepted: boolean) =>
    store().accept({ type: 'accounts', despiteUnaccepted }, 'asked all merchants', by);

  expect(await accept(false)).toEqual({
    ok: false,
    error: { unaccepted: [{ merchantId, walletAccountId: added, wallet: 'walleta' }] },
  });
  expect(await accept(true)).toMatchObject({ ok: true, value: { accountsAcceptedBy: 'operator' } });
});

test('a merchant with accepted credentials and a wrong payee waits alone, until it removes the account', async () => {
  const merchant = await addMerchant();
  await begin('LOST');
  await read('walleta', completed);
  const wrong = await addAccount('accountid 3001', 'NEXT', merchant, { addedAt: settledAt });
  await step();
  await read('walleta/accountid 3001', { status: 'FAILED', detail: 'not your account' });
  await step();

  const failing = 'accountid 3001 | FAILING | not your account';
  expect(await shown()).toEqual({ ...allRead, unread: [failing] });
  expect(await held()).toEqual([merchant]);
  await removeAccount(wrong);
  await step();
  expect(await held()).toEqual([]);
});

test('an operator who has compared a wallet releases the merchants that wait for it', async () => {
  const merchant = await addMerchant();
  await removeAccount(await addAccount('accountid 3001', 'CURRENT', merchant));
  const id = await addAccount('accountid 3002', 'CURRENT', merchant);
  await begin('COMPLETE');
  await removeAccount(id);
  await read('walleta', completed);
  await step();
  expect(await held()).toEqual([merchant]);

  const subject = { type: 'wallet', environment: 'SANDBOX', wallet: 'walleta' } as const;
  expect(await store().accept(subject, 'compared', by)).toMatchObject({ ok: true });
  expect(await held()).toEqual([]);
  expect(await store().accept(subject, 'compared', by)).toEqual({ ok: false, error: 'not_waiting' });
});

test('a complete stream leaves no question about accounts', async () => {
  await begin('COMPLETE');
  expect(await store().accept(accounts, 'there were none', by)).toEqual({ ok: false, error: 'not_waiting' });
});

test('an account that only the stream names is waited for until its credentials are entered again', async () => {
  const merchant = await addMerchant();
  const kept = await addAccount('accountid 3001', 'CURRENT', merchant);
  const lost = v7({ msecs: lostFrom.getTime() });
  await begin('COMPLETE');
  const em = database.fork();
  const { id: recoveryId } = await em.findOneOrFail(RecoveryRow, { finishedAt: null });
  const change = {
    ...{ merchantId: merchant as StoredId<'mer'>, environment: 'SANDBOX' as const, wallet: 'walleta' },
    ...{ walletAccountId: lost as StoredId<'wac'>, payee: 'accountid 3002', changedAt: lostFrom },
  };
  const known = { ...change, walletAccountId: kept as StoredId<'wac'>, payee: 'accountid 3001' };
  const retired = { ...change, walletAccountId: null, payee: '' };
  for (let times = 0; times < 2; times += 1) await keepLostAccounts(em, recoveryId, [known, change, retired]);
  await read('walleta', completed);
  await read('walleta/accountid 3001', completed);
  await step();
  expect(await shown()).toEqual(allRead);
  expect(await held()).toEqual([merchant]);
  const missing = async () => (await store().latest())?.wallets[0]?.missingAccounts;
  expect(await missing()).toMatchObject([{ walletAccountId: lost, payee: 'accountid 3002' }]);

  await addAccount('accountid 3002', 'NEXT', merchant, { id: lost });
  expect(await step()).toEqual([`walleta | accountid 3002 | ${day} | recovery`]);
  expect(await missing()).toEqual([]);
  expect(await held()).toEqual([merchant]);
  await read('walleta/accountid 3002', completed);
  await step();
  expect(await held()).toEqual([]);
});

test('an account that is removed during the recovery holds its merchant, until it is added again', async () => {
  const merchant = await addMerchant();
  const id = await addAccount('accountid 3001', 'CURRENT', merchant);
  await begin('COMPLETE');
  await removeAccount(id);
  await read('walleta', completed);

  expect(await step()).toEqual([]);
  expect(await shown()).toEqual({ state: 'READ', obstacle: '', unread: ['accountid 3001 | REMOVED | '] });
  expect(await held()).toEqual([merchant]);
  await addAccount('accountid 3001');
  expect(await step()).toEqual([`walleta | accountid 3001 | ${day} | recovery`]);
  await read('walleta/accountid 3001', completed);
  await step();
  expect(await held()).toEqual([]);
});

test('the statement of an account that is added during the recovery is read when its credentials are accepted', async () => {
  await addAccount('accountid 3001');
  await begin('LOST');
  await read('walleta', completed);
  await read('walleta/accountid 3001', completed);
  const added = await addAccount('accountid 3002', 'NEXT', '', { addedAt: settledAt, check: 'WAITING' });

  expect(await step()).toEqual([]);
  expect((await shown()).unread).toEqual([]);
  await connection.query(sql`update core.wallet_accounts set check_result = 'ACCEPTED' where id = ${added}`);

  expect(await step()).toEqual([`walleta | accountid 3002 | ${day} | recovery`]);
});

test('an account that is added and removed during the recovery does not make a wallet wait', async () => {
  await begin('COMPLETE');
  await read('walleta', completed);
  const added = await addAccount('accountid 3001', 'NEXT', '', { addedAt: settledAt });
  expect(await step()).toEqual([`walleta | accountid 3001 | ${day} | recovery`]);
  await removeAccount(added);

  expect(await step()).toEqual([]);
  expect(await shown()).toEqual(allRead);
});

test('a statement that fails twice is shown with its error and its next reading, and is read again later', async () => {
  await addAccount('accountid 3001');
  await begin('COMPLETE');
  await read('walleta', completed);
  await read('walleta/accountid 3001', { status: 'WAITING', tries: 1, detail: 'a time-out' });

  expect(await step()).toEqual([]);
  expect((await shown()).unread).toEqual(['accountid 3001 | READING | ']);
  await connection.query("update core.reconciliations set tries = 2 where status = 'WAITING'");
  expect(await step()).toEqual([]);
  expect((await shown()).unread).toEqual(['accountid 3001 | FAILING | a time-out']);
  await connection.query(sql`update core.reconciliations set due_at = ${settledAt} where status = 'WAITING'`);
  expect((await store().latest())?.wallets[0]?.unread[0]?.nextReadAt).toEqual(settledAt);
  await connection.query(`update core.reconciliations set status = 'FAILED', due_at = null, detail = 'refused'
    where status = 'WAITING'`);
  expect(await step()).toEqual([`walleta | accountid 3001 | ${day} | recovery`]);
  expect((await shown()).unread).toEqual(['accountid 3001 | FAILING | refused']);
  expect((await store().latest())?.wallets[0]?.unread[0]?.nextReadAt).toBeUndefined();
  await read('walleta/accountid 3001', completed);
  await step();
  expect(await shown()).toEqual(allRead);
});

test('a wallet waits until the payees of all own accounts are recorded', async () => {
  const merchant = await addMerchant();
  const id = await addAccount(undefined, 'CURRENT', merchant);
  await begin('COMPLETE');
  await read('walleta', completed);

  expect(await step()).toEqual([]);
  expect(await shown()).toEqual({ state: 'WAITING', obstacle: '', unread: [] });
  await connection.query(sql`
    insert into core.payee_accounts values (${merchant}, ${id}, 'SANDBOX', 'walleta', 'accountid 3001')`);
  expect(await step()).toEqual([`walleta | accountid 3001 | ${day} | recovery`]);
});

test('a recorded last use in the future is corrected, as after a wrong clock', async () => {
  await connection.query(`
    update core.database_life set home = core.database_home(), seen_at = now() + interval '1 hour'`);
  const { step: recover } = recoverySteps({});

  await recover();
  await recover();

  // The column has milliseconds, so the recorded time may be half a millisecond ahead.
  const ahead = "select from core.database_life where seen_at > now() + interval '1 minute'";
  expect((await connection.query(ahead)).rowCount).toBe(0);
});

test('a wallet is not opened without reading a statement after a backup whose clock was ahead', async () => {
  await connection.query(`
    update core.database_life set home = 'another server', seen_at = now() + interval '2 days'`);
  const days: string[] = [];
  // Prompts of the lost time may still be confirmed.
  await recoverySteps({ days, settleMs: 3_600_000 }).step();
  const early = [...days];

  await recoverySteps({ days }).step();

  expect(early).toEqual([]);
  const { rows } = await connection.query<{ today: string; ordered: boolean }>(`
    select (lost_until at time zone 'UTC')::date::text as today, lost_from <= lost_until as ordered
    from core.recoveries`);
  expect(rows.map(({ ordered }) => ordered)).toEqual([true]);
  expect(days).toContain(rows[0]?.today);
  expect((await shown()).state).toBe('WAITING');
});

/** The database is a copy, which was last used two hours ago. Returns its mark. */
async function replaceByCopy(): Promise<string> {
  const { rows } = await connection.query<{ lineage: string }>(`update core.database_life
    set home = core.database_home(), seen_at = now() - interval '2 hours' returning lineage`);
  return rows[0]?.lineage ?? '';
}

async function recoveries() {
  const { rows } = await connection.query<{ cause: string; stream: string; is_whole: boolean }>(`
    select cause, stream, lost_until - lost_from > interval '1 hour' as is_whole from core.recoveries
    order by lost_until`);
  return rows;
}

test('a copy of the database is noticed although the broker answered late, its lost time begins with the last use, and nothing is relayed before', async () => {
  const lineage = await replaceByCopy();
  const lost = streamOf([eventOf(lineage, 1, new Date())]);
  let isReady = false;
  const { step: check, continuesStream } = recoverySteps({
    stream: {
      ...lost,
      read: (from, to) => (isReady ? lost.read(from, to) : Promise.reject(new Error('timeout'))),
    },
  });
  await check();
  await check();
  await expect(continuesStream()).rejects.toThrow('timeout');
  isReady = true;

  const mayRelay = await continuesStream();
  const before = await recoveries();
  await check();

  expect({ mayRelay, before }).toEqual({ mayRelay: false, before: [] });
  expect(await recoveries()).toMatchObject([{ cause: 'STREAM_AHEAD', is_whole: true }]);
  expect(await continuesStream()).toBe(true);
});

test('a database that is replaced by its copy while core runs is compared with the stream at once', async () => {
  const lineage = await replaceByCopy();
  const messages = [eventOf('another database', 1, new Date())];
  const { step: check } = recoverySteps({ stream: streamOf(messages) });
  await check();
  await check();
  messages.push(eventOf(lineage, 2, new Date()));
  await replaceByCopy();

  await check();

  expect(await recoveries()).toMatchObject([{ cause: 'STREAM_AHEAD', is_whole: true }]);
});

test('a database that loses events again during its recovery begins another one, and opens nothing before', async () => {
  const lineage = await replaceByCopy();
  const messages = [eventOf(lineage, 1, new Date(Date.now() - 60_000))];
  const { step: check } = recoverySteps({ stream: streamOf(messages) });
  await check();
  await check();
  const before = await recoveries();
  messages.push(eventOf(lineage, 2, new Date()));
  await connection.query("update core.recovery_wallets set state = 'ACCEPTED'");

  await check();

  expect(before).toMatchObject([{ cause: 'STREAM_AHEAD' }]);
  const { rows } = await connection.query<{ lost: string; closed: string[] }>(`
    select (lost_until - lost_from > interval '1 hour')::text as lost, closed::text[] as closed
    from core.recoveries where finished_at is null`);
  expect(rows).toEqual([{ lost: 'true', closed: ['SANDBOX', 'PRODUCTION'] }]);
  expect(await recoveries()).toHaveLength(2);
});

test('orders that cannot be rebuilt are accepted only after the events were read, because these may contradict more orders', async () => {
  await begin('WAITING');
  await connection.query('update core.recoveries set conflicting_orders = 1');
  const accept = () => store().accept({ type: 'conflicts' }, 'resolved with the shop', by);

  const early = await accept();
  await connection.query("update core.recoveries set stream = 'COMPLETE'");

  expect(early).toEqual({ ok: false, error: 'not_waiting' });
  expect(await accept()).toMatchObject({ ok: true, value: { conflictsAcceptedBy: 'operator' } });
});

test('an order that an operator has resolved is no conflict of the next recovery, and with a later event it is one again', async () => {
  const lineage = await replaceByCopy();
  const order = {
    merchantId: publicId('mer', (await addMerchant()) as StoredId<'mer'>),
    orderId: newRandomId('ord', new Date()),
    environment: Environment.SANDBOX,
  };
  const messages: StoredMessage[] = [];
  const recover = async (stream: StoredStream) => {
    await connection.query("update core.database_life set home = 'another server'");
    await recoverySteps({ stream }).step();
  };
  const lose = async () => {
    messages.push(eventOf(lineage, messages.length + 1, new Date(), undefined, undefined, { order }));
    await recover(streamOf(messages));
  };
  const conflicts = async () => (await store().latest())?.conflictingOrders;
  await lose();
  const first = await conflicts();
  // Another recovery replaces this one, and the stream has lost the events.
  await recover(streamOf([]));
  const replaced = await conflicts();
  await recover(streamOf(messages));
  await store().accept({ type: 'conflicts' }, 'resolved with the shop', by);
  await connection.query("update core.recovery_wallets set state = 'ACCEPTED'");
  const claimed: [string, boolean | undefined][] = [];
  await recoverySteps({ stream: streamOf(messages), claimed }).step();
  const finished = (await store().latest())?.finishedAt;
  await recover(streamOf(messages));
  const second = await conflicts();

  await lose();

  expect(finished).toBeInstanceOf(Date);
  expect(claimed).toEqual([
    ['SANDBOX', false],
    ['PRODUCTION', false],
  ]);
  expect([first, replaced, second, await conflicts()]).toEqual([1, 1, 0, 1]);
});

test.each([
  ['every message', false, [1, 2, 3]],
  ['no message from before a new database', true, [3]],
])('%s is read, once, until the stream is made again', async (_name, isNewDatabase, expected) => {
  const messages = [1, 2].map((number) => eventOf('another database', number, new Date()));
  const numbers: number[] = [];
  const other = streamOf(messages);
  const stream = {
    ...other,
    created: other.created,
    get range() {
      return other.range;
    },
    async read(from: number, to: number) {
      const read = await other.read(from, to);
      numbers.push(...read.map(({ number }) => number));
      return read;
    },
  };
  const { continuesStream } = recoverySteps({ stream, isNewDatabase });
  await continuesStream();
  messages.push(eventOf('another database', 3, new Date()));
  await continuesStream();
  await continuesStream();
  expect(numbers.splice(0).toSorted()).toEqual(expected);

  stream.created = 'later';
  expect(await continuesStream()).toBe(true);
  expect(numbers.toSorted()).toEqual([1, 2, 3]);
});

test('a core whose broker cannot read events notices that the database is on another server, and counts the stream as lost', async () => {
  await connection.query("update core.database_life set home = 'another server'");
  const stream = { ...streamOf([eventOf('', 1, new Date())]), read: () => Promise.reject(new Error('503')) };

  await recoverySteps({ stream })
    .step()
    .catch(() => undefined);

  expect(await recoveries()).toMatchObject([{ cause: 'NEW_HOME' }]);
});
