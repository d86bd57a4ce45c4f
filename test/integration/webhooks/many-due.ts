import type { Pool } from 'pg';
import { endpointOf } from '../../../src/webhooks/domain/delivery.ts';
import { sql } from '../../support/sql.ts';

/** Each statement stays within the time limit of statements, also on a busy machine. */
const rowsAtOnce = 10_000;

/** Creates this many deliveries of one merchant to `url`, due for an hour. Their lane must exist. */
export async function addManyDue(pool: Pool, merchantId: string, url: string, count: number): Promise<void> {
  for (let first = 1; first <= count; first += rowsAtOnce) {
    await pool.query(sql`insert into webhooks.deliveries (
        merchant_id, id, environment, endpoint, event_id, event_type, order_id, order_number, sequence, url, body,
        state, due_at, round_started_at, created_at
      )
      select ${merchantId}, 'whd_' || n, 'SANDBOX', ${endpointOf(url)}, 'evt_' || n, 'order.completed',
        'ord_' || n, n, 1, ${url},
        convert_to(repeat('x', 500), 'UTF8'), 'PENDING', now() - interval '1 hour', now() - interval '1 hour',
        now() - interval '1 hour'
      from generate_series(${first}::int, ${Math.min(count, first + rowsAtOnce - 1)}::int) n`);
  }
}
