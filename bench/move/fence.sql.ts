import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { merchantColumn, merchantIn, movedTables, parked } from './moved-tables.ts';
import type { MovedTable } from './moved-tables.ts';

/**
 * Who owns a merchant, as its database says. `LEAVING`: it takes requests, and new work is parked. `CLOSED`: it takes no change, and may be
 * opened again. `GONE`: the other database owns it. `ARRIVING`: the other database still does.
 */
export type OwnerState = 'HERE' | 'LEAVING' | 'CLOSED' | 'GONE' | 'ARRIVING';

/**
 * The tables of a move, in both databases. Their rows outlive the process that moves. The guard is a trigger, so that programs
 * which know of no move are fenced too, and so that it costs nothing without a move.
 */
const tables = `
create schema if not exists move;
create table if not exists move.owners (
  merchant_id uuid primary key,
  state text not null check (state in ('HERE', 'LEAVING', 'CLOSED', 'GONE', 'ARRIVING')),
  epoch integer not null default 1,
  -- In the target: the source's snapshot up to which every change is here.
  copied_until pg_snapshot,
  -- In the target: the position up to which the copied events are sealed.
  sealed_until bigint not null default 0,
  is_settled boolean not null default false
);
-- In the source: the changed rows.
create table if not exists move.changes (
  merchant_id uuid not null,
  relation text not null,
  key text not null,
  xid xid8 not null default pg_current_xact_id()
);
create index if not exists changes_xid on move.changes (merchant_id, xid)`;

/** The number of the guard's advisory locks, which no other part of Gatehouse uses. */
const lockNumber = 7_142_901;
const guardLock = (merchant: string): string => `${lockNumber}, hashtext(${merchant})`;

/**
 * Arguments: the stored id of the merchant, the key column or '', the column of the work's time or ''.
 *
 * Writers share an advisory lock, and a change of the owner takes it alone. So the change waits for the running writers only: the next ones
 * wait behind it. A shared lock of the owner's row would let writers that overlap hold it up for ever. The state is read after the lock,
 * with a snapshot of its own.
 */
const guard = `
create or replace function move.guard() returns trigger language plpgsql as $$
declare
  owner text;
begin
  perform pg_advisory_xact_lock_shared(${guardLock('tg_argv[0]')});
  select state into owner from move.owners where merchant_id = tg_argv[0]::uuid;
  if owner in ('CLOSED', 'GONE') then
    raise exception 'the merchant is moving to another database: % of % refused', tg_op, tg_table_name
      using errcode = 'object_not_in_prerequisite_state';
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  if tg_argv[1] <> '' then
    insert into move.changes (merchant_id, relation, key)
    values (tg_argv[0]::uuid, format('%s.%s', tg_table_schema, tg_table_name), to_jsonb(new) ->> tg_argv[1]);
  end if;
  if owner = 'LEAVING' and tg_argv[2] <> '' then
    new := jsonb_populate_record(new, jsonb_build_object(tg_argv[2], (
      select ${parked('at')} from (select (to_jsonb(new) ->> tg_argv[2])::timestamptz as at) work
    )));
  end if;
  return new;
end $$`;

export async function createMoveTables(client: pg.ClientBase): Promise<void> {
  await client.query(tables);
  await client.query(guard);
}

const triggerName = (merchantId: string): string => `move_${merchantId.replaceAll('-', '')}`;

/** The orders' time is parked by the move, not by the guard: new orders are never due within a move. */
const guardsWork = ({ name, due }: MovedTable): boolean => due !== undefined && name !== 'core.orders';

/** A lock of a table waits for its writers, and new writers wait behind it. So it gives up soon, and tries again. */
const patience = `set local lock_timeout = '50ms'`;
const lockNotAvailable = '55P03';
const pauseMs = 50;

/** Runs statements in a transaction that waits only shortly for its locks, until it gets them. */
async function insist(client: pg.ClientBase, statements: readonly string[]): Promise<void> {
  for (;;) {
    try {
      for (const statement of ['begin', patience, ...statements, 'commit']) await client.query(statement);
      return;
    } catch (error) {
      await client.query('rollback');
      if (!(error instanceof pg.DatabaseError) || error.code !== lockNotAvailable) throw error;
      await delay(pauseMs);
    }
  }
}

/**
 * Fences every table with rows of the merchant. When it returns, every transaction that changes such a row from now on notes the change.
 * The creation of a trigger waits for the transactions that have written to its table.
 */
export async function installGuards(client: pg.ClientBase, merchantId: string): Promise<void> {
  for (const table of movedTables) {
    const merchant = pg.escapeLiteral(merchantIn(table, merchantId));
    const of = (row: 'new' | 'old'): string => `${row}.${merchantColumn(table)} = ${merchant}`;
    const call = `execute function move.guard('${merchantId}', '${table.key?.column ?? ''}', '${guardsWork(table) ? table.due : ''}')`;
    const columns = table.guardedColumns === undefined ? '' : ` of ${table.guardedColumns.join(', ')}`;
    const name = triggerName(merchantId);
    await insist(client, [
      `create or replace trigger ${name} before insert or update${columns} on ${table.name}
        for each row when (${of('new')}) ${call}`,
      // Rows of the others are deleted only when they have expired.
      ...(table.key === undefined
        ? [
            `create or replace trigger ${name}_delete before delete on ${table.name}
              for each row when (${of('old')}) ${call}`,
          ]
        : []),
    ]);
  }
}

export interface Owner {
  readonly state: OwnerState;
  readonly epoch: number;
  readonly copiedUntil: string | null;
  readonly sealedUntil: string;
  readonly isSettled: boolean;
}

export async function readOwner(client: pg.ClientBase, merchantId: string): Promise<Owner | undefined> {
  const { rows } = await client.query<Owner>(
    `select state, epoch, copied_until::text as "copiedUntil", sealed_until::text as "sealedUntil", is_settled as "isSettled"
     from move.owners where merchant_id = $1`,
    [merchantId],
  );
  return rows[0];
}

/** Writes the first state of a merchant, unless it has one. */
export async function addOwner(client: pg.ClientBase, merchantId: string, state: OwnerState): Promise<void> {
  await client.query(
    'insert into move.owners (merchant_id, state) values ($1, $2) on conflict (merchant_id) do nothing',
    [merchantId, state],
  );
}

/** Changes the owner's state when no transaction that saw the former one still writes. */
export const setOwnerState = (client: pg.ClientBase, merchantId: string, state: OwnerState): Promise<void> =>
  insist(client, [
    `select pg_advisory_xact_lock(${guardLock(`'${merchantId}'`)})`,
    `update move.owners set state = '${state}', epoch = epoch + case when '${state}' = 'GONE' then 1 else 0 end
     where merchant_id = '${merchantId}'`,
  ]);
