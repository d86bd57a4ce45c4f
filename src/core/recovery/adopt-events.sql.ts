import type { Client } from 'pg';
import { formatCursor } from '../../contract/event-cursor.ts';
import { parseCursor } from '../events/event-cursor.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';

interface StoredCursor {
  readonly xid: string;
  readonly position: string;
}

/**
 * Makes restored events readable on a server whose transaction ids are lower than those of the events (docs/adr/0004). All restored events
 * get the id of one old transaction. Each stored position in the list of events moves to just before the first event that its reader may not
 * have read. The counts of reports begin again by themselves. Nothing changes on a server whose transaction ids are already higher. Returns
 * whether the events were changed.
 */
export async function adoptEvents(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ ahead: boolean }>(
    'select coalesce(max(xid) >= pg_snapshot_xmax(pg_current_snapshot()), false) as ahead from core.order_events',
  );
  if (rows[0]?.ahead !== true) return false;
  // A backup of release 0.1.0 has neither seals nor erased orders.
  const has = {
    seals: await hasTable(client, 'core.event_seal'),
    readers: await hasTable(client, 'webhooks.event_readers'),
    erasures: await hasTable(client, 'core.erased_orders'),
  };
  await moveRelays(client);
  if (has.seals) await moveSeal(client);
  if (has.readers) await moveReaders(client);
  await adoptRows(client, 'core.order_events');
  if (has.erasures) await adoptRows(client, 'core.erased_orders');
  return true;
}

async function hasTable(client: Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [
    table,
  ]);
  return rows[0]?.exists === true;
}

/** The position just before the first event that a reader at `cursor` may not have read. */
async function movedCursor(client: Client, { xid, position }: StoredCursor): Promise<EventCursor> {
  const { rows } = await client.query<{ position: string }>(
    `select coalesce(
       (select min(position) - 1 from core.order_events where (xid, position) > ($1::xid8, $2::bigint)),
       (select max(position) from core.order_events), 0)::text as position`,
    [xid, position],
  );
  return { xid: '1', position: rows[0]?.position ?? '0' };
}

async function moveRelays(client: Client): Promise<void> {
  const { rows } = await client.query<StoredCursor & { stream: string }>(
    'select stream, xid::text as xid, position::text as position from core.event_relay',
  );
  for (const { stream, ...cursor } of rows) {
    const { xid, position } = await movedCursor(client, cursor);
    await client.query('update core.event_relay set xid = $2::xid8, position = $3 where stream = $1', [
      stream,
      xid,
      position,
    ]);
  }
}

/** Events that were sealed already may be sealed again. Their blocks stay valid. */
async function moveSeal(client: Client): Promise<void> {
  const { rows } = await client.query<StoredCursor>(
    'select xid::text as xid, position::text as position from core.event_seal',
  );
  for (const cursor of rows) {
    const { xid, position } = await movedCursor(client, cursor);
    await client.query('update core.event_seal set xid = $1::xid8, position = $2', [xid, position]);
  }
}

async function moveReaders(client: Client): Promise<void> {
  const { rows } = await client.query<{ reader: string; cursor: string }>(
    'select reader, cursor from webhooks.event_readers',
  );
  for (const { reader, cursor } of rows) {
    const parsed = parseCursor(cursor);
    if (cursor === '' || !parsed.ok) continue;
    await client.query('update webhooks.event_readers set cursor = $2 where reader = $1', [
      reader,
      formatCursor(await movedCursor(client, parsed.value)),
    ]);
  }
}

/** Gives all rows of an append-only table the id of one old transaction. */
async function adoptRows(client: Client, table: 'core.order_events' | 'core.erased_orders'): Promise<void> {
  await client.query(`alter table ${table} disable trigger append_only`);
  await client.query(`update ${table} set xid = '1'`);
  await client.query(`alter table ${table} enable trigger append_only`);
}
