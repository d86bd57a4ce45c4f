import type { StoredId } from '../../contract/public-id.ts';
import { create } from '@bufbuild/protobuf';
import {
  CheckFinding,
  CheckSubject,
  OrderHistoryFactsSchema,
} from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Check } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Database } from '../database/database.ts';
import { publicId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { failedCheck, goodCheck } from './check-outcome.ts';

/** The number of events that an index scan reads in a fraction of a second. */
const recentEvents = 5_000;
const examples = 3;

/**
 * Compares the orders of the latest events. Each order's events must count 1, 2, 3… without a gap up to the order's own
 * last_event_sequence. The last event that decides a status must match the order's status. Refunds and settlements decide none.
 * One statement sees one snapshot, so that an order that is changing does not look like a difference.
 */
const statement = `
with recent as (
  select distinct merchant_id, environment, order_id
  from (
    select merchant_id, environment, order_id from core.order_events order by xid desc, position desc limit $1
  ) latest
), histories as (
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
  const facts = { facts: { case: 'orderHistories', value } } as const;
  return value.differingCount === 0n
    ? goodCheck(CheckSubject.ORDER_HISTORIES, facts)
    : failedCheck(CheckSubject.ORDER_HISTORIES, CheckFinding.DISAGREE, facts);
}
