import type { Pool } from 'pg';
import { lowestStoredIdAt, noMerchantId, publicId, storedId } from '../../contract/public-id.ts';
import type { NewId, StoredId } from '../../contract/public-id.ts';
import { retentionStart } from '../../platform/database/retention-start.ts';
import type { TwoClocks } from '../../platform/database/retention-start.ts';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { recordEntry } from '../audit/record-entry.sql.ts';
import { erasedText } from '../domain/erased.ts';
import type { Environment } from '../domain/order.ts';
import { belongsToOrder, erasePayerPayments } from './erase-payer-payments.sql.ts';

export interface PeriodParts extends TwoClocks {
  readonly database: { readonly pool: Pool };
  /** The period of merchants without one of their own, in days; 0 for no erasure. */
  readonly defaultDays: number;
  readonly newId: NewId;
}

const batchSize = 500;
/** The audit log's name for core itself. */
const actor = 'core';

interface EndedPeriod {
  readonly merchant_id: StoredId<'mer'>;
  readonly environment: Environment;
  readonly days: number;
}

/**
 * Marks orders of these environments that are older than their merchant's period as due for erasure. Erases the wallets' answers about payments
 * without an order that are older than the default period. Each order is examined once, so a longer period later changes
 * nothing.
 */
export async function findEndedPeriods(
  parts: PeriodParts,
  environments: readonly Environment[],
  stop: Pick<AbortSignal, 'aborted'>,
): Promise<void> {
  const { database, defaultDays } = parts;
  const periods = await runStatement<EndedPeriod>(database.pool, {
    text: `
select m.id as merchant_id, e.environment, coalesce(nullif(m.personal_data_days, 0), $1)::integer as days
from core.merchants m cross join unnest($2::core.environment[]) as e (environment)
where coalesce(nullif(m.personal_data_days, 0), $1) > 0`,
    values: [defaultDays, environments],
  });
  for (const period of periods)
    for (let found = batchSize; found === batchSize && !stop.aborted;) found = await findBatch(parts, period);
  if (defaultDays === 0) return;
  for (const environment of environments)
    for (let found = batchSize; found === batchSize && !stop.aborted;)
      found = await eraseOldPayerPayments(parts, environment);
}

function findBatch(parts: PeriodParts, { merchant_id: merchantId, environment, days }: EndedPeriod) {
  const { database, newId, now } = parts;
  const at = now();
  const before = lowestStoredIdAt(retentionStart(parts, days));
  return inTransaction(database.pool, ["set local lock_timeout = '2s'"], async (client) => {
    const [found] = await runStatement<{ count: number; due: number; last: string | null }>(client, {
      text: `
with progress as (
  insert into core.erasure_progress values ($1, $2, '00000000-0000-0000-0000-000000000000')
  on conflict (merchant_id, environment) do update set until_id = core.erasure_progress.until_id
  returning until_id
), old as (
  select o.id, o.customer_phone from core.orders o, progress
  where o.merchant_id = $1 and o.environment = $2 and o.id > progress.until_id and o.id < $3
  order by o.id limit ${batchSize}
), due as (
  insert into core.erasures_due (merchant_id, environment, order_id, due_at)
  select $1, $2, id, now() from old where customer_phone <> '${erasedText}'
  on conflict do nothing
  returning order_id
)
select (select count(*)::integer from old) as count, (select count(*)::integer from due) as due,
  (select max(id::text) from old) as last`,
      values: [merchantId, environment, before],
    });
    if (found?.last == null) return 0;
    await runStatement(client, {
      text: 'update core.erasure_progress set until_id = $3 where merchant_id = $1 and environment = $2',
      values: [merchantId, environment, found.last],
    });
    if (found.due > 0)
      await recordEntry(client, {
        id: storedId('aud', newId('aud', at)),
        createdAt: at,
        actor,
        action: 'personal_data.period_ended',
        merchantId,
        targetId: publicId('mer', merchantId),
        requestId: '',
        details: { environment: environment.toLowerCase(), orders: found.due, days },
      });
    return found.count;
  });
}

/** Erases the wallets' answers about payments that payers started. A payment that belongs to an order is left to the order's erasure. */
function eraseOldPayerPayments(parts: PeriodParts, environment: Environment) {
  const { database, defaultDays } = parts;
  const before = lowestStoredIdAt(retentionStart(parts, defaultDays));
  const withoutMerchant = storedId('mer', noMerchantId);
  return inTransaction(database.pool, ["set local lock_timeout = '2s'"], async (client) => {
    const rows = await runStatement<{ id: StoredId<'ppm'>; of_order: boolean }>(client, {
      text: `
with progress as (
  insert into core.erasure_progress values ($1, $2, '00000000-0000-0000-0000-000000000000')
  on conflict (merchant_id, environment) do update set until_id = core.erasure_progress.until_id
  returning until_id
)
select p.id, ${belongsToOrder} as of_order
from core.payer_payments p, progress
where p.environment = $2 and p.id > progress.until_id and p.id < $3
order by p.id limit ${batchSize}`,
      values: [withoutMerchant, environment, before],
    });
    const last = rows.at(-1);
    if (last === undefined) return 0;
    await erasePayerPayments(
      client,
      rows.filter((row) => !row.of_order).map(({ id }) => id),
      null,
    );
    await runStatement(client, {
      text: 'update core.erasure_progress set until_id = $3 where merchant_id = $1 and environment = $2',
      values: [withoutMerchant, environment, last.id],
    });
    return rows.length;
  });
}
