import type { Database } from '../database/database.ts';
import { readRelayLag } from '../events/relay-lag.ts';
import { toleratedSilenceMs } from '../../platform/database/pool-watch.ts';
import type { PoolState } from '../../platform/database/pool-watch.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { checkOrderHistories } from './check-order-histories.ts';
import { failed, good, warning } from './check-outcome.ts';
import type { CheckOutcome } from './check-outcome.ts';

export interface ChecksParts {
  readonly database: Database;
  readonly isBrokerConnected: () => boolean;
  /** The stream whose relay is looked at. */
  readonly stream: string;
  readonly now: () => Date;
}

/** A check that hangs says so after this long instead of making the operator wait. */
const checkTimeoutMs = 3_000;
const toleratedClockSkewMs = 2_000;
const toleratedRelayLagMs = 10_000;

/** Looks at everything the core depends on. Never throws: a check that cannot be made is no good outcome either. */
export function runChecks(parts: ChecksParts): Promise<CheckOutcome[]> {
  return Promise.all([
    within(
      'database',
      () => checkDatabase(parts),
      'check GATEHOUSE_DATABASE_URL and that PostgreSQL is running',
    ),
    Promise.resolve(checkPool(parts.database.poolWatch.state())),
    within('migrations', () => checkMigrations(parts), 'fix the database first'),
    within('clock', () => checkClock(parts), 'fix the database first'),
    within('event order', () => checkEventOrder(parts), 'fix the database first'),
    // That orders and events differ is an accusation: not to be made because the database is slow or away.
    within('order histories', () => checkOrderHistories(parts.database), 'look at the database', warning),
    within('event relay', () => checkRelay(parts), 'fix the database first'),
    within('stray payments', () => checkStrayPayments(parts), 'fix the database first'),
    within('reconciliation', () => checkReconciliations(parts), 'fix the database first'),
    Promise.resolve(checkBroker(parts)),
  ]);
}

async function within(
  name: string,
  check: () => Promise<CheckOutcome>,
  advice: string,
  unchecked = failed,
): Promise<CheckOutcome> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<CheckOutcome>((resolve) => {
    timer = setTimeout(
      () => resolve(unchecked(name, `no answer within ${checkTimeoutMs / 1000} seconds`, advice)),
      checkTimeoutMs,
    );
  });
  try {
    return await Promise.race([check(), late]);
  } catch (error) {
    return unchecked(name, error instanceof Error ? error.message : 'it failed', advice);
  } finally {
    clearTimeout(timer);
  }
}

async function checkDatabase({ database }: ChecksParts): Promise<CheckOutcome> {
  const rows = await runStatement<{ version: string; fsync: string; commit: string; readonly: boolean }>(
    database.pool,
    {
      text: `
select current_setting('server_version') as version, current_setting('fsync') as fsync,
  current_setting('synchronous_commit') as commit, pg_is_in_recovery() as readonly`,
    },
  );
  const [row] = rows;
  if (row === undefined) return failed('database', 'it answered nothing', 'check GATEHOUSE_DATABASE_URL');
  if (row.readonly)
    return failed(
      'database',
      'this is a standby, which takes no orders',
      'point GATEHOUSE_DATABASE_URL at the primary',
    );
  if (row.fsync !== 'on' || row.commit === 'off') {
    const seen = `fsync is ${row.fsync}, synchronous_commit is ${row.commit}: acknowledged orders can be lost in a crash`;
    return failed('database', seen, 'turn both on in postgresql.conf');
  }
  return good('database', `PostgreSQL ${row.version} answers, fsync on`);
}

/** Asks the pool and not the database, so that it can be answered when there is no connection left. */
export function checkPool({ size, inUse, idle, ended, waiting, sinceGivenMs }: PoolState): CheckOutcome {
  const name = 'database pool';
  const seen = `connections: ${size} at most, ${inUse} in use, ${idle} idle, ${ended} ended; requests waiting: ${waiting}`;
  if (ended > 0)
    return failed(
      name,
      `connections that ended are still counted: ${seen}`,
      'restart this process if that stays, and report it as a defect of Gatehouse',
    );
  if (sinceGivenMs < toleratedSilenceMs) return good(name, seen);
  return failed(
    name,
    `it has given no connection for ${Math.round(sinceGivenMs / 1000)} s: ${seen}`,
    'check that PostgreSQL is running and reachable at GATEHOUSE_DATABASE_URL. If it is, look in pg_stat_activity for ' +
      'statements of this process that wait; the pool recovers without a restart',
  );
}

async function checkMigrations({ database }: ChecksParts): Promise<CheckOutcome> {
  const pending = await database.pendingMigrations();
  if (pending.length === 0) return good('migrations', 'the schema is up to date');
  return failed(
    'migrations',
    `not applied: ${pending.join(', ')}`,
    'restart a core; it applies them when it starts',
  );
}

async function checkClock({ database, now }: ChecksParts): Promise<CheckOutcome> {
  const askedAt = now().getTime();
  const rows = await runStatement<{ now: Date }>(database.pool, { text: 'select clock_timestamp() as now' });
  const between = (askedAt + now().getTime()) / 2;
  const skewMs = Math.round((rows[0]?.now.getTime() ?? between) - between);
  const seen = `the database's clock is ${Math.abs(skewMs)} ms ${skewMs < 0 ? 'behind' : 'ahead of'} this core's`;
  if (Math.abs(skewMs) <= toleratedClockSkewMs) return good('clock', seen);
  return warning('clock', seen, 'synchronise both machines with NTP: orders go by the database, logs do not');
}

/** A dump restored into a new server brings transaction ids that this server has not reached yet (docs/adr/0004). */
async function checkEventOrder({ database }: ChecksParts): Promise<CheckOutcome> {
  const [row] = await runStatement<{ ahead: boolean }>(database.pool, {
    text: 'select coalesce(max(xid) >= pg_snapshot_xmax(pg_current_snapshot()), false) as ahead from core.order_events',
  });
  if (row?.ahead !== true) return good('event order', 'every event belongs to a transaction of this server');
  const advice =
    "stop all cores and run: begin; alter table core.order_events disable trigger append_only; update core.order_events set xid = '1'; " +
    'alter table core.order_events enable trigger append_only; delete from core.event_relay; commit';
  return failed('event order', 'events were restored from another server and are not published', advice);
}

async function checkRelay({ database, stream, now }: ChecksParts): Promise<CheckOutcome> {
  const { waiting, oldestAt } = await readRelayLag(database, stream);
  const lagMs = oldestAt === undefined ? 0 : now().getTime() - oldestAt.getTime();
  const seen =
    waiting === 0
      ? 'every event has been published'
      : `${waiting} events wait, the oldest for ${Math.round(lagMs / 1000)} s`;
  if (lagMs <= toleratedRelayLagMs) return good('event relay', seen);
  const advice =
    'check the broker; if it is well, look for a transaction left open in pg_stat_activity. Nothing is lost meanwhile';
  return warning('event relay', seen, advice);
}

async function checkStrayPayments({ database }: ChecksParts): Promise<CheckOutcome> {
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
  const refused = Number(row?.refused ?? 0);
  const held = Number(row?.held ?? 0);
  const onTheWay =
    `${row?.due ?? 0} on the way back to payers` +
    (held === 0 ? '' : `; ${held} open orders take no payment until the money is back`);
  if (refused === 0) return good('stray payments', `none that a wallet will not give back, ${onTheWay}`);
  const advice =
    'settle each with the wallet, and have it asked again:\ngatehouse payment strays --status reversal_refused\ngatehouse payment retry-reversal <merchant_id> <stray_payment_id>';
  return warning('stray payments', `${refused} that a wallet will not give back, ${onTheWay}`, advice);
}

/** The last week: older ones were seen, or will not be. */
async function checkReconciliations({ database, now }: ChecksParts): Promise<CheckOutcome> {
  const [row] = await runStatement<{ differing: string; failed: string; late: string; done: string }>(
    database.pool,
    {
      text: `
select count(*) filter (where status = 'COMPLETED' and differences > 0)::text as differing,
  count(*) filter (where status = 'FAILED')::text as failed,
  count(*) filter (where status in ('WAITING', 'RUNNING') and created_at < $1::timestamptz - interval '1 hour')::text as late,
  count(*) filter (where status = 'COMPLETED')::text as done
from (
  select distinct on (wallet, environment, day) status, differences, created_at from core.reconciliations
  where created_at > $1::timestamptz - interval '7 days' order by wallet, environment, day, id desc
) latest`,
      values: [now()],
    },
  );
  const count = (name: 'differing' | 'failed' | 'late' | 'done'): number => Number(row?.[name] ?? 0);
  const problems = [
    ...(count('differing') > 0 ? [`${count('differing')} with differences`] : []),
    ...(count('failed') > 0 ? [`${count('failed')} whose statement could not be read`] : []),
    ...(count('late') > 0 ? [`${count('late')} waiting for more than an hour`] : []),
  ];
  if (problems.length === 0)
    return good('reconciliation', `${count('done')} in the last 7 days, without differences`);
  const advice =
    'those that wait need the wallets process of that wallet. See them:\ngatehouse reconcile list\ngatehouse reconcile show <reconciliation_id>';
  return warning('reconciliation', `in the last 7 days: ${problems.join(', ')}`, advice);
}

function checkBroker({ isBrokerConnected }: ChecksParts): CheckOutcome {
  if (isBrokerConnected()) return good('broker', 'connected to NATS');
  const advice =
    'check GATEHOUSE_NATS_URL and that nats-server runs with JetStream; payments go on, events come late';
  return warning('broker', 'not connected to NATS', advice);
}
