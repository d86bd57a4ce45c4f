import type { Pool, PoolClient } from 'pg';
import { beginning } from '../../contract/event-cursor.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';
import { runStatement } from '../../platform/database/run-statement.ts';

/** The last event that the broker is known to have stored. It may have stored later ones. */
export async function readRelayCursor(client: Pool | PoolClient, stream: string): Promise<EventCursor> {
  const text = 'select xid::text as xid, position::text as position from core.event_relay where stream = $1';
  const rows = await runStatement<EventCursor>(client, { text, values: [stream] });
  return rows[0] ?? beginning;
}

export async function writeRelayCursor(
  client: PoolClient,
  stream: string,
  { xid, position }: EventCursor,
): Promise<void> {
  await client.query(
    `insert into core.event_relay (stream, xid, position) values ($1, $2::xid8, $3)
     on conflict (stream) do update set xid = excluded.xid, position = excluded.position`,
    [stream, xid, position],
  );
}
