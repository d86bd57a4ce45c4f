import type { Pool, PoolClient } from 'pg';
import { noMerchantId, storedId } from '../../contract/public-id.ts';
import type { StoredId } from '../../contract/public-id.ts';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Environment } from '../domain/order.ts';
import { eraseAudit, eraseColumn, erasingReference } from './erase-rows.sql.ts';
import type { SettledPart } from './erase-rows.sql.ts';

/** How long the erasure of a payment that may still change waits for its next try. */
const retry = "interval '10 minutes'";

/**
 * Whether a payment paid an order, became its stray payment, or had been requested by an attempt. The erasure of that order includes the
 * payment, and the order's merchant may have another period. Not known while the payment is open.
 */
export const belongsToOrder = `((p.order_id is not null and p.status in ('ORDER_PAID', 'STRAY'))
  or (p.payment_attempt_id is not null and p.status = 'REQUESTED_PAYMENT'))`;

/**
 * Erases what payers typed and wallets answered, and the reason of a settlement without an order. A payment of an order keeps its
 * reference, which is the order's number. A payment that may still change is listed, and erased by `eraseDuePayerPayments` when it has ended.
 * `requestId`: the recorded request of a person. Null when a period has ended.
 */
export async function erasePayerPayments(
  client: PoolClient,
  ids: readonly StoredId<'ppm'>[],
  requestId: StoredId<'ers'> | null,
): Promise<void> {
  if (ids.length === 0) return;
  const run = <Row extends object = object>(text: string, values: unknown[]): Promise<Row[]> =>
    runStatement<Row>(client, { text, values });
  // A transaction that stores something new locks one of these rows first.
  await run('select from core.payer_payments where id = any($1::uuid[]) order by id for update', [ids]);
  await run(
    'select from core.stray_payments where payer_payment_id = any($1::uuid[]) order by id for update',
    [ids],
  );
  const erased = await run<{ id: StoredId<'ppm'> }>(
    `
update core.payer_payments
set ${eraseColumn('detail')}, callback_notes = '{}', ${erasingReference}, erased_at = clock_timestamp()
where id = any($1::uuid[]) and status <> 'OPEN' returning id`,
    [ids],
  );
  const ended = erased.map(({ id }) => id);
  await run(
    'delete from core.wallet_exchanges where merchant_id = $1 and payment_attempt_id = any($2::uuid[])',
    [storedId('mer', noMerchantId), ended],
  );
  await run(
    `
update core.stray_payments set ${eraseColumn('detail')}, callback_notes = '{}'
where payer_payment_id = any($1::uuid[]) and status <> 'REVERSAL_DUE'`,
    [ended],
  );
  await eraseSettlements(client, ended);
  await run(
    `
insert into core.payer_erasures_due (payer_payment_id, request_id, due_at)
select p.id, $2, clock_timestamp() + ${retry} from core.payer_payments p where p.id = any($1::uuid[]) and ${mayChange}
on conflict (payer_payment_id) do update set due_at = excluded.due_at,
  request_id = coalesce(excluded.request_id, core.payer_erasures_due.request_id)`,
    [ids, requestId],
  );
  await run(
    `
delete from core.payer_erasures_due due using core.payer_payments p
where due.payer_payment_id = p.id and p.id = any($1::uuid[]) and not (${mayChange})`,
    [ids],
  );
}

/** Few settlements have no order, so the index of orders finds them. */
const openSettlement = `l.status = 'PROPOSED' and l.expires_at > now()`;
const mayChange = `(p.status = 'OPEN' or exists (
  select from core.stray_payments s where s.payer_payment_id = p.id and (s.status = 'REVERSAL_DUE' or exists (
    select from core.settlements l
    where l.merchant_id = s.merchant_id and l.order_id is null and l.stray_payment_id = s.id and ${openSettlement}
  ))
))`;

async function eraseSettlements(client: PoolClient, ids: readonly StoredId<'ppm'>[]): Promise<void> {
  const settled = await runStatement<SettledPart & { readonly merchant_id: StoredId<'mer'> }>(client, {
    text: `
update core.settlements l set ${eraseColumn('reason')}
from core.stray_payments s
where s.payer_payment_id = any($1::uuid[]) and s.order_id is null
  and l.merchant_id = s.merchant_id and l.order_id is null and l.stray_payment_id = s.id and not (${openSettlement})
returning l.merchant_id, l.id, l.created_at, coalesce(l.decided_at, l.expires_at) as until`,
    values: [ids],
  });
  if (settled.length === 0) return;
  await client.query("set local gatehouse.erasing = 'on'");
  const run = (text: string, values: unknown[]) => runStatement(client, { text, values });
  for (const [merchantId, rowsOfMerchant] of Map.groupBy(settled, (row) => row.merchant_id))
    await eraseAudit(run, merchantId, 'stl', rowsOfMerchant);
}

interface DuePayment {
  readonly id: StoredId<'ppm'>;
  /** Whether a payment that was listed because a period has ended belongs to an order now. */
  readonly of_order: boolean;
}

/** Listed payments that are due. Those of a request for erasure come first. */
export function readDuePayerPayments(
  pool: Pool,
  environments: readonly Environment[],
  limit: number,
): Promise<DuePayment[]> {
  return runStatement<DuePayment & Record<string, unknown>>(pool, {
    text: `
select due.payer_payment_id as id, due.request_id is null and ${belongsToOrder} as of_order
from core.payer_erasures_due due join core.payer_payments p on p.id = due.payer_payment_id
where due.due_at <= now() and p.environment = any($2) order by (due.request_id is null), due.due_at limit $1`,
    values: [limit, environments],
  });
}

/** Tries listed payments again. */
export async function eraseDuePayerPayments(pool: Pool, due: readonly DuePayment[]): Promise<void> {
  await inTransaction(pool, ["set local lock_timeout = '2s'"], async (client) => {
    const ids = due.filter((row) => !row.of_order).map(({ id }) => id);
    // An entry keeps the request that it has.
    await erasePayerPayments(client, ids, null);
    await runStatement(client, {
      text: 'delete from core.payer_erasures_due where payer_payment_id = any($1::uuid[])',
      values: [due.filter((row) => row.of_order).map(({ id }) => id)],
    });
  });
}

export async function postponePayerPayment(pool: Pool, id: StoredId<'ppm'>): Promise<void> {
  await runStatement(pool, {
    text: `update core.payer_erasures_due set due_at = clock_timestamp() + ${retry} where payer_payment_id = $1`,
    values: [id],
  });
}

/** The number of payments of each request that wait. */
export async function countWaitingPayments(
  pool: Pool,
  requestIds: readonly StoredId<'ers'>[],
): Promise<ReadonlyMap<string, bigint>> {
  const rows = await runStatement<{ request_id: StoredId<'ers'>; count: string }>(pool, {
    text: `
select request_id, count(*)::text as count from core.payer_erasures_due where request_id = any($1::uuid[]) group by request_id`,
    values: [requestIds],
  });
  return new Map(rows.map(({ request_id: id, count }) => [id, BigInt(count)]));
}
