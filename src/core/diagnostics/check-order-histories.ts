import type { StoredId } from '../../contract/public-id.ts';
import type { Database } from '../database/database.ts';
import { publicId } from '../../contract/public-id.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { failed, good } from './check-outcome.ts';
import type { CheckOutcome } from './check-outcome.ts';

/** As many as are read in a fraction of a second, out of an index. */
const recentEvents = 5_000;
const examples = 3;

/**
 * Of the orders that the latest events are about: each order's events count 1, 2, 3… without a gap up to what the order
 * says of itself, and the last one says how the order ended, or that it has not. One statement sees one moment, so that
 * nothing under way looks like a difference.
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
    select count(*) as count, max(sequence) as last, (array_agg(type::text order by sequence desc))[1] as last_type
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

const name = 'order histories';

/** Whether orders and their events tell the same story. */
export async function checkOrderHistories({ pool }: Database): Promise<CheckOutcome> {
  const [row] = await runStatement<{ orders: string; differing: string; examples: StoredId<'ord'>[] }>(pool, {
    text: statement,
    values: [recentEvents, examples],
  });
  if (row === undefined || row.differing === '0')
    return good(name, `the latest ${row?.orders ?? '0'} orders and their events agree`);
  const shown = row.examples.map((id) => publicId('ord', id)).join(', ');
  return failed(
    name,
    `${row.differing} of the latest ${row.orders} orders do not agree with their events: ${shown}` +
      (Number(row.differing) > row.examples.length ? ', …' : ''),
    'somebody or something changed the tables without Gatehouse: compare the order with its events in ' +
      'core.orders and core.order_events, and with the wallet; merchants were told what the events say',
  );
}
