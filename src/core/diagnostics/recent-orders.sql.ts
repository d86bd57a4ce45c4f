/** The number of the latest events whose orders are checked. An index scan reads them in a fraction of a second. */
export const recentEvents = 5_000;

/** The orders of the latest events, as the table `recent` of a `with` clause. `$1` is the number of events. */
export const recentOrders = `recent as (
  select distinct merchant_id, environment, order_id
  from (
    select merchant_id, environment, order_id from core.order_events order by xid desc, position desc limit $1
  ) latest
)`;
