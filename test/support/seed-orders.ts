import type { Client } from 'pg';

export interface SeededOrders {
  /** In the stored form. */
  readonly merchantId: string;
  readonly environment: 'SANDBOX' | 'PRODUCTION';
  readonly count: number;
  /** The time of the newest order. The oldest is `days` earlier. */
  readonly until: Date;
  readonly days: number;
}

/**
 * Seeds orders of one merchant with one statement. The order_number SEED-0 is the oldest. Of ten orders, seven are
 * COMPLETED, and one each FAILED, EXPIRED and PENDING. Every 1,000th has the amount 777.77. A phone repeats every
 * 50,000 orders.
 */
export async function seedOrders(client: Client, seeded: SeededOrders): Promise<void> {
  const { merchantId, environment, count, until, days } = seeded;
  await client.query(
    `
insert into core.orders (
  merchant_id, environment, id, order_number, status, payment_type, amount_text, amount_minor_units,
  deducted_minor_units, currency, customer_phone, customer_phone_e164, reason, business_name, return_url, webhook_url,
  last_event_sequence, attempt_count, created_at, updated_at, expires_at, sweep_at
)
select $1::uuid, $2::core.environment, (${seededId})::uuid, 'SEED-' || n, status::core.order_status, 'API',
  case when n % 1000 = 0 then '777.77' else (n % 500 + 1)::text end,
  case when n % 1000 = 0 then 77777 else (n % 500 + 1) * 100 end,
  case when status <> 'COMPLETED' then 0 when n % 1000 = 0 then 77777 else (n % 500 + 1) * 100 end,
  'ETB', '09' || lpad((n % 50000)::text, 8, '0'), '+2519' || lpad((n % 50000)::text, 8, '0'),
  'Order ' || n, '', 'https://shop.example/return', '', 1, 0, at, at, at + interval '30 minutes',
  case when status = 'PENDING' then 'infinity'::timestamptz end
from (
  select n, $4::timestamptz - (($3::int - 1 - n) * ($5::float8 / $3::int)) * interval '1 day' as at,
    (array['COMPLETED','COMPLETED','COMPLETED','FAILED','COMPLETED','COMPLETED','EXPIRED','COMPLETED','COMPLETED','PENDING'])[n % 10 + 1] as status
  from generate_series(0, $3::int - 1) n
) orders`,
    [merchantId, environment, count, until, days],
  );
  await client.query('vacuum analyze core.orders');
}

/** A UUID of version 7 that sorts by time, and by the number within a millisecond. */
const seededId = `
  lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n >> 24), 3, '0') || '8000' ||
  lpad(to_hex(n), 12, '0')`;
