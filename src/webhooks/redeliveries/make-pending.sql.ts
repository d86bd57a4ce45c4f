import type { PoolClient } from 'pg';
import { bulkStatement, scalar } from '../../platform/database/bulk-statement.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { DeliveryState, LaneKey } from '../domain/delivery.ts';
import { laneList, laneText } from '../delivery/lane-arrays.ts';
import { lockLanes } from '../delivery/lock-lanes.sql.ts';

/** A delivery to send again, with its lane. */
export interface Redelivered extends LaneKey {
  readonly id: string;
}

const wakeLanes = bulkStatement(
  undefined,
  { woken: laneList },
  (sql) => `
update webhooks.lanes l
set next_due_at = least(l.next_due_at, greatest(date_trunc('milliseconds', now()), l.resting_until))
from ${sql.woken}
where l.merchant_id = woken.merchant_id and l.environment = woken.environment and l.endpoint = woken.endpoint`,
);

/** Keeps id, event, body and past attempts. */
const makeDue = bulkStatement(
  undefined,
  {
    merchant_id: scalar<string>('text'),
    ids: scalar<readonly string[]>('text[]'),
    redelivery_id: scalar<string | null>('text'),
    states: scalar<readonly DeliveryState[]>('webhooks.delivery_state[]'),
  },
  (sql) => `
update webhooks.deliveries
set state = 'PENDING', due_at = date_trunc('milliseconds', now()), given_up_at = null,
    round_attempts = 0, round_started_at = date_trunc('milliseconds', now()),
    redelivery_id = coalesce(${sql.redelivery_id}, redelivery_id)
where merchant_id = ${sql.merchant_id} and id = any(${sql.ids}) and state = any(${sql.states})
  and not exists (
    select from webhooks.webhook_endpoints e
    where e.merchant_id = deliveries.merchant_id and e.id = deliveries.endpoint and e.deleted_at is not null
  )
returning id`,
);

const anyState: readonly DeliveryState[] = ['PENDING', 'DELIVERED', 'GIVEN_UP'];

/**
 * Makes deliveries of one merchant due now, with a whole new schedule, and wakes their lanes. Open circuits and pauses stay.
 * As always, a later delivery of the same order waits for a pending one. Deliveries of deleted webhook endpoints stay as
 * they are. Returns how many deliveries became due.
 */
export async function makePending(
  client: PoolClient,
  merchantId: string,
  deliveries: readonly Redelivered[],
  { redeliveryId = null, states = anyState }: MakePendingOptions = {},
): Promise<number> {
  if (deliveries.length === 0) return 0;
  const lanes = [...new Map(deliveries.map((each) => [laneText(each), each])).values()];
  // Lanes first, because the transaction that stores an attempt locks in this order too.
  await lockLanes(client, lanes);
  await runStatement(client, wakeLanes.with({ woken: lanes }));
  const made = await runStatement(
    client,
    makeDue.with({
      merchant_id: merchantId,
      ids: deliveries.map(({ id }) => id),
      redelivery_id: redeliveryId,
      states,
    }),
  );
  return made.length;
}

/** A delivery with its place in its order. */
export interface OrderedDelivery extends Redelivered {
  readonly orderId: string;
  readonly sequence: string;
}

const hastenedAtOnce = 500;

const hasten = `
with waiting as materialized (
  select id, sequence from webhooks.deliveries
  where merchant_id = $1 and order_id = $2 and order_id <> '' and sequence > $3 and (endpoint = $4) is true and state = 'PENDING'
  order by sequence limit ${hastenedAtOnce}
), hastened as (
  update webhooks.deliveries d set due_at = date_trunc('milliseconds', now()) from waiting
  where d.merchant_id = $1 and d.id = waiting.id and d.round_attempts = 0 and d.due_at > now()
)
select max(sequence)::text as last, count(*)::int as read from waiting`;

/**
 * Makes the later deliveries of the same order due now, if they have not been tried. `postponeWaiting` had made them due after the
 * given delivery, which may now be sent earlier. Returns the sequence after which the caller continues; undefined at the end of the order.
 */
export async function hastenWaiting(
  client: PoolClient,
  delivery: OrderedDelivery,
): Promise<string | undefined> {
  await lockLanes(client, [delivery]);
  await runStatement(client, wakeLanes.with({ woken: [delivery] }));
  const { merchantId, orderId, sequence, endpoint } = delivery;
  const [waiting] = await runStatement<{ last: string | null; read: number }>(client, {
    text: hasten,
    values: [merchantId, orderId, sequence, endpoint],
  });
  return waiting?.read === hastenedAtOnce ? (waiting.last ?? undefined) : undefined;
}

interface MakePendingOptions {
  readonly redeliveryId?: string | null;
  readonly states?: readonly DeliveryState[];
}
