import type { Pool, PoolClient } from 'pg';
import { bulkStatement, column, rowList } from '../../platform/database/bulk-statement.ts';

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

const finding = rowList<Finding>({
  id: column('text', ({ id }) => id),
  merchant_id: column('text', ({ merchantId }) => merchantId),
  order_id: column('text', ({ orderId }) => orderId),
  is_repaired: column('boolean', ({ isRepaired }) => isRepaired),
  detail: column('text', ({ detail }) => detail),
});

const insertion = bulkStatement(
  undefined,
  { finding },
  (sql) => `
insert into webhooks.findings (found_at, ${finding.columns})
select clock_timestamp(), ${finding.columns} from ${sql.finding}`,
);

/** Stores findings, at the database's time. */
export async function insertFindings(client: Pool | PoolClient, findings: readonly Finding[]): Promise<void> {
  if (findings.length > 0) await client.query(insertion.with({ finding: findings }));
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
