import type { Pool } from 'pg';
import { endpointOf } from '../../../src/webhooks/domain/delivery.ts';

/** Each statement stays within the time limit of statements, also on a busy machine. */
const rowsAtOnce = 10_000;

/** Creates this many deliveries of one merchant to `url`, due for an hour. Their lane must exist. */
export async function addManyDue(pool: Pool, merchantId: string, url: string, count: number): Promise<void> {
  for (let first = 1; first <= count; first += rowsAtOnce) {
    await pool.query(
      `insert into webhooks.deliveries (
         merchant_id, id, environment, endpoint, event_id, event_type, order_id, order_number, sequence, url, body,
         state, due_at, round_started_at, created_at
       )
       select $1, 'whd_' || n, 'SANDBOX', $2, 'evt_' || n, 'order.completed', 'ord_' || n, n, 1, $3,
         convert_to(repeat('x', 500), 'UTF8'), 'PENDING', now() - interval '1 hour', now() - interval '1 hour',
         now() - interval '1 hour'
       from generate_series($4::int, $5::int) n`,
      [merchantId, endpointOf(url), url, first, Math.min(count, first + rowsAtOnce - 1)],
    );
  }
}
