import type { Pool } from 'pg';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { LaneKey } from '../domain/delivery.ts';
import { headsWithin, isFirstOfItsOrder, nextOf } from './head-rows.sql.ts';
import { lockLanes } from './lock-lanes.sql.ts';

/**
 * Postpones the next deliveries of a lane, its page. For each order, the delivery just before its first one in the page is pending too, and due
 * later than all in the page. Those in the page become due just after it, and so behind the next page. They are postponed once for each
 * failure of the first delivery of their order. Reads only these deliveries and the ones just before them.
 */
const statement = `
with lane as (select $1::text as merchant_id, $2::webhooks.environment as environment, $3::text as endpoint),
page as materialized (
  select d.id, d.order_id, d.sequence, d.endpoint, ${isFirstOfItsOrder} as is_head
  from lane cross join lateral (${nextOf('lane')}
  ) d
), order_ends as (
  select order_id, endpoint, min(sequence) as sequence from page
  group by order_id, endpoint
  having (select count(*) = ${headsWithin} and not bool_or(is_head) from page)
), earlier as (
  select d.order_id, before.due_at + interval '1 millisecond' as due_at
  from order_ends d cross join lateral (
    select e.due_at from webhooks.deliveries e
    where e.merchant_id = $1 and e.order_id = d.order_id and e.order_id <> ''
      and e.sequence < d.sequence and (e.endpoint = d.endpoint) is true and e.state = 'PENDING'
    order by e.sequence desc limit 1
  ) before
)
update webhooks.deliveries d
set due_at = greatest(d.due_at, earlier.due_at)
from page join earlier using (order_id)
where d.merchant_id = $1 and d.id = page.id and d.state = 'PENDING'
returning d.id`;

/**
 * A search examines the next deliveries of a lane (`headsWithin`). If all of them wait for earlier ones of their orders, it finds none to
 * send. Then this makes them due after the earlier ones, so that the next search examines others. Returns how many were postponed.
 */
export const postponeWaiting = (pool: Pool, lane: LaneKey): Promise<number> =>
  inTransaction(pool, [], async (client) => {
    // All writers of a lane's deliveries lock it first.
    await lockLanes(client, [lane]);
    const postponed = await runStatement(client, {
      text: statement,
      values: [lane.merchantId, lane.environment, lane.endpoint],
    });
    return postponed.length;
  });
