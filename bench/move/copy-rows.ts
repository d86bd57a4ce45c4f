import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { columnsOf } from '../system/columns.ts';
import { isNotParked, merchantColumn, merchantIn, movedTables, notParked, parked } from './moved-tables.ts';
import type { MovedTable } from './moved-tables.ts';

/**
 * The transaction id of copied events. No transaction of a Gatehouse ever had it, because a new server uses it for its own tables. Readers
 * of the target are behind it, so they publish, seal, count and deliver nothing of the history.
 */
export const copiedXid = '1';

/**
 * One transaction copies so many rows. A longer one would hold back the events of all orders in the target, because readers wait for
 * the oldest transaction that writes.
 */
const rowsAtOnce = 1_000;
/** The pause before rows that another transaction has locked are tried again. */
const lockedMs = 5;

export interface Databases {
  readonly source: pg.PoolClient;
  readonly target: pg.PoolClient;
}

/** The keys of the rows to copy, by table. */
type Keys = ReadonlyMap<string, readonly string[]>;

export interface Round {
  /** The source's snapshot. Every change that it shows is in the target. */
  readonly snapshot: string;
  readonly rows: number;
  readonly tookMs: number;
  readonly differing: readonly string[];
}

/** The rows whose digests are computed. */
type Compared = 'nothing' | 'copied rows' | 'all rows';

/**
 * Copies the rows of a merchant that changed after a snapshot of the source, or all rows, in one new snapshot. Then compares counts and
 * digests of both databases in the same snapshot.
 */
export async function copyRound(
  { source, target }: Databases,
  merchantId: string,
  since: string | null,
  compared: Compared,
): Promise<Round> {
  const begunMs = performance.now();
  await source.query('begin transaction isolation level repeatable read read only');
  try {
    const { rows: snapshots } = await source.query<{ snapshot: string; ended: string }>(
      `select pg_current_snapshot()::text as snapshot, (now() + interval '1 minute')::text as ended`,
    );
    const { snapshot = '', ended = '' } = snapshots[0] ?? {};
    const keys = since === null ? undefined : await changedKeys(source, merchantId, since);
    const scope = { merchantId, ended };
    let rows = 0;
    for (const table of movedTables) {
      const condition = conditionOf(table, scope, keys);
      if (condition !== undefined) rows += await copyTable({ source, target }, table, condition);
    }
    const differing: string[] = [];
    if (compared !== 'nothing')
      for (const table of movedTables) {
        const condition = conditionOf(table, scope, compared === 'all rows' ? undefined : keys);
        if (condition === undefined) continue;
        const [here, there] = await Promise.all(
          [source, target].map((client) => digestOf(client, table, condition)),
        );
        if (here !== there) differing.push(`${table.name}: ${here} in the source, ${there} in the target`);
      }
    return { snapshot, rows, tookMs: performance.now() - begunMs, differing };
  } finally {
    await source.query('rollback');
  }
}

/** The keys of the rows that changed after a snapshot. A change of a transaction that ran at its time counts. */
async function changedKeys(source: pg.ClientBase, merchantId: string, since: string): Promise<Keys> {
  const { rows } = await source.query<{ relation: string; keys: string[] }>(
    `select relation, array_agg(distinct key) as keys from move.changes
     where merchant_id = $1 and xid >= pg_snapshot_xmin($2::pg_snapshot) and not pg_visible_in_snapshot(xid, $2::pg_snapshot)
     group by relation`,
    [merchantId, since],
  );
  return new Map(rows.map(({ relation, keys }) => [relation, keys]));
}

interface Scope {
  readonly merchantId: string;
  /** Rows that end before this time are left out: a sweep may delete them at any moment. */
  readonly ended: string;
}

/** Undefined when no row was changed. */
function conditionOf(
  table: MovedTable,
  { merchantId, ended }: Scope,
  keys: Keys | undefined,
): string | undefined {
  const owned = `t.${merchantColumn(table)} = ${pg.escapeLiteral(merchantIn(table, merchantId))}`;
  const merchant = table.end === undefined ? owned : `${owned} and t.${table.end} > timestamptz '${ended}'`;
  if (keys === undefined || table.key === undefined) return merchant;
  const changed = keys.get(table.name);
  if (changed === undefined) return undefined;
  const list = pg.escapeLiteral(JSON.stringify(changed));
  return `${merchant} and t.${table.key.column} = any (
    select value::${table.key.type} from jsonb_array_elements_text(${list}::jsonb) value)`;
}

async function copyTable(
  { source, target }: Databases,
  table: MovedTable,
  condition: string,
): Promise<number> {
  const insert = await insertingStatement(target, table);
  // A row of these tables may have been deleted in the source.
  if (table.key === undefined) await target.query(`delete from ${table.name} t where ${condition}`);
  // The positions in the target follow those in the source.
  const order = table.name === 'core.order_events' ? 'order by t.xid, t.position' : '';
  await source.query(
    `declare moved_rows no scroll cursor for select t::text as line from ${table.name} t where ${condition} ${order}`,
  );
  let copied = 0;
  for (;;) {
    const { rows } = await source.query<{ line: string }>(`fetch ${rowsAtOnce} from moved_rows`);
    if (rows.length > 0) await target.query(insert, [rows.map(({ line }) => line)]);
    copied += rows.length;
    if (rows.length < rowsAtOnce) break;
  }
  await source.query('close moved_rows');
  return copied;
}

/** Both databases have the same columns. */
const columnsOfTables = new Map<string, Promise<readonly string[]>>();

function columnNames(client: pg.ClientBase, table: string): Promise<readonly string[]> {
  const known =
    columnsOfTables.get(table) ?? columnsOf(client, table).then((all) => all.map(({ name }) => name));
  columnsOfTables.set(table, known);
  return known;
}

/** Inserts or replaces rows in the text form of their table's type. Copied work is parked. */
async function insertingStatement(target: pg.ClientBase, table: MovedTable): Promise<string> {
  const { name, primaryKey, due, isAppended = false } = table;
  const columns = await columnNames(target, name);
  const values = columns.map((column) =>
    column === due ? parked(`(incoming.r).${column}`) : `(incoming.r).${column}`,
  );
  const isEvents = name === 'core.order_events';
  const replace = isAppended
    ? 'nothing'
    : `update set (${columns.join(', ')}) = row(${columns.map((column) => `excluded.${column}`).join(', ')})`;
  // Without `offset 0`, the text would be parsed once for each column.
  return `
insert into ${name} (${columns.join(', ')}${isEvents ? ', xid' : ''})
select ${values.join(', ')}${isEvents ? `, '${copiedXid}'` : ''}
from (select line::${name} as r from unnest($1::text[]) with ordinality as given (line, place) order by place offset 0) incoming
on conflict (${primaryKey.join(', ')}) do ${replace}`;
}

/** The number of rows and a sum of their hashes, which does not depend on their order. */
async function digestOf(client: pg.ClientBase, table: MovedTable, condition: string): Promise<string> {
  const columns = (await columnNames(client, table.name)).map((name) =>
    name === table.due ? notParked(`t.${name}`) : `t.${name}`,
  );
  const { rows } = await client.query<{ digest: string }>(
    `select format('%s rows with the digest %s', count(*),
       coalesce(sum(hashtextextended(row(${columns.join(', ')})::text, 0)), 0)) as digest
     from ${table.name} t where ${condition}`,
  );
  return rows[0]?.digest ?? '';
}

/** Tables whose columns differ between the databases. */
export async function differingTables({ source, target }: Databases): Promise<string[]> {
  const differing: string[] = [];
  for (const { name } of movedTables) {
    const [here, there] = await Promise.all([columnsOf(source, name), columnsOf(target, name)]);
    if (JSON.stringify(here) !== JSON.stringify(there)) differing.push(name);
  }
  return differing;
}

/** Parks or releases all work of a table, in batches of rows that no transaction has locked, so that nothing waits in a circle. */
export async function moveWork(
  client: pg.ClientBase,
  table: MovedTable,
  merchantId: string,
  to: 'parked' | 'released',
  within = 'true',
): Promise<void> {
  const { name, due } = table;
  if (due === undefined) return;
  const merchant = `${merchantColumn(table)} = '${merchantId}'`;
  const open = to === 'parked' ? isNotParked(due) : `not (${isNotParked(due)})`;
  const batch = `select ctid from ${name} where ${merchant} and ${due} is not null and ${open} and ${within}`;
  for (;;) {
    const { rowCount } = await client.query(
      `update ${name} set ${due} = ${to === 'parked' ? parked(due) : notParked(due)}
       where ctid = any (array(${batch} limit ${rowsAtOnce} for update skip locked))`,
    );
    if (rowCount === 0) {
      const { rows } = await client.query(`${batch} limit 1`);
      if (rows.length === 0) return;
      await delay(lockedMs);
    }
  }
}
