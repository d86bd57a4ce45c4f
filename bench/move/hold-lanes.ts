import type pg from 'pg';
import { laterCursor, readCursorText } from '../../src/contract/event-cursor.ts';
import type { EventCursor } from '../../src/contract/event-cursor.ts';
import { resumeLane } from '../../src/webhooks/delivery/pause-lane.ts';
import type { LaneKey } from '../../src/webhooks/domain/delivery.ts';
import { intakeReader } from '../../src/webhooks/intake/reader-position.ts';
import { publicId } from '../../test/support/ids.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import type { Databases } from './copy-rows.ts';

const heldFor = 'waits for the deliveries of the former database';

/** Pauses the merchant's lanes in the target. The source delivers its own events first, so that none is overtaken. */
export async function holdLanes({ source, target }: Databases, merchantId: string): Promise<void> {
  const merchant = publicId('mer', merchantId);
  const { rows } = await source.query<{ lanes: unknown }>(
    `select coalesce(jsonb_agg(jsonb_build_object('environment', environment, 'endpoint', endpoint, 'created_at', created_at,
       'pause_reason', case when paused_at is null then $2 else pause_reason end)), '[]') as lanes
     from webhooks.lanes where merchant_id = $1`,
    [merchant, heldFor],
  );
  await target.query(
    `insert into webhooks.lanes (merchant_id, environment, endpoint, created_at, paused_at, pause_reason)
     select $1, environment, endpoint, created_at, now(), pause_reason
     from jsonb_to_recordset($2::jsonb) as lane
       (environment webhooks.environment, endpoint text, created_at timestamptz, pause_reason text)
     on conflict (merchant_id, environment, endpoint) do update
     set paused_at = excluded.paused_at, pause_reason = excluded.pause_reason where lanes.paused_at is null`,
    [merchant, JSON.stringify(rows[0]?.lanes ?? [])],
  );
}

/** Resumes each lane when the source has no delivery left on it. */
export async function resumeLanes({ source, target }: Databases, merchantId: string): Promise<void> {
  const merchant = publicId('mer', merchantId);
  const last = await lastEvent(source, merchantId);
  await waitUntil('webhooks of the source has read every event', async () => {
    const { rows } = await source.query<{ cursor: string }>(
      'select cursor from webhooks.event_readers where reader = $1',
      [intakeReader],
    );
    const read = readCursorText(rows[0]?.cursor ?? '');
    return read !== undefined && laterCursor(last, read) === read;
  });
  const { rows: lanes } = await target.query<LaneKey>(
    `select merchant_id as "merchantId", environment, endpoint from webhooks.lanes where merchant_id = $1 and pause_reason = $2`,
    [merchant, heldFor],
  );
  for (const lane of lanes) {
    await waitUntil('the source has delivered its webhooks', async () => {
      const { rows } = await source.query(
        `select from webhooks.deliveries
         where merchant_id = $1 and environment = $2 and endpoint = $3 and state = 'PENDING' limit 1`,
        [merchant, lane.environment, lane.endpoint],
      );
      return rows.length === 0;
    });
    await resumeLane(target, lane);
  }
}

/** The last event of the merchant in the order of commits; the beginning if it has none. */
export async function lastEvent(client: pg.ClientBase, merchantId: string): Promise<EventCursor> {
  const { rows } = await client.query<EventCursor>(
    `select xid::text as xid, position::text as position from core.order_events
     where merchant_id = $1 order by order_events.xid desc, order_events.position desc limit 1`,
    [merchantId],
  );
  return rows[0] ?? { xid: '0', position: '0' };
}
