import type { StoredId } from '../../contract/public-id.ts';
import { create } from '@bufbuild/protobuf';
import { CheckSubject, OrderHistoryFactsSchema } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Check } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Database } from '../database/database.ts';
import { publicId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { agreementCheck } from './check-outcome.ts';
import { recentEvents, recentOrders } from './recent-orders.sql.ts';

const examples = 3;

/**
 * Compares the orders of the latest events. Each order's events must count 1, 2, 3… without a gap up to the order's own
 * last_event_sequence. The last event that decides a status must match the order's status. Refunds and settlements decide none.
 * One statement sees one snapshot, so that an order that is changing does not look like a difference.
 */
const statement = `
with ${recentOrders}, histories as (
  select recent.order_id, orders.status, orders.last_event_sequence, events.count, events.last, events.last_type
  from recent
  left join core.orders on orders.merchant_id = recent.merchant_id and orders.environment = recent.environment
    and orders.id = recent.order_id
  cross join lateral (
    select count(*) as count, max(sequence) as last,
      (array_agg(type::text order by sequence desc)
        filter (where type in ('CREATED', 'PAYMENT_STARTED', 'PAYMENT_DECLINED', 'COMPLETED', 'FAILED', 'EXPIRED')))[1]
        as last_type
    from core.order_events event
    where event.merchant_id = recent.merchant_id and event.order_id = recent.order_id
  ) events
), differing as (
  select order_id from histories
  where status is null or count <> last or last_event_sequence <> last
    or case when status = 'PENDING' then last_type in ('COMPLETED', 'FAILED', 'EXPIRED') else last_type <> status::text end
)
select (select count(*) from recent)::text as orders, (select count(*) from differing)::text as differing,
  array(select order_id::text from differing order by order_id limit $2) as examples`;

/** Whether orders and their events agree. */
export async function checkOrderHistories({ pool }: Database): Promise<Check> {
  const [row] = await runStatement<{ orders: string; differing: string; examples: StoredId<'ord'>[] }>(pool, {
    text: statement,
    values: [recentEvents, examples],
  });
  const value = create(OrderHistoryFactsSchema, {
    orderCount: BigInt(row?.orders ?? 0),
    differingCount: BigInt(row?.differing ?? 0),
    orderIds: (row?.examples ?? []).map((id) => publicId('ord', id)),
  });
  return agreementCheck(CheckSubject.ORDER_HISTORIES, { case: 'orderHistories', value });
}
