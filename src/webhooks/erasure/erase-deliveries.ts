import type { Client } from '@connectrpc/connect';
import type { Pool, PoolClient } from 'pg';
import type { PersonalDataService } from '../../gen/gatehouse/v1/personal_data_service_pb.js';
import { withAdvisoryLock } from '../../platform/database/advisory-lock.ts';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Logger } from '../../platform/logger.ts';
import { eraseBody } from './erase-body.ts';

export interface EraseDeliveriesParts {
  readonly database: { readonly pool: Pool };
  readonly personalData: Pick<Client<typeof PersonalDataService>, 'listErasedOrders'>;
  readonly logger: Logger;
}

/** Held by the one process that erases. */
const eraseLock = { key: 7_142_106, silenceMs: 60_000 };
const batchSize = 50;
/** A page takes a fraction of a second. Core's event list waits for transactions that write, and an order can have very many deliveries. */
const deliveriesInPage = 500;

/**
 * Follows core's list of erased orders. In the stored deliveries of these orders, it erases the phone number, the reason, and the
 * receivers' answers. A pending delivery is sent unchanged, and erased after it has ended. One process at a time erases. In the others
 * the call only follows the list.
 */
export async function eraseDeliveries(parts: EraseDeliveriesParts, stop: AbortSignal): Promise<void> {
  const { database, logger } = parts;
  while (!stop.aborted && (await followOnce(parts)) > 0);
  await withAdvisoryLock(database.pool, eraseLock, async (client, lost) => {
    const ended = AbortSignal.any([stop, lost]);
    let erased = 0;
    for (let orders = batchSize; orders === batchSize && !ended.aborted;) {
      const batch = await eraseBatch(client, ended);
      orders = batch.orders;
      erased += batch.erased;
    }
    if (erased > 0) logger.info({ deliveries: erased }, 'personal data was erased from deliveries');
  });
}

/** Reads one page of core's list, which has an order once for each 500 events. One transaction stores the orders and the cursor. */
async function followOnce({ database, personalData }: EraseDeliveriesParts): Promise<number> {
  const [reader] = await runStatement<{ cursor: string }>(database.pool, {
    text: 'select cursor from webhooks.erasure_reader',
  });
  const { orders, nextCursor } = await personalData.listErasedOrders({ afterCursor: reader?.cursor ?? '' });
  await inTransaction(database.pool, [], async (client) => {
    await runStatement(client, {
      text: `
insert into webhooks.erasures_due (merchant_id, order_id, due_at)
select distinct merchant_id, order_id, now() from unnest($1::text[], $2::text[]) as erased (merchant_id, order_id)
on conflict (merchant_id, order_id) do update set due_at = excluded.due_at, was_erased = false`,
      values: [orders.map(({ merchantId }) => merchantId), orders.map(({ orderId }) => orderId)],
    });
    await runStatement(client, {
      text: `
insert into webhooks.erasure_reader (cursor) values ($1)
on conflict (id) do update set cursor = excluded.cursor`,
      values: [nextCursor],
    });
  });
  return orders.length;
}

interface DueOrder {
  readonly merchant_id: string;
  readonly order_id: string;
  /** Whether a delivery of the order is pending. */
  readonly is_pending: boolean;
}

/** Orders whose deliveries are not all erased when `stop` aborts stay due. Then they are erased from the start. */
async function eraseBatch(
  client: PoolClient,
  stop: AbortSignal,
): Promise<{ readonly orders: number; readonly erased: number }> {
  const due = await readDueOrders(client);
  const pending = due.filter(({ is_pending }) => is_pending);
  const ended = due.filter(({ is_pending }) => !is_pending);
  if (pending.length > 0) await postpone(client, pending);
  let erased = 0;
  for (
    let left: readonly Unread[] = ended.map((order) => ({ ...order, sequence: '-1', id: '' }));
    left.length > 0;
  ) {
    const page = await readPage(client, left);
    await erasePage(client, page);
    erased += page.length;
    const last = page.length === deliveriesInPage ? page.at(-1) : undefined;
    left = last === undefined ? [] : [last, ...left.slice(Number(last.place))];
    if (left.length > 0 && stop.aborted) return { orders: due.length, erased };
  }
  if (ended.length > 0) await markErased(client, ended);
  return { orders: due.length, erased };
}

/**
 * Reads a batch of orders that are due. An order waits for ten minutes at most, so a later time was stored while the clock was ahead
 * (docs/adr/0058). Such an order is due too.
 */
const readDueOrders = (client: PoolClient): Promise<DueOrder[]> =>
  runStatement<DueOrder>(client, {
    text: `
select merchant_id, order_id, exists (
  select from webhooks.deliveries d
  where d.merchant_id = due.merchant_id and d.order_id = due.order_id and d.order_id <> '' and d.state = 'PENDING'
) as is_pending
from webhooks.erasures_due due
where due_at <= now() or due_at > now() + interval '11 minutes'
order by due_at limit ${batchSize}`,
  });

const keysOf = (orders: readonly DueOrder[]): [string[], string[]] => [
  orders.map(({ merchant_id }) => merchant_id),
  orders.map(({ order_id }) => order_id),
];

async function postpone(client: PoolClient, orders: readonly DueOrder[]): Promise<void> {
  await runStatement(client, {
    text: `
update webhooks.erasures_due due set due_at = now() + interval '10 minutes'
from unnest($1::text[], $2::text[]) as pending (merchant_id, order_id)
where due.merchant_id = pending.merchant_id and due.order_id = pending.order_id`,
    values: keysOf(orders),
  });
}

/** The deliveries of an order after the one with this sequence and id. */
interface Unread {
  readonly merchant_id: string;
  readonly order_id: string;
  readonly sequence: string;
  readonly id: string;
}

interface DeliveryRow extends Unread {
  readonly body: Buffer;
  /** The place of its order in the list, from 1. */
  readonly place: string;
}

/** The next deliveries of a list of orders, order by order. */
const readPage = (client: PoolClient, left: readonly Unread[]): Promise<DeliveryRow[]> =>
  runStatement<DeliveryRow>(client, {
    text: `
select d.merchant_id, d.order_id, d.sequence, d.id, d.body, place
from unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) with ordinality as unread (merchant_id, order_id, sequence, id, place)
cross join lateral (
  select * from webhooks.deliveries d
  where d.merchant_id = unread.merchant_id and d.order_id = unread.order_id and d.order_id <> ''
    and (d.sequence, d.id) > (unread.sequence, unread.id)
  order by d.sequence, d.id limit ${deliveriesInPage}
) d
order by place, d.sequence, d.id limit ${deliveriesInPage}`,
    values: [
      left.map(({ merchant_id }) => merchant_id),
      left.map(({ order_id }) => order_id),
      left.map(({ sequence }) => sequence),
      left.map(({ id }) => id),
    ],
  });

/** Erases the personal data in the bodies, and the receivers' answers. */
async function erasePage(client: PoolClient, page: readonly DeliveryRow[]): Promise<void> {
  const ids = [page.map(({ merchant_id }) => merchant_id), page.map(({ id }) => id)];
  await runStatement(client, {
    text: `
update webhooks.deliveries d set body = erased.body
from unnest($1::text[], $2::text[], $3::bytea[]) as erased (merchant_id, id, body)
where d.merchant_id = erased.merchant_id and d.id = erased.id`,
    values: [...ids, page.map(({ body }) => eraseBody(body))],
  });
  await runStatement(client, {
    text: `
update webhooks.delivery_attempts a set response_body = ''
from unnest($1::text[], $2::text[]) as erased (merchant_id, id)
where a.merchant_id = erased.merchant_id and a.delivery_id = erased.id and a.response_body <> ''`,
    values: ids,
  });
}

/**
 * Marks the orders as erased once, or deletes their rows after the second time. Each order is erased twice, two minutes apart, because an
 * event that was read before the erasure can become a delivery after the first time.
 */
async function markErased(client: PoolClient, orders: readonly DueOrder[]): Promise<void> {
  await runStatement(client, {
    text: `
with ended as (select * from unnest($1::text[], $2::text[]) as ended (merchant_id, order_id)), deleted as (
  delete from webhooks.erasures_due due using ended
  where due.merchant_id = ended.merchant_id and due.order_id = ended.order_id and due.was_erased
)
update webhooks.erasures_due due set was_erased = true, due_at = now() + interval '2 minutes' from ended
where due.merchant_id = ended.merchant_id and due.order_id = ended.order_id and not due.was_erased`,
    values: keysOf(orders),
  });
}
