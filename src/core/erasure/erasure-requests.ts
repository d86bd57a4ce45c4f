import { createHmac } from 'node:crypto';
import type { NewId, PublicId, StoredId } from '../../contract/public-id.ts';
import { storedId } from '../../contract/public-id.ts';
import { inTransaction } from '../../platform/database/in-transaction.ts';
import { runStatement } from '../../platform/database/run-statement.ts';
import type { Actor } from '../../platform/rpc/actor.ts';
import { recordEntry } from '../audit/record-entry.sql.ts';
import type { Database } from '../database/database.ts';
import { payerPaymentDigits } from '../database/large-indexes.ts';
import { erasePayerPayments } from './erase-payer-payments.sql.ts';

/** A recorded request, with stored ids. */
export interface ErasureRequest {
  readonly id: StoredId<'ers'>;
  readonly merchantId: StoredId<'mer'> | null;
  readonly requestedBy: string;
  readonly createdAt: Date;
  readonly orderCount: number;
  readonly payerPaymentCount: number;
}

export interface ErasureRequestParts {
  readonly database: Pick<Database, 'pool'>;
  /** Hashes phone numbers, so that nobody can find a number by trying all numbers. */
  readonly phoneKey: Buffer;
  readonly newId: NewId;
  readonly now: () => Date;
}

export interface ErasureRequests {
  /** `phone` is in E.164 form. */
  readonly create: (
    phone: string,
    merchantId: PublicId<'mer'> | undefined,
    by: Actor,
  ) => Promise<ErasureRequest>;
  /** Counts the orders and payments that a request would erase now. */
  readonly count: (
    phone: string,
    merchantId: PublicId<'mer'> | undefined,
  ) => Promise<Pick<ErasureRequest, 'orderCount' | 'payerPaymentCount'>>;
  /** Newest first, older than `beforeId`. */
  readonly list: (
    phone: string | undefined,
    beforeId: PublicId<'ers'> | undefined,
    limit: number,
  ) => Promise<ErasureRequest[]>;
}

/** Each merchant's index of phones is searched, then that of attempts (docs/adr/0021). */
const found = `
with found as (
  select o.merchant_id, o.environment, o.id from core.merchants m
  cross join unnest(enum_range(null::core.environment)) as e (environment)
  cross join lateral (
    select merchant_id, environment, id from core.orders
    where merchant_id = m.id and environment = e.environment and customer_phone_e164 = $1 and customer_phone_e164 <> ''
    offset 0
  ) o
  where $2::uuid is null or m.id = $2
  union
  select merchant_id, environment, order_id from core.payment_attempts
  where phone = $1 and ($2::uuid is null or merchant_id = $2)
)`;
const countOrders = `${found}
select count(*)::integer as count from found`;
const noteOrders = `${found}, due as (
  insert into core.erasures_due (merchant_id, environment, order_id, request_id, due_at)
  select merchant_id, environment, id, $3, now() from found
  on conflict (merchant_id, order_id) do update set request_id = excluded.request_id, due_at = excluded.due_at, obstacle = ''
  returning order_id
)
select count(*)::integer as count from due`;

/** Wallets write numbers in several forms, which end with the same nine digits. */
const findPayerPayments = `
select id from core.payer_payments
where ($2::uuid is null or merchant_id = $2)
  and ${payerPaymentDigits} @> core.seven_digits(array[$1])
  and exists (select from unnest(array[reference, detail] || callback_notes) as text_of where position($1 in text_of) > 0)`;
const digitsCompared = 9;
const lastDigitsOf = (phone: string): string => phone.replace('+', '').slice(-digitsCompared);

interface Row {
  readonly id: StoredId<'ers'>;
  readonly merchant_id: StoredId<'mer'> | null;
  readonly requested_by: string;
  readonly created_at: Date;
  readonly order_count: number;
  readonly payer_payment_count: number;
}

export function createErasureRequests({
  database,
  phoneKey,
  newId,
  now,
}: ErasureRequestParts): ErasureRequests {
  const { pool } = database;
  const hashOf = (phone: string): Buffer => createHmac('sha256', phoneKey).update(phone).digest();
  return {
    async create(phone, merchant, by) {
      const merchantId = merchant === undefined ? null : storedId('mer', merchant);
      const at = now();
      const publicRequestId = newId('ers', at);
      const id = storedId('ers', publicRequestId);
      return inTransaction(pool, ["set local lock_timeout = '2s'"], async (client) => {
        const run = <Item extends object>(text: string, values: unknown[]): Promise<Item[]> =>
          runStatement<Item>(client, { text, values });
        await run('insert into core.erasure_requests values ($1, $2, $3, $4, 0, 0, $5)', [
          id,
          hashOf(phone),
          merchantId,
          by.actor,
          at,
        ]);
        const [orders] = await run<{ count: number }>(noteOrders, [phone, merchantId, id]);
        const payments = await run<{ id: StoredId<'ppm'> }>(findPayerPayments, [
          lastDigitsOf(phone),
          merchantId,
        ]);
        await erasePayerPayments(
          client,
          payments.map((row) => row.id),
          id,
        );
        const counts = { orderCount: orders?.count ?? 0, payerPaymentCount: payments.length };
        await run(
          'update core.erasure_requests set order_count = $2, payer_payment_count = $3 where id = $1',
          [id, counts.orderCount, counts.payerPaymentCount],
        );
        await recordEntry(client, {
          id: storedId('aud', newId('aud', at)),
          createdAt: at,
          actor: by.actor,
          action: 'personal_data.erase',
          merchantId,
          targetId: publicRequestId,
          requestId: by.requestId,
          details: { orders: counts.orderCount, payer_payments: counts.payerPaymentCount },
        });
        return { id, merchantId, requestedBy: by.actor, createdAt: at, ...counts };
      });
    },
    async count(phone, merchant) {
      const merchantId = merchant === undefined ? null : storedId('mer', merchant);
      const [orders] = await runStatement<{ count: number }>(pool, {
        text: countOrders,
        values: [phone, merchantId],
      });
      const payments = await runStatement(pool, {
        text: findPayerPayments,
        values: [lastDigitsOf(phone), merchantId],
      });
      return { orderCount: orders?.count ?? 0, payerPaymentCount: payments.length };
    },
    async list(phone, beforeId, limit) {
      const rows = await runStatement<Row>(pool, {
        text: `
select id, merchant_id, requested_by, created_at, order_count, payer_payment_count from core.erasure_requests
where ($1::bytea is null or phone_hash = $1) and ($2::uuid is null or id < $2) order by id desc limit $3`,
        values: [
          phone === undefined ? null : hashOf(phone),
          beforeId === undefined ? null : storedId('ers', beforeId),
          limit,
        ],
      });
      return rows.map((row) => ({
        id: row.id,
        merchantId: row.merchant_id,
        requestedBy: row.requested_by,
        createdAt: row.created_at,
        orderCount: row.order_count,
        payerPaymentCount: row.payer_payment_count,
      }));
    },
  };
}
