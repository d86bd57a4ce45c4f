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

/** Erased orders after the cursor, in commit order and never skipping one: docs/adr/0004. */
export async function readErasedOrders(
  pool: Pool,
  after: EventCursor,
  limit: number,
): Promise<{ readonly orders: readonly ErasedOrder[]; readonly next: EventCursor }> {
  const [server] = await runStatement<{ is_ahead: boolean }>(pool, {
    text: 'select $1::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) as is_ahead',
    values: [after.xid],
  });
  const from = server?.is_ahead === true ? beginning : after;
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
