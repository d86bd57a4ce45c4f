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
  const moved = async ({ xid, position }: StoredCursor): Promise<EventCursor> => {
    const { rows: next } = await client.query<{ position: string }>(
      `select coalesce(
         (select min(position) - 1 from core.order_events where (xid, position) > ($1::xid8, $2::bigint)),
         (select max(position) from core.order_events), 0)::text as position`,
      [xid, position],
    );
    return { xid: '1', position: next[0]?.position ?? '0' };
  };
  const relays = await client.query<StoredCursor & { stream: string }>(
    'select stream, xid::text as xid, position::text as position from core.event_relay',
  );
  for (const { stream, ...cursor } of relays.rows) {
    const { xid, position } = await moved(cursor);
    await client.query('update core.event_relay set xid = $2::xid8, position = $3 where stream = $1', [
      stream,
      xid,
      position,
    ]);
  }
  // A backup of release 0.1.0 has neither seals nor erased orders.
  const { rows: tables } = await client.query<{ seals: boolean; erasures: boolean }>(
    "select to_regclass('core.event_seal') is not null as seals, to_regclass('core.erased_orders') is not null as erasures",
  );
  const seals =
    tables[0]?.seals === true
      ? await client.query<StoredCursor>(
          'select xid::text as xid, position::text as position from core.event_seal',
        )
      : { rows: [] };
  for (const cursor of seals.rows) {
    // Events that were sealed already may be sealed again. Their blocks stay valid.
    const { xid, position } = await moved(cursor);
    await client.query('update core.event_seal set xid = $1::xid8, position = $2', [xid, position]);
  }
  const readers = await client.query<{ schema: string | null }>(
    "select to_regclass('webhooks.event_readers')::text as schema",
  );
  if (readers.rows[0]?.schema != null) {
    const { rows: stored } = await client.query<{ reader: string; cursor: string }>(
      'select reader, cursor from webhooks.event_readers',
    );
    for (const { reader, cursor } of stored) {
      const parsed = parseCursor(cursor);
      if (cursor === '' || !parsed.ok) continue;
      await client.query('update webhooks.event_readers set cursor = $2 where reader = $1', [
        reader,
        formatCursor(await moved(parsed.value)),
      ]);
    }
  }
  await client.query('alter table core.order_events disable trigger append_only');
  await client.query("update core.order_events set xid = '1'");
  await client.query('alter table core.order_events enable trigger append_only');
  if (tables[0]?.erasures === true) {
    await client.query('alter table core.erased_orders disable trigger append_only');
    await client.query("update core.erased_orders set xid = '1'");
    await client.query('alter table core.erased_orders enable trigger append_only');
  }
  return true;
}
