import type { Client } from '@connectrpc/connect';
import type { Pool, PoolClient } from 'pg';
import type { PersonalDataService } from '../../gen/gatehouse/v1/personal_data_service_pb.js';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Logger } from '../../platform/logger.ts';
import { eraseBody } from './erase-body.ts';

export interface EraseDeliveriesParts {
  readonly database: { readonly pool: Pool };
  readonly personalData: Pick<Client<typeof PersonalDataService>, 'listErasedOrders'>;
  readonly logger: Logger;
}

const batchSize = 50;

/**
 * Follows core's list of erased orders. In the stored deliveries of these orders, it erases the phone number, the reason, and the
 * receivers' answers. A pending delivery is sent unchanged, and erased after it has ended. Several processes may do this at once.
 */
export async function eraseDeliveries(parts: EraseDeliveriesParts, stop: AbortSignal): Promise<void> {
  const { database, logger } = parts;
  while (!stop.aborted && (await followOnce(parts)) > 0);
  let erased = 0;
  for (let orders = batchSize; orders === batchSize && !stop.aborted;) {
    const batch = await inTransaction(database.pool, [], eraseBatch);
    orders = batch.orders;
    erased += batch.erased;
  }
  if (erased > 0) logger.info({ deliveries: erased }, 'personal data was erased from deliveries');
}

/** Reads one page of core's list. One transaction stores the orders and the cursor. */
async function followOnce({ database, personalData }: EraseDeliveriesParts): Promise<number> {
  const [reader] = await runStatement<{ cursor: string }>(database.pool, {
    text: 'select cursor from webhooks.erasure_reader',
  });
  const { orders, nextCursor } = await personalData.listErasedOrders({ afterCursor: reader?.cursor ?? '' });
  await inTransaction(database.pool, [], async (client) => {
    await runStatement(client, {
      text: `
insert into webhooks.erasures_due (merchant_id, order_id, due_at)
select merchant_id, order_id, now() from unnest($1::text[], $2::text[]) as erased (merchant_id, order_id)
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

async function eraseBatch(client: PoolClient): Promise<{ orders: number; erased: number }> {
  const due = await lockDueOrders(client);
  const pending = due.filter(({ is_pending }) => is_pending);
  const ended = due.filter(({ is_pending }) => !is_pending);
  if (pending.length > 0) await postpone(client, pending);
  if (ended.length === 0) return { orders: due.length, erased: 0 };
  const erased = await eraseDeliveriesOf(client, ended);
  await markErased(client, ended);
  return { orders: due.length, erased };
}

/**
 * Locks a batch of orders that are due. An order waits for ten minutes at most, so a later time was stored while the clock was ahead
 * (docs/adr/0058). Such an order is due too.
 */
const lockDueOrders = (client: PoolClient): Promise<DueOrder[]> =>
  runStatement<DueOrder>(client, {
    text: `
select merchant_id, order_id, exists (
  select from webhooks.deliveries d
  where d.merchant_id = due.merchant_id and d.order_id = due.order_id and d.order_id <> '' and d.state = 'PENDING'
) as is_pending
from webhooks.erasures_due due
where due_at <= now() or due_at > now() + interval '11 minutes'
order by due_at limit ${batchSize} for update skip locked`,
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

interface DeliveryRow {
  readonly merchant_id: string;
  readonly id: string;
  readonly body: Buffer;
}

/** Erases the personal data in the bodies, and the receivers' answers. Returns the number of the orders' deliveries. */
async function eraseDeliveriesOf(client: PoolClient, orders: readonly DueOrder[]): Promise<number> {
  const deliveries = await runStatement<DeliveryRow>(client, {
    text: `
select d.merchant_id, d.id, d.body from unnest($1::text[], $2::text[]) as ended (merchant_id, order_id)
join webhooks.deliveries d on d.merchant_id = ended.merchant_id and d.order_id = ended.order_id and d.order_id <> ''
for update of d`,
    values: keysOf(orders),
  });
  const ids = [deliveries.map(({ merchant_id }) => merchant_id), deliveries.map(({ id }) => id)];
  await runStatement(client, {
    text: `
update webhooks.deliveries d set body = erased.body
from unnest($1::text[], $2::text[], $3::bytea[]) as erased (merchant_id, id, body)
where d.merchant_id = erased.merchant_id and d.id = erased.id`,
    values: [...ids, deliveries.map(({ body }) => eraseBody(body))],
  });
  await runStatement(client, {
    text: `
update webhooks.delivery_attempts a set response_body = ''
from unnest($1::text[], $2::text[]) as erased (merchant_id, id)
where a.merchant_id = erased.merchant_id and a.delivery_id = erased.id and a.response_body <> ''`,
    values: ids,
  });
  return deliveries.length;
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
