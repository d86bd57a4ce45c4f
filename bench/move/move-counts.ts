import { laterCursor } from '../../src/contract/event-cursor.ts';
import type { EventCursor } from '../../src/contract/event-cursor.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import type { Databases } from './copy-rows.ts';
import { lastEvent } from './hold-lanes.ts';

/**
 * Adds the counts of the merchant's events to those of the target, which counts only its own events. The source counts first what it has.
 * The transaction also notes that the move is settled, so that a repeat adds nothing.
 */
export async function moveCounts({ source, target }: Databases, merchantId: string): Promise<void> {
  const last = await lastEvent(source, merchantId);
  await waitUntil('the source has counted every event', async () => {
    const { rows } = await source.query<EventCursor>(
      'select xid::text as xid, position::text as position from core.order_counts_cursor',
    );
    const [counted] = rows;
    return counted !== undefined && laterCursor(last, counted) === counted;
  });
  const { rows } = await source.query<{ counts: string }>(
    `select coalesce(jsonb_agg(c), '[]')::text as counts from core.order_counts c where merchant_id = $1`,
    [merchantId],
  );
  await target.query(
    `with settled as (
       update move.owners set is_settled = true where merchant_id = $1 and not is_settled returning true
     )
     insert into core.order_counts as c
     select moved.* from jsonb_populate_recordset(null::core.order_counts, $2::jsonb) moved where exists (select from settled)
     on conflict (merchant_id, environment, type, quarter, currency, payment_option, reason)
     do update set events = c.events + excluded.events, minor_units = c.minor_units + excluded.minor_units`,
    [merchantId, rows[0]?.counts ?? '[]'],
  );
}
