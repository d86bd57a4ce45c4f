import type { PoolClient } from 'pg';
import { lowestStoredIdAt, noMerchantId, publicId, storedId } from '../../contract/public-id.ts';
import type { IdPrefix, StoredId } from '../../contract/public-id.ts';
import { maskSensitive } from '../../platform/mask-sensitive.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import { erasedText } from '../domain/erased.ts';
import type { Environment } from '../domain/order.ts';

/** Payments and refunds of an order. */
export interface PartsToErase {
  readonly merchantId: StoredId<'mer'>;
  readonly attemptIds: readonly StoredId<'pat'>[];
  readonly refundIds: readonly StoredId<'rfd'>[];
}

export interface OrderToErase {
  readonly merchantId: StoredId<'mer'>;
  readonly environment: Environment;
  readonly orderId: StoredId<'ord'>;
  readonly orderNumber: string;
  /** Whether an operator requested the erasure. */
  readonly isRequested: boolean;
}

const dayMs = 24 * 60 * 60_000;

/** A text that is missing is not personal, so it stays empty. */
export const eraseColumn = (column: string): string =>
  `${column} = case when ${column} = '' then '' else '${erasedText}' end`;

const ofOrder = 'merchant_id = $1 and order_id = $2';

const order = `
update core.orders
set customer_phone = '${erasedText}', customer_phone_e164 = '', ${eraseColumn('reason')}, checkout_browser_hash = null
where merchant_id = $1 and environment = $3 and id = $2`;
const refunds = `
update core.refunds set ${eraseColumn('reason')}, ${eraseColumn('detail')}, callback_notes = '{}'
where merchant_id = $1 and id = any($2::uuid[])
returning id, created_at, updated_at as until`;
const strayPayments = `update core.stray_payments set ${eraseColumn('detail')}, callback_notes = '{}' where ${ofOrder}
returning payer_payment_id as id`;
const settlements = `update core.settlements set ${eraseColumn('reason')} where ${ofOrder}
returning id, created_at, coalesce(decided_at, expires_at) as until`;
const attempts = `
update core.payment_attempts
set ${eraseColumn('phone')}, ${eraseColumn('detail')}, network = null, next_action = null, callback_notes = '{}'
where merchant_id = $1 and id = any($2::uuid[])`;

/** The reference that the payer typed, if it is not the order's number. */
export const erasingReference = `reference = case when order_id is null then '${erasedText}' else reference end`;

/**
 * A wallet's reports and answers about payments of the order: payments that payers started, and payments that it reported although an
 * attempt had requested them. They are found by the wallet's transaction of an attempt or of its stray payment.
 */
const payerPayments = `
with taken as (
  select a.environment, regexp_replace(a.payment_option, '_[a-z]+$', '') as wallet, a.provider_transaction_id
  from core.payment_attempts a where a.merchant_id = $1 and a.id = any($2::uuid[])
  union all
  select s.environment, regexp_replace(s.payment_option, '_[a-z]+$', ''), s.provider_transaction_id
  from core.stray_payments s where s.merchant_id = $1 and s.payment_attempt_id = any($2::uuid[])
)
update core.payer_payments p set ${eraseColumn('detail')}, callback_notes = '{}', ${erasingReference}
where p.status <> 'OPEN' and p.id in (
  select unnest($3::uuid[])
  union all
  select reported.id from taken join core.payer_payments reported using (environment, wallet, provider_transaction_id)
)
returning p.id`;
const exchanges =
  'delete from core.wallet_exchanges where merchant_id = $1 and payment_attempt_id = any($2::uuid[])';

/** The entries were written while the refund or the settlement changed, so their ids are in this range. */
const auditEntries = `
update core.audit_entries set details = details || jsonb_build_object('reason', '${erasedText}')
where merchant_id = $1 and target_id = any($2::text[]) and id >= $3 and id < $4
  and coalesce(details ->> 'reason', '') <> ''`;

/** The log keeps the requests of some days, and masks numbers that look like phone numbers. */
const requests = `
update core.api_requests set request_body = '${erasedText}', response_body = '${erasedText}'
where merchant_id = $1 and environment = $2 and order_number = $3 and order_number <> ''`;

/**
 * Without its stored answer, a repeated request is compared with the order. This statement reads all answers of the merchant, so it runs only
 * for the request of a person. Answers about other orders expire within 24 hours anyway.
 */
const answers = `
delete from core.idempotency_keys
where merchant_id = $1 and environment = $2 and position(convert_to($3, 'UTF8') in answer) > 0`;

/** An erased settlement, as `eraseAudit` needs it. */
export type SettledPart = Part<'stl'>;

interface Part<P extends IdPrefix> {
  readonly id: StoredId<P>;
  readonly created_at: Date;
  readonly until: Date;
}

type Run = <Row extends object = object>(text: string, values: unknown[]) => Promise<Row[]>;

const runOn =
  (client: PoolClient): Run =>
  (text, values) =>
    runStatement(client, { text, values });

/** Erases the personal data of payments and refunds of an order. The transaction has locked the order. */
export async function erasePartRows(
  client: PoolClient,
  { merchantId, attemptIds, refundIds }: PartsToErase,
): Promise<void> {
  const run = runOn(client);
  const refunded = await run<Part<'rfd'>>(refunds, [merchantId, refundIds]);
  await run(attempts, [merchantId, attemptIds]);
  await erasePayersOf(run, merchantId, attemptIds, []);
  await run(exchanges, [merchantId, attemptIds]);
  await eraseAudit(run, merchantId, 'rfd', refunded);
}

/** Erases the personal data of an order outside of its events, payments and refunds. The transaction has locked the order. */
export async function eraseOrderRows(client: PoolClient, parts: OrderToErase): Promise<void> {
  const { merchantId, orderId, environment, orderNumber, isRequested } = parts;
  const run = runOn(client);
  await run(order, [merchantId, orderId, environment]);
  const strays = await run<{ id: StoredId<'ppm'> | null }>(strayPayments, [merchantId, orderId]);
  const settled = await run<Part<'stl'>>(settlements, [merchantId, orderId]);
  await erasePayersOf(
    run,
    merchantId,
    [],
    strays.flatMap(({ id }) => id ?? []),
  );
  await eraseAudit(run, merchantId, 'stl', settled);
  await run(requests, [merchantId, environment, maskSensitive(orderNumber)]);
  if (isRequested) await run(answers, [merchantId, environment, publicId('ord', orderId)]);
}

/** Erases what wallets reported about payments by payers: those with these ids, and those of these attempts. */
async function erasePayersOf(
  run: Run,
  merchantId: StoredId<'mer'>,
  attemptIds: readonly StoredId<'pat'>[],
  ids: readonly StoredId<'ppm'>[],
): Promise<void> {
  if (attemptIds.length + ids.length === 0) return;
  const erased = await run<{ id: StoredId<'ppm'> }>(payerPayments, [merchantId, attemptIds, ids]);
  await run(exchanges, [storedId('mer', noMerchantId), erased.map(({ id }) => id)]);
}

/** Erases the reason from the audit entries about refunds or settlements of one merchant. */
export async function eraseAudit<P extends 'rfd' | 'stl'>(
  run: (text: string, values: unknown[]) => Promise<unknown>,
  merchantId: StoredId<'mer'>,
  prefix: P,
  rows: readonly Part<P>[],
): Promise<void> {
  if (rows.length === 0) return;
  const from = Math.min(...rows.map((row) => row.created_at.getTime()));
  const until = Math.max(...rows.map((row) => row.until.getTime()));
  await run(auditEntries, [
    merchantId,
    rows.map(({ id }) => publicId(prefix, id)),
    // Clocks of cores differ a little.
    lowestStoredIdAt(new Date(from - dayMs)),
    lowestStoredIdAt(new Date(until + dayMs)),
  ]);
}
