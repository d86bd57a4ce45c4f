import type { Pool, PoolClient } from 'pg';

/** A gap between orders, events and deliveries. */
export interface Finding {
  /** "whf_…" */
  readonly id: string;
  /** Empty when it is about no single merchant. */
  readonly merchantId: string;
  /** Empty when it is about no single order. */
  readonly orderId: string;
  readonly isRepaired: boolean;
  /** What was found, in words. */
  readonly detail: string;
}

/** Writes down what was found, at the database's time. */
export async function insertFindings(client: Pool | PoolClient, findings: readonly Finding[]): Promise<void> {
  if (findings.length === 0) return;
  await client.query(
    `insert into webhooks.findings (id, found_at, merchant_id, order_id, is_repaired, detail)
     select id, clock_timestamp(), merchant_id, order_id, is_repaired, detail
     from unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::text[])
       as t (id, merchant_id, order_id, is_repaired, detail)`,
    [
      findings.map(({ id }) => id),
      findings.map(({ merchantId }) => merchantId),
      findings.map(({ orderId }) => orderId),
      findings.map(({ isRepaired }) => isRepaired),
      findings.map(({ detail }) => detail),
    ],
  );
}

/** Whether something that begins with these words was found since then. */
export async function hasFinding(
  client: Pool | PoolClient,
  beginning: string,
  since: Date,
): Promise<boolean> {
  const { rowCount } = await client.query(
    'select 1 from webhooks.findings where found_at >= $2 and starts_with(detail, $1) limit 1',
    [beginning, since],
  );
  return rowCount === 1;
}

/** Deletes what was found before that time. */
export async function forgetFindings(client: Pool | PoolClient, before: Date): Promise<void> {
  await client.query('delete from webhooks.findings where found_at < $1', [before]);
}
