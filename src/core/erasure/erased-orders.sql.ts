import type { Pool } from 'pg';
import type { StoredId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { beginning } from '../../contract/event-cursor.ts';
import type { EventCursor } from '../../contract/event-cursor.ts';
import type { Environment } from '../domain/order.ts';

/** An order whose personal data was erased. Stored ids. */
export interface ErasedOrder {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  readonly orderId: StoredId<'ord'>;
  readonly erasedAt: Date;
}

interface Row {
  readonly xid: string;
  readonly position: string;
  readonly merchant_id: StoredId<'mer'>;
  readonly environment: Environment;
  readonly order_id: StoredId<'ord'>;
  readonly erased_at: Date;
}

/**
 * Erased orders after the cursor, in commit order and never skipping one: docs/adr/0004. If the list does not have the cursor's order, the
 * database was restored or the list got other numbers, and the reading begins again.
 */
export async function readErasedOrders(
  pool: Pool,
  after: EventCursor,
  limit: number,
): Promise<{ readonly orders: readonly ErasedOrder[]; readonly next: EventCursor }> {
  const [list] = await runStatement<{ has_cursor: boolean }>(pool, {
    text: 'select exists (select from core.erased_orders where xid = $1::xid8 and position = $2::bigint) as has_cursor',
    values: [after.xid, after.position],
  });
  const from = list?.has_cursor === true ? after : beginning;
  const rows = await runStatement<Row>(pool, {
    text: `
select xid::text as xid, position::text as position, merchant_id, environment, order_id, erased_at
from core.erased_orders
where (xid, position) > ($1::xid8, $2::bigint) and xid < pg_snapshot_xmin(pg_current_snapshot())
order by xid, position limit $3`,
    values: [from.xid, from.position, limit],
  });
  return {
    orders: rows.map((row) => ({
      merchantId: row.merchant_id,
      environment: row.environment,
      orderId: row.order_id,
      erasedAt: row.erased_at,
    })),
    next: rows.at(-1) ?? from,
  };
}
