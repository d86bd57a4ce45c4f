import { create } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  CheckFinding,
  CheckSubject,
  DatabaseFactsSchema,
  DatabasePoolFactsSchema,
  EventRelayFactsSchema,
  ReconciliationFactsSchema,
  StrayPaymentFactsSchema,
  UnsettledFactsSchema,
  WalletAccountsFactsSchema,
  WalletsFactsSchema,
} from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Check } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import pTimeout from 'p-timeout';
import type { ClientBase, Pool } from 'pg';
import type { Database } from '../database/database.ts';
import { walletsMissing } from '../payments/work-without-wallet.sql.ts';
import type { WalletEnvironments } from '../payments/work-without-wallet.sql.ts';
import { readUnsettled } from '../payments/settlements/unsettled.sql.ts';
import { readRelayLag } from '../events/relay-lag.ts';
import { askNewConnection } from '../../platform/database/ask-new-connection.ts';
import type { EventBus } from '../../platform/nats/nats-event-bus.ts';
import { toleratedSilenceMs } from '../../platform/database/pool-watch.ts';
import type { PoolState } from '../../platform/database/pool-watch.ts';
import { isTableMissing, whatToDo } from '../../platform/database/explain-error.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { areSessionsShared, sharedSessionsRefusal } from '../../platform/database/shared-sessions.ts';
import type { Environment } from '../domain/order.ts';
import { environmentNumbers } from '../rpc/environment.ts';
import { checkMoney } from './check-money.ts';
import { checkOrderHistories } from './check-order-histories.ts';
import { checkRecovery } from './check-recovery.ts';
import { failedCheck, goodCheck, warningCheck } from './check-outcome.ts';

export interface UnreadableWalletAccount {
  readonly merchantId: string;
  readonly accountId: string;
  readonly wallet: string;
  readonly environment: Environment;
  readonly keyName: string;
}

export interface ChecksParts {
  readonly database: Database;
  readonly broker: Pick<EventBus, 'isConnected' | 'isAnswering' | 'requireStore'>;
  /** Whether the database was used with this core's master key. */
  readonly hasMasterKey: () => Promise<boolean>;
  /** The merchants' own wallet accounts that this core cannot decrypt, the oldest first. */
  readonly unreadableAccounts: () => Promise<readonly UnreadableWalletAccount[]>;
  /** The wallets in the file of wallets. */
  readonly configuredWallets: readonly WalletEnvironments[];
  /** The stream whose relay is checked. */
  readonly stream: string;
  readonly now: () => Date;
}

/** The operator waits no longer than this for one check. */
const checkTimeoutMs = 3_000;
const toleratedClockSkewMs = 2_000;
const toleratedRelayLagMs = 10_000;

/** Checks everything that core depends on. Never rejects, because a check that fails is an outcome too. */
export function runChecks(parts: ChecksParts): Promise<Check[]> {
  // Read first: the queries of the other checks would count as waiting.
  const pool = checkPool(parts.database.poolWatch.state());
  return Promise.all([
    runWithin(CheckSubject.DATABASE, () => checkDatabase(parts)),
    Promise.resolve(pool),
    runWithin(CheckSubject.MIGRATIONS, () => checkMigrations(parts)),
    runWithin(CheckSubject.MASTER_KEY, () => checkMasterKey(parts)),
    runWithin(CheckSubject.RECOVERY, () => checkRecovery(parts.database)),
    runWithin(CheckSubject.CLOCK, () => checkClock(parts)),
    runWithin(CheckSubject.EVENT_ORDER, () => checkEventOrder(parts)),
    // A slow or unavailable database is no proof that orders and events disagree.
    runWithin(CheckSubject.ORDER_HISTORIES, () => checkOrderHistories(parts.database), warningCheck),
    runWithin(CheckSubject.MONEY, () => checkMoney(parts.database), warningCheck),
    runWithin(CheckSubject.EVENT_RELAY, () => checkRelay(parts)),
    runWithin(CheckSubject.STRAY_PAYMENTS, () => checkStrayPayments(parts)),
    runWithin(CheckSubject.UNSETTLED, () => checkUnsettled(parts)),
    runWithin(CheckSubject.WALLETS, () => checkWallets(parts), warningCheck),
    runWithin(CheckSubject.WALLET_ACCOUNTS, () => checkWalletAccounts(parts), warningCheck),
    runWithin(CheckSubject.RECONCILIATION, () => checkReconciliations(parts)),
    checkBroker(parts),
  ]);
}

async function runWithin(
  subject: CheckSubject,
  check: () => Promise<Check>,
  unchecked = failedCheck,
): Promise<Check> {
  const late = (): Check => noAnswer(subject, unchecked);
  try {
    return await pTimeout(check(), { milliseconds: checkTimeoutMs, fallback: late });
  } catch (error) {
    return unchecked(subject, CheckFinding.ERROR, { facts: { case: 'error', value: errorText(error) } });
  }
}

const noAnswer = (subject: CheckSubject, unchecked: typeof failedCheck): Check =>
  unchecked(subject, CheckFinding.NO_ANSWER, {
    facts: { case: 'waited', value: durationFromMs(checkTimeoutMs) },
  });

/** The database check says what to do about a missing table. */
function errorText(error: unknown): string {
  if (isTableMissing(error)) return 'a table of Gatehouse is missing in this database';
  return whatToDo(error, error instanceof Error ? error.message : 'the check failed', 'core');
}

interface DatabaseSettings {
  readonly version: string;
  readonly fsync: string;
  readonly commit: string;
  readonly standby: boolean;
  /** Writes are refused. */
  readonly readonly: string;
  /** Statements of Gatehouse have waited for seconds. */
  readonly waiting: boolean;
  /** A failed statement, or the row that it concerns, would be in PostgreSQL's log. */
  readonly logsValues: boolean;
  /** The database has no tables of Gatehouse, such as after it was dropped and created again while core runs. */
  readonly empty: boolean;
  /** The session lacks the settings that core requests when it connects. */
  readonly unset: boolean;
}

async function readSettings(client: Pool | ClientBase): Promise<DatabaseSettings> {
  const [row] = await runStatement<DatabaseSettings>(client, {
    text: `
select current_setting('server_version') as version, current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as commit, pg_is_in_recovery() as standby,
  current_setting('transaction_read_only') as readonly,
  exists (
    select from pg_stat_activity
    where datname = current_database() and wait_event in ('relation', 'tuple', 'transactionid', 'SyncRep')
      and clock_timestamp() - query_start > interval '2 seconds'
  ) as waiting,
  to_regclass('core.orders') is null as empty,
  current_setting('DateStyle') not like 'ISO%' or current_setting('statement_timeout') = '0' as unset,
  current_setting('log_min_error_statement') not in ('log', 'fatal', 'panic')
    or current_setting('log_error_verbosity') <> 'terse' as "logsValues"`,
  });
  if (row === undefined) throw new Error('the database returned no row');
  return row;
}

async function checkDatabase({ database }: ChecksParts): Promise<Check> {
  const fromPool = readSettings(database.pool);
  const fromNewConnection = askNewConnection(database.pool, readSettings);
  // While all connections of the pool wait for a lock, only a new one can say so.
  const fromWaiting = fromNewConnection.then(
    (settings) => (settings?.waiting === true ? settings : fromPool),
    () => fromPool,
  );
  const row = await Promise.race([fromPool, fromWaiting]);
  if (row.empty)
    throw new Error(
      'this database has no tables of Gatehouse. If GATEHOUSE_DATABASE_URL names the right one, its data is lost: ' +
        'stop Gatehouse and restore a backup (docs/operating/backup.md)',
    );
  if (row.unset)
    throw new Error(
      'the sessions lack the settings that Gatehouse asks for. A pooler such as PgBouncer ignores them: ' +
        'connect without it, or set them for the role (docs/scaling.md#connections-to-postgresql)',
    );
  const { version, fsync, commit } = row;
  const value = create(DatabaseFactsSchema, { version, fsync, synchronousCommit: commit });
  const facts = { facts: { case: 'database', value } } as const;
  if (row.waiting) return failedCheck(CheckSubject.DATABASE, CheckFinding.WAITING, facts);
  await fromNewConnection;
  if (await areSessionsShared(database.pool)) throw new Error(sharedSessionsRefusal);
  const { diskFull } = database.poolWatch.state();
  if (diskFull !== undefined)
    throw new Error(
      `writes failed in the last minute, because the disk of PostgreSQL was full: ${diskFull}. Free space on it, and check again a minute later`,
    );
  if (row.standby) return failedCheck(CheckSubject.DATABASE, CheckFinding.STANDBY, facts);
  if (row.readonly === 'on') return failedCheck(CheckSubject.DATABASE, CheckFinding.READ_ONLY, facts);
  if (fsync !== 'on' || commit === 'off')
    return failedCheck(CheckSubject.DATABASE, CheckFinding.NOT_DURABLE, facts);
  if (row.logsValues) return warningCheck(CheckSubject.DATABASE, CheckFinding.LOGS_VALUES, facts);
  return goodCheck(CheckSubject.DATABASE, facts);
}

/** Reads the counters of the pool, so it needs no connection to the database. */
export function checkPool({ size, inUse, idle, ended, waiting, sinceGivenMs }: PoolState): Check {
  const silence = durationFromMs(Math.round(sinceGivenMs));
  const value = create(DatabasePoolFactsSchema, { size, inUse, idle, ended, waiting, silence });
  const facts = { facts: { case: 'databasePool', value } } as const;
  if (ended > 0) return failedCheck(CheckSubject.DATABASE_POOL, CheckFinding.ENDED_CONNECTIONS, facts);
  return sinceGivenMs < toleratedSilenceMs
    ? goodCheck(CheckSubject.DATABASE_POOL, facts)
    : failedCheck(CheckSubject.DATABASE_POOL, CheckFinding.STARVED, facts);
}

async function checkMigrations({ database }: ChecksParts): Promise<Check> {
  const pendingMigrations = await database.pendingMigrations();
  return pendingMigrations.length === 0
    ? goodCheck(CheckSubject.MIGRATIONS)
    : failedCheck(CheckSubject.MIGRATIONS, CheckFinding.PENDING, { pendingMigrations });
}

const checkMasterKey = async ({ hasMasterKey }: ChecksParts): Promise<Check> =>
  (await hasMasterKey())
    ? goodCheck(CheckSubject.MASTER_KEY)
    : failedCheck(CheckSubject.MASTER_KEY, CheckFinding.FOREIGN_KEY);

/** The database read its clock between the query and the answer. Only a time outside of that interval is a difference. */
async function checkClock({ database, now }: ChecksParts): Promise<Check> {
  const requestedAtMs = now().getTime();
  const [row] = await runStatement<{ now: Date }>(database.pool, { text: 'select clock_timestamp() as now' });
  const answeredAtMs = now().getTime();
  if (row === undefined) throw new Error('the database did not return its time');
  const readAtMs = row.now.getTime();
  const skewMs = Math.max(readAtMs - answeredAtMs, 0) + Math.min(readAtMs - requestedAtMs, 0);
  const facts = { facts: { case: 'clockSkew', value: durationFromMs(skewMs) } } as const;
  return Math.abs(skewMs) <= toleratedClockSkewMs
    ? goodCheck(CheckSubject.CLOCK, facts)
    : warningCheck(CheckSubject.CLOCK, CheckFinding.SKEWED, facts);
}

/** A dump restored into a new server brings transaction ids that this server has not reached yet (docs/adr/0004). */
async function checkEventOrder({ database }: ChecksParts): Promise<Check> {
  const [row] = await runStatement<{ ahead: boolean }>(database.pool, {
    text: 'select coalesce(max(xid) >= pg_snapshot_xmax(pg_current_snapshot()), false) as ahead from core.order_events',
  });
  return row?.ahead === true
    ? failedCheck(CheckSubject.EVENT_ORDER, CheckFinding.FOREIGN_EVENTS)
    : goodCheck(CheckSubject.EVENT_ORDER);
}

async function checkRelay({ database, stream }: ChecksParts): Promise<Check> {
  const { waiting, lagMs } = await readRelayLag(database, stream);
  const lag = durationFromMs(Math.round(lagMs));
  const value = create(EventRelayFactsSchema, { waitingCount: BigInt(waiting), lag });
  const facts = { facts: { case: 'eventRelay', value } } as const;
  return lagMs <= toleratedRelayLagMs
    ? goodCheck(CheckSubject.EVENT_RELAY, facts)
    : warningCheck(CheckSubject.EVENT_RELAY, CheckFinding.LATE, facts);
}

async function checkStrayPayments({ database }: ChecksParts): Promise<Check> {
  const [row] = await runStatement<{ refused: string; due: string; held: string }>(database.pool, {
    text: `
select count(*) filter (where s.status = 'REVERSAL_REFUSED')::text as refused,
  count(*) filter (where s.status = 'REVERSAL_DUE')::text as due,
  count(distinct o.id)::text as held
from core.stray_payments s
left join core.orders o
  on o.merchant_id = s.merchant_id and o.environment = s.environment and o.id = s.order_id and o.status = 'PENDING'
where s.status <> 'REVERSED'`,
  });
  const value = create(StrayPaymentFactsSchema, {
    refusedCount: BigInt(row?.refused ?? 0),
    dueCount: BigInt(row?.due ?? 0),
    heldOrderCount: BigInt(row?.held ?? 0),
  });
  const facts = { facts: { case: 'strayPayments', value } } as const;
  return value.refusedCount === 0n
    ? goodCheck(CheckSubject.STRAY_PAYMENTS, facts)
    : warningCheck(CheckSubject.STRAY_PAYMENTS, CheckFinding.REFUSED, facts);
}

/** The number of unsettled payments, stray payments and refunds that the check names. */
const namedUnsettled = 10;

async function checkUnsettled({ database }: ChecksParts): Promise<Check> {
  const { items, counts } = await readUnsettled(database.pool, {
    merchantId: undefined,
    limit: namedUnsettled,
  });
  const [oldest] = items;
  const value = create(UnsettledFactsSchema, {
    paymentAttemptCount: counts.attempt,
    strayPaymentCount: counts.stray,
    refundCount: counts.refund,
    ids: items.map(({ id }) => id),
    ...(oldest === undefined ? {} : { oldestTime: timestampFromDate(oldest.since) }),
  });
  const facts = { facts: { case: 'unsettled', value } } as const;
  return oldest === undefined
    ? goodCheck(CheckSubject.UNSETTLED, facts)
    : warningCheck(CheckSubject.UNSETTLED, CheckFinding.WAITING_FOR_PERSON, facts);
}

async function checkWallets({ database, configuredWallets }: ChecksParts): Promise<Check> {
  const missing = await walletsMissing(database.pool, configuredWallets);
  const value = create(WalletsFactsSchema, {
    missing: missing.map(({ wallet, environment }) => ({
      wallet,
      environment: environmentNumbers[environment],
    })),
  });
  const facts = { facts: { case: 'wallets', value } } as const;
  return missing.length === 0
    ? goodCheck(CheckSubject.WALLETS, facts)
    : failedCheck(CheckSubject.WALLETS, CheckFinding.WALLETS_MISSING, facts);
}

/** The number of unreadable accounts that the check names. */
const namedAccounts = 10;

async function checkWalletAccounts({ unreadableAccounts }: ChecksParts): Promise<Check> {
  const unreadable = await unreadableAccounts();
  const value = create(WalletAccountsFactsSchema, {
    unreadableCount: BigInt(unreadable.length),
    unreadable: unreadable.slice(0, namedAccounts).map(({ accountId, environment, ...account }) => ({
      ...account,
      walletAccountId: accountId,
      environment: environmentNumbers[environment],
    })),
  });
  const facts = { facts: { case: 'walletAccounts', value } } as const;
  return unreadable.length === 0
    ? goodCheck(CheckSubject.WALLET_ACCOUNTS, facts)
    : failedCheck(CheckSubject.WALLET_ACCOUNTS, CheckFinding.ACCOUNTS_UNREADABLE, facts);
}

/** Only reconciliations of the last week. Operators have seen older ones, or no longer act on them. */
async function checkReconciliations({ database }: ChecksParts): Promise<Check> {
  const [row] = await runStatement<{ differing: string; failed: string; late: string; done: string }>(
    database.pool,
    {
      text: `
with recent as (
  select wallet, environment, day, id, status, differences, created_at from core.reconciliations
  where created_at > now() - interval '7 days'
    -- A running day is compared before the wallet has written everything.
    and not (started_by = 'core' and day >= (now() at time zone 'UTC')::date)
),
latest as (select distinct on (wallet, environment, day) * from recent order by wallet, environment, day, id desc),
-- A new comparison of the day, which may wait for the wallet for hours, does not settle what the last one found.
compared as (
  select distinct on (wallet, environment, day) differences from recent where status = 'COMPLETED'
  order by wallet, environment, day, id desc
)
select (select count(*) filter (where differences > 0) from compared)::text as differing,
  count(*) filter (where status = 'FAILED')::text as failed,
  count(*) filter (where status in ('WAITING', 'RUNNING') and created_at < now() - interval '1 hour')::text as late,
  (select count(*) from compared)::text as done
from latest`,
    },
  );
  const value = create(ReconciliationFactsSchema, {
    completedCount: BigInt(row?.done ?? 0),
    differingCount: BigInt(row?.differing ?? 0),
    failedCount: BigInt(row?.failed ?? 0),
    lateCount: BigInt(row?.late ?? 0),
  });
  const facts = { facts: { case: 'reconciliations', value } } as const;
  return value.differingCount + value.failedCount + value.lateCount === 0n
    ? goodCheck(CheckSubject.RECONCILIATION, facts)
    : warningCheck(CheckSubject.RECONCILIATION, CheckFinding.UNSETTLED, facts);
}

async function checkBroker({ broker }: ChecksParts): Promise<Check> {
  if (!broker.isConnected()) return warningCheck(CheckSubject.BROKER, CheckFinding.DISCONNECTED);
  const [isAnswering, store] = await Promise.all([
    broker.isAnswering(checkTimeoutMs),
    runWithin(CheckSubject.BROKER, async () => {
      await broker.requireStore();
      return goodCheck(CheckSubject.BROKER);
    }),
  ]);
  return isAnswering ? store : noAnswer(CheckSubject.BROKER, warningCheck);
}
